package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/full"
)

// TestReloader: files count once they have come to rest, a mistake is told once, and
// the files of the new configuration are followed from then on.
func TestReloader(t *testing.T) {
	dir := t.TempDir()
	file, url := filepath.Join(dir, "c.yaml"), filepath.Join(dir, "url")
	put := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(time.Duration(len(text)) * time.Second) // clocks of file systems are coarse
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	load := func() (*config.Config, error) { return config.Load(config.Options{File: file}) }
	put(file, "log: {level: info}\n")
	cfg, err := load()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	var applied []*config.Config
	var applyErr error
	apply := func(_ context.Context, c *config.Config) error {
		applied = append(applied, c)
		return applyErr
	}
	r := newReloader(cfg, load, apply, slog.New(slog.NewTextHandler(&log, nil)))
	counted := map[bool]int{} // by whether it was refused
	r.count = func(err error, _ time.Duration) { counted[err != nil]++ }
	look := func(times, want int, what string) {
		t.Helper()
		for range times {
			r.look(t.Context())
		}
		if len(applied) != want {
			t.Errorf("%s: applied %d times, want %d; the log:\n%s", what, len(applied), want, &log)
		}
	}
	look(3, 0, "nothing changed")
	put(file, "log: {level: warn}\n\n")
	look(1, 0, "it may still be written")
	look(3, 1, "at rest")
	put(file, "log: {lvel: warn}\nlisten: 5\n\n\n")
	look(4, 1, "a broken file")
	if counted[false] != 1 || counted[true] != 1 {
		t.Errorf("counted are %v reloads by whether they were refused", counted)
	}
	if n := strings.Count(log.String(), "keeping the old configuration"); n != 2 || !strings.Contains(log.String(), "c.yaml:1:7: unknown key log.lvel") {
		t.Errorf("two mistakes are told %d times:\n%s", n, &log)
	}
	for i, nothing := range []string{"", "# only\n# comments\n\n\n\n\n", "---\n# nothing\n"} {
		put(file, nothing)
		look(4, 1, "an empty file")
		if n := strings.Count(log.String(), "is empty"); n != i+1 {
			t.Errorf("%q: the log tells %d times of an empty file:\n%s", nothing, n, &log)
		}
	}
	put(file, "{}\n# all settings have their defaults\n")
	look(3, 2, "no settings, on purpose")
	applied = applied[:1]
	put(url, "http://127.0.0.1:1/a\n")
	put(file, "networks: [{name: main, nodes: [{url_file: url}]}]\n")
	look(3, 2, "mended")
	put(url, "http://127.0.0.1:1/longer\n")
	look(3, 3, "a file that it names")
	if err := os.Remove(url); err != nil {
		t.Fatal(err)
	}
	look(3, 3, "a file that is gone")
	put(url, "http://127.0.0.1:1/and longer again\n")
	applyErr = errors.New("refused by the server")
	put(url, "http://127.0.0.1:1/again-and-again\n")
	look(5, 4, "the server refuses")
	if !strings.Contains(log.String(), "refused by the server") {
		t.Errorf("the log:\n%s", &log)
	}
}

var readyAddress = regexp.MustCompile(`JSON-RPC  (http://\S+)`)

// TestReloadOfService edits the file of a running service, and sends it SIGHUP.
func TestReloadOfService(t *testing.T) {
	full.Slow(t)
	t.Chdir(t.TempDir())
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile("nodegate.yaml", []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const base = "networks:\n  - {name: dev, embedded: {}}\n"
	write(base)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var stdout, stderr safeBuffer
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, append([]string{"--config", "nodegate.yaml"}, append(anywhere[:len(anywhere):len(anywhere)], "data")...), nil, &stdout, &stderr)
	}()
	waitFor(t, &stdout, "is ready")
	waitFor(t, &stdout, "JSON-RPC  http://")
	write(base + "  - {name: far, nodes: [{url: 'http://127.0.0.1:1/swordfish'}]}\n")
	waitFor(t, &stderr, "networks.far: new, 1 nodes")
	at := readyAddress.FindStringSubmatch(stdout.String())[1]
	if status, body := getURL(t, at+"/readyz/far"); status != http.StatusServiceUnavailable || !strings.Contains(body, "network far has no node") {
		t.Errorf("/readyz/far says %d %s", status, body)
	}
	write(base + "costs: {eth_call: -1}\n")
	waitFor(t, &stderr, "configuration reload refused; keeping the old configuration")
	write(base)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, &stderr, "networks.far: gone")
	if status, body := getURL(t, at+"/readyz/far"); status != http.StatusNotFound {
		t.Errorf("/readyz/far says %d %s", status, body)
	}
	if strings.Contains(stderr.String(), "swordfish") {
		t.Errorf("the log shows the address:\n%s", &stderr)
	}
	cancel()
	if got := <-code; got != 0 {
		t.Errorf("exit code %d; stderr:\n%s", got, &stderr)
	}
}

func waitFor(t *testing.T, b *safeBuffer, text string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if strings.Contains(b.String(), text) {
			return
		}
	}
	t.Fatalf("waited for %q in vain:\n%s", text, b)
}

func getURL(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}
