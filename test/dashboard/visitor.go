package dashboard

import (
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// Visitor is a browser of one person.
type Visitor struct {
	t      testing.TB
	base   string
	Cookie string // of the session; "" is none
	Accept string // "" is what browsers send
	Host   string // what the browser calls the server; "" is its address

	receipt *http.Cookie // of a new key's page; nil is none
}

// Page is an answer.
type Page struct {
	Status   int
	Location string // of a redirect
	Header   http.Header
	Body     string
}

// Start runs a server and returns it with a stranger before it.
func Start(t testing.TB, change func(*config.Config)) (*harness.Service, *Visitor) {
	t.Helper()
	s := harness.Start(t, change)
	return s, Visit(t, s)
}

// Visit is somebody new before a server.
func Visit(t testing.TB, s *harness.Service) *Visitor { return &Visitor{t: t, base: s.RPC} }

// Password is the one of accounts that SignUp makes.
const Password = "correct horse battery"

// SignUp makes an account and signs it in.
func (v *Visitor) SignUp(email string) {
	v.t.Helper()
	if p := v.Post("/signup", url.Values{"email": {email}, "password": {Password}}); p.Location != "/login?done=signed-up" {
		v.t.Fatalf("sign-up of %s: %d to %q\n%s", email, p.Status, p.Location, p.Body)
	}
	v.SignIn(email, Password)
}

// SignIn signs an account in.
func (v *Visitor) SignIn(email, password string) {
	v.t.Helper()
	v.Cookie = ""
	if p := v.Post("/login", url.Values{"email": {email}, "password": {password}}); p.Status != http.StatusSeeOther || v.Cookie == "" {
		v.t.Fatalf("sign-in of %s: %d\n%s", email, p.Status, p.Body)
	}
}

// Member signs somebody up and returns their browser.
func Member(t testing.TB, s *harness.Service, email string) *Visitor {
	t.Helper()
	v := Visit(t, s)
	v.SignUp(email)
	return v
}

// Operator signs in as the account of the first start.
func Operator(t testing.TB, s *harness.Service) *Visitor {
	t.Helper()
	v, first := Visit(t, s), s.Server.First()
	v.SignIn(first.Email, first.Password)
	return v
}

// Get opens a page. Redirects are shown, not followed.
func (v *Visitor) Get(path string) Page {
	v.t.Helper()
	return v.send(http.MethodGet, path, "", nil, nil)
}

// Follow opens the page that a change leads to; other answers stay as they are.
func (v *Visitor) Follow(p Page) Page {
	v.t.Helper()
	if p.Status != http.StatusSeeOther {
		return p
	}
	path, _, _ := strings.Cut(p.Location, "#")
	return v.Get(path)
}

// Post sends a form, as one of the site's own pages does.
func (v *Visitor) Post(path string, form url.Values) Page {
	v.t.Helper()
	return v.send(http.MethodPost, path, "application/x-www-form-urlencoded", strings.NewReader(form.Encode()), http.Header{"Sec-Fetch-Site": {"same-origin"}})
}

// Upload sends a file by a form.
func (v *Visitor) Upload(path, name, content string) Page {
	v.t.Helper()
	var body strings.Builder
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", name)
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		v.t.Fatal(err)
	}
	return v.send(http.MethodPost, path, w.FormDataContentType(), strings.NewReader(body.String()), http.Header{"Sec-Fetch-Site": {"same-origin"}})
}

// send makes one request. The session's cookie is kept by hand: Go's jar holds it back
// from plain HTTP, where browsers make an exception for the machine itself.
func (v *Visitor) send(method, path, kind string, body io.Reader, header http.Header) Page {
	v.t.Helper()
	req, err := http.NewRequest(method, v.base+path, body)
	if err != nil {
		v.t.Fatal(err)
	}
	req.Host = v.Host
	if v.Accept != "" {
		req.Header.Set("Accept", v.Accept)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	if v.Cookie != "" {
		req.AddCookie(&http.Cookie{Name: "__Host-session", Value: v.Cookie})
	}
	if v.receipt != nil && strings.HasPrefix(path, v.receipt.Path) {
		req.AddCookie(&http.Cookie{Name: v.receipt.Name, Value: v.receipt.Value})
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
		switch c.Name {
		case "__Host-session":
			v.Cookie = c.Value
		case "__Secure-receipt":
			v.receipt = c
		}
	}
	return Page{Status: res.StatusCode, Location: res.Header.Get("Location"), Header: res.Header, Body: string(text)}
}
