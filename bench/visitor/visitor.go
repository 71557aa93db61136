// Package visitor opens pages of the dashboard as somebody who is signed in. Start at SignIn.
package visitor

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Visitor is somebody who is signed in.
type Visitor struct{ base, cookie string }

// SignIn signs somebody in to the dashboard at a base URL.
func SignIn(base, email, password string) (*Visitor, error) {
	form := url.Values{"email": {email}, "password": {password}}.Encode()
	req, err := http.NewRequest(http.MethodPost, base+"/login", strings.NewReader(form))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	v := &Visitor{base: base}
	for _, c := range res.Cookies() { // of the session, and of the device
		v.cookie += c.Name + "=" + c.Value + "; "
	}
	if res.StatusCode != http.StatusSeeOther || v.cookie == "" {
		return nil, fmt.Errorf("no session: %s", res.Status)
	}
	return v, nil
}

// StatusError says that a page was answered with another status than 200.
type StatusError struct {
	Path   string
	Status int
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s: %d %s", e.Path, e.Status, http.StatusText(e.Status))
}

// Get returns a page or a file, and how many bytes of it went over the wire. It fails with
// StatusError unless the status is 200.
func (v *Visitor) Get(path string) (body string, size int, err error) {
	req, err := http.NewRequest(http.MethodGet, v.base+path, nil)
	if err != nil {
		return "", 0, err
	}
	req.Header.Set("Cookie", v.cookie)
	req.Header.Set("Accept-Encoding", "gzip")
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return "", 0, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	if res.StatusCode != http.StatusOK {
		return "", 0, &StatusError{path, res.StatusCode}
	}
	if res.Header.Get("Content-Encoding") != "gzip" {
		return string(raw), len(raw), nil
	}
	plain, err := gzip.NewReader(strings.NewReader(string(raw)))
	if err != nil {
		return "", 0, err
	}
	text, err := io.ReadAll(plain)
	return string(text), len(raw), err
}
