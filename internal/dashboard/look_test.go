package dashboard

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"
)

// lightest is what a first visit may transfer: the page and every file that it names.
const lightest = 40 << 10

// TestFirstVisitWeight: a page with all that it loads stays small, as it is sent.
func TestFirstVisitWeight(t *testing.T) {
	d, _, keys := crowded(t, 30, 90)
	d.cfg.Cost = func(string) int64 { return 80 }
	_, operator := d.person(t, "operator@example.com", true)
	names := regexp.MustCompile(`(?:src|href)="(/static/[^"#]+)`)
	for _, path := range []string{"/", "/keys", "/usage", "/requests", "/billing", "/account", "/docs", "/docs/eth_getLogs", "/operator", "/operator/audit", "/operator/accounts/" + keys[0].AccountID} {
		page := fetchGzip(t, d, path, operator)
		sum := len(page.sent)
		seen := map[string]bool{}
		for _, m := range names.FindAllStringSubmatch(page.text, -1) {
			if !seen[m[1]] {
				seen[m[1]] = true
				sum += len(fetchGzip(t, d, m[1], "").sent)
			}
		}
		if len(seen) < 5 || sum > lightest {
			t.Errorf("%s and its %d files are %d bytes", path, len(seen), sum)
		}
	}
}

// fetched is an answer as it is sent, and its text.
type fetched struct {
	sent []byte
	text string
}

func fetchGzip(t *testing.T, d *booth, path, cookie string) fetched {
	t.Helper()
	req := httptest.NewRequest(http.MethodGet, path, nil)
	req.RemoteAddr = "127.0.0.1:1"
	req.Header.Set("Accept-Encoding", "gzip")
	req.Header.Set("Cookie", cookie)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, req)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d", path, w.Code)
	}
	f := fetched{sent: w.Body.Bytes(), text: w.Body.String()}
	if w.Header().Get("Content-Encoding") == "gzip" {
		r, err := gzip.NewReader(strings.NewReader(f.text))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		f.text = string(text)
	}
	return f
}

// TestIcons: every icon that a page or the menu names is in the sprite, and none is there
// for nothing.
func TestIcons(t *testing.T) {
	sprite, err := staticFiles.ReadFile("static/icons.svg")
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, g := range menu {
		for _, m := range g.items {
			used[m.Icon] = true
		}
	}
	files, err := pageFiles.ReadDir("pages")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := pageFiles.ReadFile("pages/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`template "icon" "([a-z]+)"`).FindAllSubmatch(text, -1) {
			used[string(m[1])] = true
		}
	}
	for _, m := range regexp.MustCompile(`<symbol id="([a-z]+)"`).FindAllSubmatch(sprite, -1) {
		if !used[string(m[1])] {
			t.Errorf("no page uses the icon %s", m[1])
		}
		delete(used, string(m[1]))
	}
	for name := range used {
		t.Errorf("there is no icon %q", name)
	}
}

// TestMenu: the menu has four groups, operators' only for them, and marks the page that is
// open or the nearest one above it.
func TestMenu(t *testing.T) {
	d := newBooth(t, nil)
	_, member := d.person(t, "ada.lovelace@example.com", false)
	_, operator := d.person(t, "operator@example.com", true)
	page := d.ask(http.MethodGet, "/keys", member, nil).Body.String()
	for text, want := range map[string]bool{">Build<": true, ">Monitor<": true, ">Account<": true, ">Operate<": false, "/operator": false, ">AL</span>": true, `href="/files"`: false} {
		if strings.Contains(page, text) != want {
			t.Errorf("a member's menu: %q is there: %v", text, !want)
		}
	}
	if page := d.ask(http.MethodGet, "/operator/audit", operator, nil).Body.String(); !strings.Contains(page, ">Operate<") || !strings.Contains(page, `<a href="/operator/audit" aria-current="page">`) || strings.Contains(page, `<a href="/operator" aria-current="page">`) {
		t.Errorf("an operator's menu: %s", page)
	}
	for address, want := range map[string]string{"/": "/", "/keys/k-1/settings": "/keys", "/operator/accounts/a-1": "/operator/accounts", "/operator": "/operator", "/docs": "", "/keysmith": ""} {
		if got := menuPath(address); got != want {
			t.Errorf("%s belongs to %q, want %q", address, got, want)
		}
	}
	for email, want := range map[string]string{"ada@x": "A", "ada.lovelace@x": "AL", "a-b.c@x": "AB", "@x": "", "...@x": "", "\u00e9ric@x": "\u00c9"} {
		if got := initials(email); got != want {
			t.Errorf("the initials of %s are %q", email, got)
		}
	}
}

// TestShortForms: figures of tiles never hide a failure.
func TestShortForms(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{compact(999_999), "999,999"}, {compact(11_424_000), "11.42 M"}, {compact(3e12), "3.00 T"}, {compact(0), "0"},
		{level(799, 1000), ""}, {level(80, 100), "high"}, {level(100, 100), "full"}, {level(5, 0), ""}, {millis(0), "–"}, {millis(420 * time.Microsecond), "0.42 ms"},
		{middle("short"), "short"}, {middle("bafkreigbyemvpyfu3i6bdlnjn5nwlu65"), "bafkreigby…nwlu65"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestStatusBars: the bars of the status page and the history of the Playground are styled
// apart.
func TestStatusBars(t *testing.T) {
	style, err := staticFiles.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	page, err := pageFiles.ReadFile("pages/status.html")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), `<ol class="days"`) || !strings.Contains(string(style), "\n.days li {") || strings.Contains(string(style), ".history li") {
		t.Error("the status page's bars need the class days, which nothing else has")
	}
}
