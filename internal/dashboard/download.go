package dashboard

import (
	"net/http"
	"net/url"
	"path"
	"strings"

	"github.com/nodegate/nodegate"
)

// downloadFile sends a file of the storage gateway to who is signed in. Whatever it holds, a
// browser must take it for a file: as a page it would be one of this site's own.
func downloadFile(v *visit) error {
	if v.cfg.Storage == nil {
		return errNoStorage
	}
	if err := getOnly(v); err != nil {
		return err
	}
	query := v.req.URL.Query()
	_, grant, err := v.chooseKey(query.Get("key"))
	if err != nil {
		return err
	}
	if grant == nil {
		return errNoKey
	}
	cid, name := query.Get("cid"), fileName(query.Get("name"), query.Get("cid"))
	if below := strings.Trim(path.Clean("/"+query.Get("path")), "/"); below != "" {
		cid += "/" + below
	}
	handOver(v)
	d := &downloading{w: v.w, name: name}
	v.cfg.Storage(d, inner(v.req.Context(), "/api/v0/cat", url.Values{"arg": {cid}}, ""), "cat", grant)
	if d.failed != nil && strings.Contains(d.failed.body.String(), "directory") {
		d = &downloading{w: v.w, name: name + ".tar"}
		v.cfg.Storage(d, inner(v.req.Context(), "/api/v0/get", url.Values{"arg": {cid}, "archive": {"true"}}, ""), "get", grant)
	}
	if d.failed != nil {
		return notRead(v, d.failed)
	}
	return nil
}

// getOnly refuses a HEAD, which would be charged as the whole file.
func getOnly(v *visit) error {
	if v.req.Method == http.MethodGet {
		return nil
	}
	v.w.Header().Set("Allow", http.MethodGet)
	return &nodegate.Error{Op: "dashboard.download", Code: nodegate.HTTPMethod, Msg: "downloads require GET"}
}

// notRead tells why a file can't be had.
func notRead(v *visit, c *captured) error {
	code := nodegate.NotFound
	switch c.status {
	case http.StatusPaymentRequired:
		code = nodegate.CardRequired
	case http.StatusForbidden:
		code = nodegate.Forbidden
	case http.StatusTooManyRequests:
		code = nodegate.RateLimited
	}
	return &nodegate.Error{Op: "dashboard.download", Code: code, Msg: "can't read this file: " + messageOf(c)}
}

// fileName is a name that every system can save, from what the pin is called.
func fileName(name, cid string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\:*?"<>|`, r) {
			return '-'
		}
		return r
	}, strings.TrimSpace(name))
	name = strings.Trim(name, ". ")
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	if name == "" {
		name = strings.Trim(strings.Map(letters, cid), "-")
	}
	if name == "" {
		return "file"
	}
	return name
}

func letters(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
		return r
	}
	return '-'
}

// downloading passes an answer on as a file, and keeps a refusal for a page.
type downloading struct {
	w      http.ResponseWriter
	name   string
	header http.Header
	begun  bool
	failed *captured
}

// Header implements http.ResponseWriter. The gateway's own headers are for its clients;
// few of them go on.
func (d *downloading) Header() http.Header {
	if d.header == nil {
		d.header = http.Header{}
	}
	return d.header
}

// WriteHeader implements http.ResponseWriter.
func (d *downloading) WriteHeader(status int) {
	if d.begun || d.failed != nil {
		return
	}
	if status != http.StatusOK {
		d.failed = newCaptured()
		d.failed.status = status
		return
	}
	d.begun = true
	h := d.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Content-Disposition", "attachment; filename*=UTF-8''"+strings.ReplaceAll(url.QueryEscape(d.name), "+", "%20"))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	if length := d.Header().Get("Content-Length"); length != "" {
		h.Set("Content-Length", length)
	}
	d.w.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (d *downloading) Write(b []byte) (int, error) {
	d.WriteHeader(http.StatusOK)
	if d.failed != nil {
		return d.failed.Write(b)
	}
	return d.w.Write(b)
}

// Unwrap is for http.ResponseController: deadlines and flushes are the connection's.
func (d *downloading) Unwrap() http.ResponseWriter { return d.w }
