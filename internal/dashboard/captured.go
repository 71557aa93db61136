package dashboard

import (
	"bytes"
	"context"
	"net/http"
	"net/url"
	"strings"
)

// captured is an answer of another front end that a page shows instead of sending it on.
type captured struct {
	header http.Header
	status int
	body   bytes.Buffer
	over   bool // there was more than fits
}

// maxCaptured bounds what a page can show.
const maxCaptured = 256 << 10

func newCaptured() *captured { return &captured{header: http.Header{}, status: http.StatusOK} }

// Header implements http.ResponseWriter.
func (c *captured) Header() http.Header { return c.header }

// WriteHeader implements http.ResponseWriter.
func (c *captured) WriteHeader(status int) { c.status = status }

// Write keeps what fits and takes the rest without a word: the caller goes on.
func (c *captured) Write(b []byte) (int, error) {
	room := maxCaptured - c.body.Len()
	c.over = c.over || len(b) > room
	_, _ = c.body.Write(b[:min(len(b), max(0, room))])
	return len(b), nil
}

// inner is a request for another front end on behalf of who is signed in. It carries
// nothing of the browser's: no cookie, no header.
func inner(ctx context.Context, path string, query url.Values, body string) *http.Request {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, (&url.URL{Path: path, RawQuery: query.Encode()}).String(), strings.NewReader(body))
	if err != nil {
		panic("dashboard: " + err.Error()) // the path is a constant of this package
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}
