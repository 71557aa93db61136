package edge

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
	"github.com/nodegate/nodegate/internal/tracing"
	"github.com/nodegate/nodegate/internal/web"
)

// address is what a connection's last request said about where it goes. Most
// connections never say anything else, so it is worked out once.
type address struct {
	path, host []byte
	site       *site // whose network it is: another one is looked up again
	network    *network
	key        string
}

// headRoom is reserved before the answer for the response's head, so that both
// leave in one write without being copied.
const headRoom = 1024

// ServePlain is the short way of a plain POST: what ServeHTTP does for it, to the
// same effect. Whatever is neither a call nor an unknown key is handed over.
func (e *Edge) ServePlain(ctx context.Context, c *fastpath.Conn, r *fastpath.Request, out []byte) ([]byte, bool) {
	a := e.addressOf(c, r)
	if a == nil || int64(len(r.Body)) > e.cfg.BodyBytes {
		return nil, false
	}
	ctx, span := e.cfg.Tracer.Begin(ctx, "rpc") // who names a trace comes by ServeHTTP
	_, step := span.Step(ctx, "admission")
	grant, err := e.cfg.Auth.Authenticate(ctx, nodegate.Credentials{Key: a.key, From: c.RemoteAddr()})
	switch {
	case err != nil:
		out = e.plainRefusal(ctx, out, a.network, r, err)
		step.End(err)
		span.End(err)
	case asksForClient(grant):
		return nil, false // its spans never end, and nobody sees them
	default:
		step.End(nil)
		out, err = e.plainCall(ctx, c, r, a.network, grant, span, out)
	}
	if err != nil {
		e.slowdown.after(ctx, c.RemoteAddr(), web.Status(nodegate.AsError(err).Code))
	}
	return out, true
}

// plainCall executes a body. The error is what the answer's status says.
func (e *Edge) plainCall(ctx context.Context, c *fastpath.Conn, r *fastpath.Request, n *network, grant *nodegate.Grant, span *tracing.Span, out []byte) ([]byte, error) {
	e.in.Add(float64(len(r.Body)))
	x := e.newExchange(n, grant, nil)
	defer x.release()
	x.id, x.span = e.ids.New(), span
	span.Set("nodegate.request_id", x.id)
	x.body = append(x.body, r.Body...)
	x.answer = append(out, make([]byte, headRoom)...)
	ctx = nodegate.WithGrant(ctx, grant)
	if firstByte(r.Body) == '[' {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, requestTime)
		defer cancel()
	}
	callErr := x.respond(ctx)
	c.Ended = x.ended
	answer := x.answer
	x.answer = nil // it belongs to the connection again
	out = e.plainResponse(ctx, answer, r, x, callErr)
	if x.memory.hold.Held() > 0 {
		c.OnSent(x.memory.hold.Move().Release)
	}
	return out, callErr
}

// plainRefusal is what refuse answers: guessing keys must not be a way to make the
// service work harder than for a call.
func (e *Edge) plainRefusal(ctx context.Context, out []byte, n *network, r *fastpath.Request, err error) []byte {
	e.cfg.Metrics.Refused(nodegate.AsError(err).Code)
	answer := e.appendError(append(out, make([]byte, headRoom)...), nil, err)
	id := e.ids.New()
	status, retry := outcome(err)
	e.logRefusal(route{network: n.Name}, id, status, err)
	return e.plainHeaded(ctx, answer, r, headOf{id: id, status: status, retry: retry})
}

// asksForClient tells whether the key's settings depend on the request and not only on its
// calls. The fast path doesn't read origins and user agents.
func asksForClient(g *nodegate.Grant) bool {
	s := &g.Policy().Settings
	return len(s.Origins) > 0 || len(s.UserAgents) > 0 || len(s.Services) > 0 || len(s.Networks) > 0
}

// addressOf resolves the request's address, from memory when it is the last one's.
func (e *Edge) addressOf(c *fastpath.Conn, r *fastpath.Request) *address {
	s := e.site.Load()
	if a, ok := c.Memo.(*address); ok && a.site == s && bytes.Equal(a.path, r.Path) && bytes.Equal(a.host, r.Host) {
		return a
	}
	route, ok := parseRoute(string(r.Path))
	if !ok || route.socket {
		return nil
	}
	n, err := s.find(route, string(r.Host))
	if err != nil {
		return nil
	}
	a := &address{site: s, path: bytes.Clone(r.Path), host: bytes.Clone(r.Host), network: n, key: route.key}
	c.Memo = a
	return a
}

// plainResponse counts the answer that begins at headRoom and puts the head before it.
func (e *Edge) plainResponse(ctx context.Context, out []byte, r *fastpath.Request, x *exchange, callErr error) []byte {
	length := len(out) - headRoom
	e.out.Add(float64(length))
	head := headOf{id: x.id, told: x}
	head.status, head.retry = outcome(callErr)
	if length == 0 {
		head.status = http.StatusNoContent
	}
	x.logAnswer(head.id, head.status, callErr)
	endSpan(x, head.status, callErr)
	return e.plainHeaded(ctx, out, r, head)
}

func (e *Edge) plainHeaded(ctx context.Context, out []byte, r *fastpath.Request, p headOf) []byte {
	body := out[headRoom:]
	p.compressed = r.AcceptGzip && len(body) >= web.CompressFrom && (p.told == nil || p.told.memory.mayCompress(len(body)))
	if p.compressed {
		packed := e.large.compress(ctx, p.account(), make([]byte, headRoom, headRoom+len(body)/4), body)
		if p.compressed = packed != nil; p.compressed {
			out, body = packed, packed[headRoom:]
		}
	}
	p.length, p.origin = len(body), r.HasOrigin
	var buf [headRoom]byte
	head := e.plainHead(buf[:0], p)
	start := headRoom - len(head)
	copy(out[start:], head)
	return out[start:]
}

// headOf is what the head of an answer depends on.
type headOf struct {
	id                 string
	status, length     int
	retry              string
	told               *exchange // whose calls the head tells of, or nil
	compressed, origin bool
}

// account is whose answer it is; "" for one that is no call's.
func (p *headOf) account() string {
	if p.told == nil {
		return ""
	}
	return p.told.grant.AccountID
}

// plainHead writes the same headers that ServeHTTP sends.
func (e *Edge) plainHead(h []byte, p headOf) []byte {
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
	h = append(append(h, "\r\nX-Request-Id: "...), p.id...)
	h = append(append(h, "\r\nDate: "...), e.date.at(p.now())...)
	if p.told != nil {
		h = appendTold(h, p.told)
	}
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

// now is when the calls were over, which spares a look at the clock.
func (p *headOf) now() time.Time {
	if p.told != nil && !p.told.ended.IsZero() {
		return p.told.ended
	}
	return time.Now()
}

// httpDate renders the Date header once a second.
type httpDate struct{ current atomic.Pointer[stampedDate] }

type stampedDate struct {
	second int64
	text   string
}

func (d *httpDate) at(now time.Time) string {
	if s := d.current.Load(); s != nil && s.second == now.Unix() {
		return s.text
	}
	s := &stampedDate{second: now.Unix(), text: now.UTC().Format(http.TimeFormat)}
	d.current.Store(s)
	return s.text
}
