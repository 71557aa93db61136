package edge

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/plainhttp"
	"github.com/nodegate/nodegate/internal/web"
)

// address is what a connection's last request said about where it goes. Most
// connections never say anything else, so it is worked out once.
type address struct {
	path, host []byte
	network    *network
	key        string
}

// headRoom is reserved before the answer for the response's head, so that both
// leave in one write without being copied.
const headRoom = 512

// ServePlain is the short way of a plain POST: what ServeHTTP does for it, to the
// same effect. Whatever is neither a call nor an unknown key is handed over.
func (e *Edge) ServePlain(ctx context.Context, c *plainhttp.Conn, r *plainhttp.Request, out []byte) ([]byte, bool) {
	a := e.addressOf(c, r)
	if a == nil || int64(len(r.Body)) > e.cfg.BodyBytes {
		return nil, false
	}
	grant, err := e.cfg.Auth.Authenticate(ctx, nodegate.Credentials{Key: a.key, From: c.RemoteAddr()})
	if err != nil {
		return e.plainRefusal(out, r, err), true
	}
	if asksForClient(grant) {
		return nil, false
	}
	e.in.Add(float64(len(r.Body)))
	x := e.newExchange(a.network, grant, nil)
	defer x.release()
	x.body = append(x.body, r.Body...)
	x.answer = append(out, make([]byte, headRoom)...)
	ctx = nodegate.WithGrant(ctx, grant)
	if firstByte(r.Body) == '[' {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTime)
		defer cancel()
	}
	callErr := x.respond(ctx)
	answer := x.answer
	x.answer = nil // it belongs to the connection again
	return e.plainResponse(answer, r, callErr), true
}

// plainRefusal is what refuse answers: guessing keys must not be a way to make the
// service work harder than for a call.
func (e *Edge) plainRefusal(out []byte, r *plainhttp.Request, err error) []byte {
	e.cfg.Metrics.Refused(nodegate.AsError(err).Code)
	answer := e.appendError(append(out, make([]byte, headRoom)...), nil, err)
	return e.plainHeaded(answer, r, err)
}

// asksForClient tells whether the key's owner lists origins or user agents, which
// the short way doesn't read.
func asksForClient(g *nodegate.Grant) bool {
	s := &g.Policy().Settings
	return len(s.Origins) > 0 || len(s.UserAgents) > 0
}

// addressOf resolves the request's address, from memory when it is the last one's.
func (e *Edge) addressOf(c *plainhttp.Conn, r *plainhttp.Request) *address {
	if a, ok := c.Memo.(*address); ok && bytes.Equal(a.path, r.Path) && bytes.Equal(a.host, r.Host) {
		return a
	}
	route, ok := parseRoute(string(r.Path))
	if !ok || route.socket {
		return nil
	}
	n, err := e.find(route, string(r.Host))
	if err != nil {
		return nil
	}
	a := &address{path: bytes.Clone(r.Path), host: bytes.Clone(r.Host), network: n, key: route.key}
	c.Memo = a
	return a
}

// plainResponse counts the answer that begins at headRoom and puts the head before it.
func (e *Edge) plainResponse(out []byte, r *plainhttp.Request, callErr error) []byte {
	e.out.Add(float64(len(out) - headRoom))
	return e.plainHeaded(out, r, callErr)
}

func (e *Edge) plainHeaded(out []byte, r *plainhttp.Request, callErr error) []byte {
	status, retry := outcome(callErr)
	body := out[headRoom:]
	compress := r.AcceptGzip && len(body) >= web.CompressFrom
	if compress {
		packed := web.Gzip(make([]byte, headRoom, headRoom+len(body)/4), body)
		out, body = packed, packed[headRoom:]
	}
	var buf [headRoom]byte
	head := e.plainHead(buf[:0], headOf{status: status, retry: retry, length: len(body), compressed: compress, origin: r.HasOrigin})
	start := headRoom - len(head)
	copy(out[start:], head)
	return out[start:]
}

// headOf is what the head of an answer depends on.
type headOf struct {
	status, length     int
	retry              string
	compressed, origin bool
}

// plainHead writes the same headers that ServeHTTP sends.
func (e *Edge) plainHead(h []byte, p headOf) []byte {
	if p.length == 0 {
		p.status = http.StatusNoContent
	}
	h = append(h, "HTTP/1.1 "...)
	h = strconv.AppendInt(h, int64(p.status), 10)
	h = append(append(h, ' '), http.StatusText(p.status)...)
	h = append(h, "\r\nAccess-Control-Allow-Origin: *"...)
	if p.origin {
		h = append(append(h, "\r\nAccess-Control-Expose-Headers: "...), web.ExposedHeaders...)
	}
	if p.retry != "" {
		h = append(append(h, "\r\nRetry-After: "...), p.retry...)
	}
	h = append(append(h, "\r\nX-Request-Id: "...), e.ids.New()...)
	h = append(append(h, "\r\nDate: "...), e.date.now()...)
	if p.length == 0 {
		return append(h, "\r\n\r\n"...)
	}
	h = append(h, "\r\nContent-Type: application/json\r\nX-Content-Type-Options: nosniff"...)
	if p.compressed {
		h = append(h, "\r\nContent-Encoding: gzip"...)
	}
	if p.compressed || p.length >= web.CompressFrom {
		h = append(h, "\r\nVary: Accept-Encoding"...)
	}
	h = append(h, "\r\nContent-Length: "...)
	h = strconv.AppendInt(h, int64(p.length), 10)
	return append(h, "\r\n\r\n"...)
}

// httpDate renders the Date header once a second.
type httpDate struct{ current atomic.Pointer[stampedDate] }

type stampedDate struct {
	second int64
	text   string
}

func (d *httpDate) now() string {
	now := time.Now()
	if s := d.current.Load(); s != nil && s.second == now.Unix() {
		return s.text
	}
	s := &stampedDate{second: now.Unix(), text: now.UTC().Format(http.TimeFormat)}
	d.current.Store(s)
	return s.text
}
