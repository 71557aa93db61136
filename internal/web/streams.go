package web

import (
	"context"
	"net"
	"net/http"
	"time"
)

// How many requests are served at the same time: of an HTTP/2 connection, of a client over all
// of its connections, and of all clients of a listener. A request that waits for its body holds
// about 14 KB that no account has yet paid for.
const (
	mostStreams     = 100
	streamsOfClient = 1000
	streamsOfAll    = 10_000
)

// streams makes a server of HTTP/2 with another server's handler and limits.
func streams(srv *http.Server, busy http.Handler) *http.Server {
	handler := srv.Handler
	two := &http.Server{
		Handler:           http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { serveFrames(handler, busy, w, req) }),
		ReadHeaderTimeout: srv.ReadHeaderTimeout, ReadTimeout: srv.ReadTimeout, WriteTimeout: srv.WriteTimeout, IdleTimeout: srv.IdleTimeout,
		MaxHeaderBytes: srv.MaxHeaderBytes, ErrorLog: srv.ErrorLog,
		Protocols: new(http.Protocols), HTTP2: &http.HTTP2Config{MaxConcurrentStreams: mostStreams},
	}
	two.Protocols.SetUnencryptedHTTP2(true)
	Readable(two).ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, frameKey{}, c) }
	return two
}

// serveFrames shows a handler that its connection is TLS, and paces its response. busy answers
// what is too much.
func serveFrames(next, busy http.Handler, w http.ResponseWriter, req *http.Request) {
	if c, ok := req.Context().Value(frameKey{}).(*frameConn); ok {
		req.TLS = c.state
		if c.frames.open.enter(c.client) {
			defer c.frames.open.leave(c.client)
		} else {
			next = busy
		}
	}
	paced := &streamWriter{ResponseWriter: w, control: http.NewResponseController(w)}
	next.ServeHTTP(paced, req)
	paced.deadline() // of what net/http still holds
}

// Crowded is what a client with too many requests in progress is told.
const Crowded = "too many requests in progress over HTTP/2: wait for some of them to end"

func crowded(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", RetryAfter(time.Second))
	http.Error(w, Crowded, http.StatusServiceUnavailable)
}

// A client that takes less than a piece of a stream in this time is cut. The deadlines of its
// connection don't see one stream of many.
const (
	streamPiece    = 32 << 10
	streamPatience = 12 * time.Second
	streamBuffer   = 4 << 10 // net/http keeps so much before it waits for the client
)

// streamWriter gives the writes of a response deadlines. One that passes ends the stream, also
// while nothing is written; so it is taken back after each write.
type streamWriter struct {
	http.ResponseWriter
	control *http.ResponseController
	written int
}

func (w *streamWriter) Write(b []byte) (total int, err error) {
	if w.written+len(b) <= streamBuffer {
		n, err := w.ResponseWriter.Write(b)
		w.written += n
		return n, err
	}
	defer func() { _ = w.control.SetWriteDeadline(time.Time{}) }()
	for len(b) > 0 && err == nil {
		w.deadline()
		var n int
		n, err = w.ResponseWriter.Write(b[:min(len(b), streamPiece)])
		total, b = total+n, b[n:]
	}
	w.written += total
	return total, err
}

func (w *streamWriter) deadline() { _ = w.control.SetWriteDeadline(time.Now().Add(streamPatience)) }

// Unwrap lets a ResponseController reach the stream.
func (w *streamWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
