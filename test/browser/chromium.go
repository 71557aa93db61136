// Package browser drives a real Chromium through the dashboard, as a person would.
package browser

import (
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/test/harness"
)

// programs are the names under which Chromium is installed.
var programs = []string{"chromium", "chromium-browser", "google-chrome"}

func findChromium() (string, error) {
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("no Chromium is installed: apt-get install chromium")
}

// Open starts a Chromium of the test's own, in an empty profile, and skips the test
// where there is none. Every action on the returned context ends with the test.
func Open(t testing.TB) context.Context {
	t.Helper()
	path, err := findChromium()
	if err != nil {
		harness.Skip(t, err.Error())
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(filepath.Join(t.TempDir(), "profile")),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.WindowSize(1280, 900),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	ctx, end := context.WithTimeout(ctx, 10*time.Minute)
	t.Cleanup(func() {
		end()
		cancel()
		stop()
	})
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the context of its first step
		t.Fatal(err)
	}
	return ctx
}

// Step is one thing that a person does.
type Step = chromedp.Action[chromedp.Void]

// Do runs steps; what fails is shown with the page as it was.
func Do(t testing.TB, ctx context.Context, steps ...Step) {
	t.Helper()
	short, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	if err := chromedp.Do(short, steps...); err != nil {
		t.Fatalf("%v\n%s", err, shown(ctx))
	}
}

// shown is where the browser is and what it shows.
func shown(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	where, _ := chromedp.Run(ctx, chromedp.Location())
	text, _ := chromedp.Run(ctx, chromedp.Text("body"))
	return "at " + where + ":\n" + strings.TrimSpace(text)
}

// Text is what an element shows.
func Text(t testing.TB, ctx context.Context, selector string) string {
	t.Helper()
	return Ask(t, ctx, chromedp.Text(selector))
}

// Ask runs an action for its value.
func Ask[T any](t testing.TB, ctx context.Context, action chromedp.Action[T]) T {
	t.Helper()
	short, cancel := context.WithTimeout(ctx, 90*time.Second)
	defer cancel()
	value, err := chromedp.Run(short, action)
	if err != nil {
		t.Fatalf("%v\n%s", err, shown(ctx))
	}
	return value
}

// localhost is an address of this machine by its name, as people type it.
func localhost(address string) string {
	scheme, host, _ := strings.Cut(address, "://")
	return scheme + "://localhost:" + host[strings.LastIndexByte(host, ':')+1:]
}

// SignIn signs in as the account of the first start.
func SignIn(t testing.TB, ctx context.Context, s *harness.Service) {
	t.Helper()
	first := s.Server.First()
	Do(t, ctx, chromedp.Navigate(localhost(s.RPC)+"/login"),
		chromedp.SendKeys(`input[name="email"]`, first.Email), chromedp.SendKeys(`input[name="password"]`, first.Password),
		chromedp.Submit(`form[action="/login"]`), chromedp.WaitVisible(`body.framed h1`))
}
