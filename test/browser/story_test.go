package browser

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// story is one new user before a server that has just started.
type story struct {
	*testing.T
	ctx     context.Context
	service *harness.Service
	base    string
	curl    string // the line that was pasted
}

// The whole story: sign up, make a key, run the snippet with curl, see the request and
// the plot move, add a file, unpin it, put a card on, revoke the key and see 401.
func TestStory(t *testing.T) {
	onScreens(t, func(t *testing.T, ctx context.Context) {
		service := harness.Start(t, func(c *config.Config) { c.Usage.Flush = time.Second })
		s := &story{T: t, ctx: ctx, service: service, base: localhost(service.RPC)}
		s.tell()
	})
}

func (s *story) tell() {
	s.signUp()
	s.makeKey()
	s.paste()
	s.seeRequest()
	s.seePlot()
	s.putCard()
	s.addFile()
	s.unpin()
	s.try()
	s.revoke()
	s.leave()
}

func (s *story) do(steps ...Step) { s.Helper(); Do(s, s.ctx, steps...) }
func (s *story) open(path, waitFor string) {
	s.Helper()
	s.do(chromedp.Navigate(s.base+path), chromedp.WaitVisible(waitFor))
}

// reload opens the page until it shows something that takes a moment.
func (s *story) reload(shown string) {
	s.Helper()
	for end := time.Now().Add(90 * time.Second); ; time.Sleep(200 * time.Millisecond) {
		s.do(chromedp.Reload())
		if Ask(s, s.ctx, chromedp.Evaluate[bool](fmt.Sprintf(`document.querySelector(%q) !== null`, shown))) {
			return
		}
		if time.Now().After(end) {
			s.Fatalf("%s is never there: %s", shown, s.text("body"))
		}
	}
}

func (s *story) shoot(name string)                     { s.Helper(); shoot(s.T, s.ctx, name) }
func (s *story) text(selector string) string           { s.Helper(); return Text(s, s.ctx, selector) }
func (s *story) contains(selector string, want string) { s.Helper(); s.holds(selector, want, true) }

func (s *story) holds(selector, want string, wanted bool) {
	s.Helper()
	if got := s.text(selector); strings.Contains(got, want) != wanted {
		s.Fatalf("%s: %q is there: %v\n%s", selector, want, !wanted, got)
	}
}

func (s *story) signUp() {
	s.open("/", `form[action="/login"]`)
	s.shoot("login")
	s.do(chromedp.Click(`a[href="/signup"]`), chromedp.WaitVisible(`form[action="/signup"]`))
	s.shoot("signup")
	s.do(chromedp.SendKeys(`input[name="email"]`, "ada@example.com"), chromedp.SendKeys(`input[name="password"]`, "a long password"),
		chromedp.Submit(`form[action="/signup"]`), chromedp.WaitVisible(`form[action="/login"]`))
	s.contains(`.notice.good`, "Sign in with the password that you chose")
	if got := Ask(s, s.ctx, chromedp.Evaluate[string](`document.querySelector('input[name="email"]').value`)); got != "ada@example.com" {
		s.Fatalf("the address has to be typed again: %q", got)
	}
	s.do(chromedp.SendKeys(`input[name="password"]`, "a long password"), chromedp.Submit(`form[action="/login"]`), chromedp.WaitVisible(`.steps form[action="/keys"]`))
	s.shoot("overview-new")
}

func (s *story) makeKey() {
	s.do(chromedp.Click(`.steps form[action="/keys"] button`), chromedp.WaitVisible(`.secret`))
	s.curl = strings.TrimSpace(s.text(`.pick .panel pre`))
	if !strings.HasPrefix(s.curl, "curl ") {
		s.Fatalf("the first snippet is %q", s.curl)
	}
}

// paste runs the command of the checklist as it stands there: the page turns green by
// itself, or when it is reloaded. It asks every second; how long it takes is printed, and
// decides nothing.
func (s *story) paste() {
	s.open("/", `[data-wait]`)
	s.shoot("overview-waiting")
	if shown := strings.TrimSpace(s.text(`.steps pre`)); shown != s.curl {
		s.Fatalf("the checklist has %q, the key's page %q", shown, s.curl)
	}
	s.contains(`[data-wait]`, "Waiting for your first request")
	out, err := exec.CommandContext(s.ctx, "bash", "-c", s.curl).Output()
	if err != nil || !strings.Contains(string(out), `"result":"0xa"`) {
		s.Fatalf("%s\nsays %s, %v", s.curl, out, err)
	}
	if !scripted(s.ctx) {
		s.reload(`.tile .figure`)
		return
	}
	begun := time.Now()
	s.do(chromedp.WaitVisible(`[data-wait].done`))
	s.Logf("the page turns green after %s", time.Since(begun))
	s.contains(`[data-wait]`, "Your first request has arrived")
	s.shoot("overview-arrived")
}

func (s *story) seeRequest() {
	s.open("/requests", `table`)
	s.contains(`table`, "eth_blockNumber")
	s.shoot("requests")
}

