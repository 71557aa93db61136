package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"
)

// Refusal is the whole response to a request that net/http refuses before a handler
// sees it. A nil Refusal leaves net/http's own text.
type Refusal func(status int, reason string) []byte

// RequestConn follows the HTTP/1 requests of a connection. When the connection closes
// after an answer while the client is still sending, it closes so that the client can
// read the answer. HTTP/2 is not for it: net/http does it there; see Server.
func RequestConn(c net.Conn, refusal Refusal) net.Conn {
	r := &requestConn{Conn: c, refusal: refusal, guarded: guardedOf(c)}
	if secure, ok := below[connectionStater](c); ok {
		return &secureRequestConn{r, secure}
	}
	return r
}

// connectionStater is a connection with TLS.
type connectionStater interface {
	ConnectionState() tls.ConnectionState
}

// secureRequestConn also shows net/http that the connection is TLS.
type secureRequestConn struct {
	*requestConn
	secure connectionStater
}

func (c *secureRequestConn) ConnectionState() tls.ConnectionState { return c.secure.ConnectionState() }

// below finds a connection of some kind under the wrappers of another.
func below[T any](c net.Conn) (found T, ok bool) {
	for {
		if found, ok = c.(T); ok {
			return found, true
		}
		wrapper, more := c.(interface{ NetConn() net.Conn })
		if !more {
			return found, false
		}
		c = wrapper.NetConn()
	}
}

func guardedOf(c net.Conn) *guardedConn {
	g, _ := below[*guardedConn](c)
	return g
}

// requestConn is a connection as net/http has it.
type requestConn struct {
	net.Conn
	refusal Refusal
	guarded *guardedConn // the one below that can linger, or nil
	heads   headScanner

	begun   atomic.Bool // a request has begun and no handler has it yet
	written atomic.Bool // something was answered since
	unread  atomic.Bool // a handler has answered without reading the whole body

	received  atomic.Int64 // bytes
	abandoned atomic.Int32 // inUse, leftUnread or ended
	spare     atomic.Int64 // bytes that may still come of what was left unread
}

// What became of a connection's present body of chunks.
const (
	inUse      int32 = iota
	leftUnread       // by the handler
	ended            // with the connection
)

// Read also looks for requests whose length is disputed. net/http reads heads into a
// buffer of its own; larger reads are bodies. Of chunks that no handler has read, net/http
// would read on 256 KiB, whatever their framing; the connection ends after spareChunks instead.
func (c *requestConn) Read(b []byte) (int, error) {
	if c.abandoned.Load() != inUse && c.spare.Load() <= 0 && len(b) > 1 { // a single byte is how net/http waits for the peer to leave
		c.abandoned.Store(ended) // for good: what follows is not the next request
		return 0, net.ErrClosed
	}
	n, err := c.Conn.Read(b)
	c.received.Add(int64(n))
	c.spare.Add(-int64(n))
	if len(b) <= headBuffer {
		c.heads.look(b[:n])
	}
	return n, err
}

// spareChunks is enough for the end of a body that a handler has understood without it.
const spareChunks = 4 << 10

// headBuffer is how much net/http reads at once when it reads a head.
const headBuffer = 4 << 10

