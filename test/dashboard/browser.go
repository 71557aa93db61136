package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Password is that of every account that a Visitor makes.
const Password = "correct horse battery"

// Visitor is somebody with a browser. It keeps its session by hand: Go's own jar sends
// no Secure cookies over plain HTTP, which browsers do on the machine itself.
type Visitor struct {
	Header http.Header // goes with every request
	Host   string      // instead of the server's own, or ""

	t      testing.TB
	base   string
	cookie string
}

// Page is an answer.
type Page struct {
	Status int
	Header http.Header
	Body   string
}

// Visit is a stranger's first look at a server.
func Visit(t testing.TB, base string) *Visitor {
	return &Visitor{t: t, base: base, Header: http.Header{}}
}

// SignUp makes an account and signs in to it.
func (v *Visitor) SignUp(email string) *Visitor {
	v.t.Helper()
	p := v.Post("/signup", url.Values{"email": {email}, "password": {Password}})
	if p.Status != http.StatusSeeOther || v.cookie == "" {
		v.t.Fatalf("sign-up of %s: %d\n%s", email, p.Status, p.Body)
	}
	return v
}

// Get opens a page.
func (v *Visitor) Get(path string) Page {
	v.t.Helper()
	return v.send(http.MethodGet, path, nil)
}

// Post sends a form.
func (v *Visitor) Post(path string, form url.Values) Page {
	v.t.Helper()
	return v.send(http.MethodPost, path, strings.NewReader(form.Encode()))
}

// send never follows a redirect.
func (v *Visitor) send(method, path string, body io.Reader) Page {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header, req.Host = v.Header.Clone(), v.Host
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if v.cookie != "" {
		req.AddCookie(&http.Cookie{Name: "__Host-session", Value: v.cookie})
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		if c.Name == "__Host-session" {
			v.cookie = c.Value
		}
	}
	return Page{Status: res.StatusCode, Header: res.Header, Body: string(text)}
}

// Has fails the test for what a page lacks.
func (p Page) Has(t testing.TB, wanted ...string) Page {
	t.Helper()
	for _, w := range wanted {
		if !strings.Contains(p.Body, w) {
			t.Errorf("the page (status %d) lacks %q:\n%s", p.Status, w, p.Body)
		}
	}
	return p
}

// Lacks fails the test for what a page has and should not.
func (p Page) Lacks(t testing.TB, unwanted ...string) Page {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(p.Body, w) {
			t.Errorf("the page (status %d) has %q:\n%s", p.Status, w, p.Body)
		}
	}
	return p
}

// Is fails the test for another status.
func (p Page) Is(t testing.TB, status int) Page {
	t.Helper()
	if p.Status != status {
		t.Fatalf("status %d, want %d:\n%s", p.Status, status, p.Body)
	}
	return p
}