// seePlot waits until the request is counted.
func (s *story) seePlot() {
	for deadline := time.Now().Add(90 * time.Second); ; time.Sleep(300 * time.Millisecond) {
		s.open("/usage?range=15m", `.chart`)
		if Ask(s, s.ctx, chromedp.TextContent(`#figures .figure`)) == "1" {
			break
		}
		if time.Now().After(deadline) {
			s.Fatal("the request doesn't show in the figures")
		}
	}
	s.contains(`#groups`, "eth_blockNumber")
	s.shoot("usage")
}

func (s *story) putCard() {
	s.open("/files", `.notice.warn`)
	s.contains(`.notice.warn`, "billing card")
	s.open("/billing", `form[action="/billing/card"]`)
	s.do(chromedp.SendKeys(`input[name="number"]`, "4242424242424242"), chromedp.SendKeys(`[name="month"]`, "12"),
		chromedp.SendKeys(`[name="year"]`, time.Now().AddDate(2, 0, 0).Format("2006")), chromedp.SendKeys(`input[name="cvc"]`, "123"),
		chromedp.Submit(`form[action="/billing/card"]`), chromedp.WaitVisible(`.notice.good`))
	s.contains(`main`, "ending in 4242")
	s.shoot("billing")
}

// addFile gives the page a file. Its script sends it with a bar and shows the CID; without one
// the next page does.
func (s *story) addFile() {
	path := filepath.Join(s.TempDir(), "note.txt")
	if err := os.WriteFile(path, []byte("a note from the story\n"), 0o600); err != nil {
		s.Fatal(err)
	}
	s.open("/files", `form[data-upload]`)
	result := `[data-upload-result].good`
	if !scripted(s.ctx) {
		result = `#added`
	}
	s.do(chromedp.SetUploadFiles(`input[type="file"]`, []string{path}), chromedp.Click(`form[data-upload] button`),
		chromedp.WaitVisible(result), chromedp.WaitVisible(`[data-pins] table`))
	s.contains(result, "bafkrei")
	s.contains(`[data-pins]`, "note.txt")
	s.shoot("files")
}

func (s *story) unpin() {
	s.do(chromedp.Click(`form[action="/files/unpin"] button`), chromedp.WaitVisible(`#undo`))
	s.contains(`#undo`, "note.txt")
	s.do(chromedp.Click(`form[action="/files/undo"] button`), chromedp.WaitVisible(`[data-pins] table`))
	s.contains(`[data-pins]`, "note.txt")
	s.do(chromedp.Click(`form[action="/files/unpin"] button`), chromedp.WaitVisible(`#undo`))
	s.contains(`[data-pins]`, "Nothing is pinned yet")
}

func (s *story) try() {
	s.open("/try?network=rollup&method=eth_getBlockReceipts", `form[action="/try"] button.primary`)
	s.do(chromedp.Click(`form[action="/try"] button.primary`), chromedp.WaitVisible(`#answer`))
	s.contains(`#answer`, "transactionHash")
	s.shoot("try")
	s.open("/", `.grid`)
	s.shoot("overview")
	s.open("/account", `form[action="/account/password"]`)
	s.shoot("account")
}

// revoke ends the key: the pasted line is refused from then on.
func (s *story) revoke() {
	s.open("/keys", `table a`)
	s.do(chromedp.Click(`table a`), chromedp.WaitVisible(`a[href$="/rotate"]`), chromedp.Click(`a[href$="/rotate"]`), chromedp.WaitVisible(`input[name="sure"]`),
		chromedp.Click(`input[name="sure"]`), chromedp.Click(`form[action$="/revoke"] button`), chromedp.WaitVisible(`.notice.good`))
	out, err := exec.CommandContext(s.ctx, "bash", "-c", s.curl+" -o /dev/null -w '%{http_code}'").Output()
	if err != nil || !strings.HasSuffix(strings.TrimSpace(string(out)), "401") {
		s.Fatalf("after the revocation: %s, %v", out, err)
	}
}

func (s *story) leave() {
	s.do(chromedp.Click(`.account > summary`), chromedp.Click(`form[action="/logout"] button`), chromedp.WaitVisible(`form[action="/login"]`))
	res, err := http.Get(s.base + "/account")
	if err != nil {
		s.Fatal(err)
	}
	defer res.Body.Close()
	if res.Request.URL.Path != "/login" {
		s.Errorf("without a session the account's page is at %s", res.Request.URL)
	}
}

// The session also holds where the machine is called by its number.
func TestByNumber(t *testing.T) {
	s := harness.Start(t, nil)
	ctx := Open(t)
	Do(t, ctx, chromedp.Navigate(s.RPC+"/login"), chromedp.SendKeys(`input[name="email"]`, s.Server.First().Email),
		chromedp.SendKeys(`input[name="password"]`, s.Server.First().Password), chromedp.Submit(`form[action="/login"]`), chromedp.WaitVisible(`nav.menu`))
}