// Write replaces what net/http answers by itself.
func (c *requestConn) Write(b []byte) (int, error) {
	c.written.Store(true)
	if c.refusal == nil || !c.begun.Load() {
		return c.Conn.Write(b)
	}
	status, reason, ok := ownAnswer(b)
	if !ok {
		return c.Conn.Write(b)
	}
	if _, err := c.Conn.Write(c.refusal(status, reason)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// ownHeaders follow the status line in every answer that net/http gives by itself, and
// in no answer of a handler: those have a date.
const ownHeaders = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"

// ownAnswer recognizes what net/http answers to a request that it can't read.
func ownAnswer(b []byte) (status int, reason string, ok bool) {
	rest, found := bytes.CutPrefix(b, []byte("HTTP/1.1 "))
	line, text, separated := bytes.Cut(rest, []byte(ownHeaders))
	if !found || !separated || len(line) < 3 || bytes.Contains(line, []byte("\r\n")) {
		return 0, "", false
	}
	status, err := strconv.Atoi(string(line[:3]))
	return status, string(text), err == nil && status >= http.StatusBadRequest
}

// Close closes so that an answer that was given early arrives.
func (c *requestConn) Close() error {
	if c.guarded != nil && (c.unread.Load() || c.begun.Load() && c.written.Load()) {
		c.guarded.late.Store(true)
	}
	return c.Conn.Close()
}

// NetConn is the connection below, for those who need the system's own.
func (c *requestConn) NetConn() net.Conn { return c.Conn }

// follow notes where the server is with its requests.
func (c *requestConn) follow(state http.ConnState) {
	switch state {
	case http.StateActive:
		c.written.Store(false)
		c.begun.Store(true)
	case http.StateIdle:
		c.begun.Store(false)
		c.unread.Store(false)
		c.abandoned.CompareAndSwap(leftUnread, inUse)
	}
}

// Readable prepares a server whose connections come from RequestConn: who
// is refused while still sending can read why, and a connection on which the length of
// a request is disputed is closed after the answer.
func Readable(srv *http.Server) *http.Server {
	srv.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		if r := requestConnOf(c); r != nil {
			return context.WithValue(ctx, connKey{}, r)
		}
		return ctx
	}
	srv.ConnState = func(c net.Conn, s http.ConnState) {
		if r := requestConnOf(c); r != nil {
			r.follow(s)
		}
	}
	next := srv.Handler
	srv.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { serveReadable(next, w, req) })
	return srv
}

type connKey struct{}

func requestConnOf(c net.Conn) *requestConn {
	switch c := c.(type) {
	case *requestConn:
		return c
	case *secureRequestConn:
		return c.requestConn
	}
	return nil
}

func serveReadable(next http.Handler, w http.ResponseWriter, req *http.Request) {
	c, ok := req.Context().Value(connKey{}).(*requestConn)
	if !ok {
		serveStream(next, w, req)
		return
	}
	c.begun.Store(false)
	if c.heads.disputed.Load() {
		w.Header().Set("Connection", "close")
	}
	if req.Body == nil || req.Body == http.NoBody {
		next.ServeHTTP(w, req)
		return
	}
	body := &watchedBody{ReadCloser: req.Body}
	seen := req.WithContext(req.Context()) // net/http looks at the body of its own
	seen.Body = body
	if req.ContentLength < 0 {
		seen.Body = &chunkedBody{watchedBody: body, conn: c, from: c.received.Load()}
	}
	next.ServeHTTP(w, seen)
	c.unread.Store(!body.ended.Load())
	if req.ContentLength < 0 && !body.ended.Load() {
		c.spare.Store(spareChunks)
		c.abandoned.Store(leftUnread)
	}
}

// serveStream serves a request of HTTP/2. After an early answer net/http resets the
// stream, which some clients take for the end of an answer that they have not read yet.
// So the answer is sent, and the body read a little longer, before that.
func serveStream(next http.Handler, w http.ResponseWriter, req *http.Request) {
	if req.ProtoMajor < 2 || req.Body == nil || req.Body == http.NoBody {
		next.ServeHTTP(w, req)
		return
	}
	body := &watchedBody{ReadCloser: req.Body}
	seen := req.WithContext(req.Context())
	seen.Body = body
	next.ServeHTTP(w, seen)
	if body.ended.Load() {
		return
	}
	control := http.NewResponseController(w)
	if control.Flush() != nil || control.SetReadDeadline(time.Now().Add(streamTime)) != nil {
		return
	}
	_, _ = io.CopyN(io.Discard, req.Body, lingerBytes)
}

// streamTime is how long the body of an HTTP/2 request is read after its answer.
const streamTime = 500 * time.Millisecond

// watchedBody notes whether it was read to its end.
type watchedBody struct {
	io.ReadCloser
	ended atomic.Bool
}

func (b *watchedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended.Store(true)
	}
	return n, err
}
