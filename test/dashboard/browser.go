package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// Password is the one of accounts that SignUp makes.
const Password = "correct horse battery"

// Visitor is somebody at a browser.
type Visitor struct {
	t      testing.TB
	base   string // of the server
	cookie string
}

// Page is what a server answered.
type Page struct {
	Status   int
	Location string // of a redirect
	Header   http.Header
	Body     string
}

// Visit opens a browser.
func Visit(t testing.TB, base string) *Visitor { return &Visitor{t: t, base: base} }

// Get opens a page.
func (v *Visitor) Get(path string) Page { v.t.Helper(); return v.ask(http.MethodGet, path, nil) }

// Post sends a form.
func (v *Visitor) Post(path string, form url.Values) Page {
	v.t.Helper()
	return v.ask(http.MethodPost, path, form)
}

// SignUp makes an account and signs it in.
func (v *Visitor) SignUp(email string) {
	v.t.Helper()
	v.enter("/signup", email, Password)
}

// SignIn signs an account in.
func (v *Visitor) SignIn(email, password string) {
	v.t.Helper()
	v.enter("/login", email, password)
}

func (v *Visitor) enter(path, email, password string) {
	v.t.Helper()
	p := v.Post(path, url.Values{"email": {email}, "password": {password}})
	if p.Status != http.StatusSeeOther || v.cookie == "" {
		v.t.Fatalf("%s for %s: %d\n%s", path, email, p.Status, p.Body)
	}
}

// Cookie is the visitor's session.
func (v *Visitor) Cookie() string { return v.cookie }

// ask keeps the cookie by hand: Go's jar sends none that is Secure over plain HTTP,
// and browsers do on the machine itself.
func (v *Visitor) ask(method, path string, form url.Values) Page {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	if v.cookie != "" {
		req.Header.Set("Cookie", v.cookie)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	for _, c := range res.Cookies() {
		v.cookie = c.Name + "=" + c.Value
	}
	return Page{Status: res.StatusCode, Location: res.Header.Get("Location"), Header: res.Header, Body: string(body)}
}
