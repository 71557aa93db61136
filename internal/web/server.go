package web

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"

	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// Server serves HTTP/1 and, on TLS connections that chose it, HTTP/2. Who is refused
// while still sending can read why, and HTTP/2 clients are held to a rate of frames.
//
// net/http takes HTTP/2 connections only as it accepted them, with TLS, where frames
// can't be counted. So a server of its own serves them, decrypted.
type Server struct {
	one  Front
	two  *http.Server
	wrap func(net.Conn) net.Conn // an HTTP/1 connection, before one gets it
}

// Front serves HTTP/1 connections.
type Front interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// NewServer makes a server of an http.Server's handler and limits.
func NewServer(srv *http.Server) *Server {
	two := streams(srv, http.HandlerFunc(crowded))
	return &Server{one: Readable(srv), two: two, wrap: func(c net.Conn) net.Conn { return RequestConn(c, nil) }}
}

// Beside adds HTTP/2, with an http.Server's handler and limits, to a server of HTTP/1. busy
// answers clients with too many requests in progress.
func Beside(one Front, srv *http.Server, busy http.HandlerFunc) *Server {
	return &Server{one: one, two: streams(srv, busy), wrap: func(c net.Conn) net.Conn { return c }}
}

// Serve serves a listener's connections until Shutdown or Close.
func (s *Server) Serve(ln net.Listener) error { return s.serve(newSplit(ln, s.wrap)) }

func (s *Server) serve(split *splitListener) error {
	ended := make(chan error, 1)
	go func() {
		err := s.two.Serve(streamListener{split})
		_ = split.Close() // without HTTP/2 there is no serving
		ended <- err
	}()
	err := s.one.Serve(split)
	_ = split.Close()
	if streams := <-ended; errors.Is(err, http.ErrServerClosed) && !errors.Is(streams, net.ErrClosed) {
		err = streams
	}
	return err
}

// Shutdown lets the requests in progress end.
func (s *Server) Shutdown(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- s.two.Shutdown(ctx) }()
	return errors.Join(s.one.Shutdown(ctx), <-ended)
}

// Close breaks the requests in progress off.
func (s *Server) Close() error { return errors.Join(s.one.Close(), s.two.Close()) }

// splitListener gives HTTP/1 connections to one server and HTTP/2 connections to another.
type splitListener struct {
	net.Listener
	wrap   func(net.Conn) net.Conn
	two    chan net.Conn
	frames frames
	once   sync.Once
	closed chan struct{}
}

func newSplit(ln net.Listener, wrap func(net.Conn) net.Conn) *splitListener {
	l := &splitListener{Listener: ln, wrap: wrap, two: make(chan net.Conn), closed: make(chan struct{})}
	l.frames.open.most, l.frames.open.each = streamsOfAll, streamsOfClient
	l.frames.rate = tokenbucket.Rate{PerSecond: framesPerSecond, Burst: framesAtOnce}
	return l
}

// Accept waits for a connection that speaks HTTP/1.
func (l *splitListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		secure, ok := below[connectionStater](c)
		if !ok {
			return l.wrap(c), nil
		}
		state := secure.ConnectionState()
		if state.NegotiatedProtocol != "h2" {
			return l.wrap(c), nil
		}
		l.hand(c, &state)
	}
}

// hand gives a connection to the server of HTTP/2.
func (l *splitListener) hand(c net.Conn, state *tls.ConnectionState) {
	made := &frameConn{Conn: c, state: state, frames: &l.frames, skip: prefaceSize}
	if g := guardedOf(c); g != nil {
		made.client = g.ip
	}
	select {
	case l.two <- made:
	case <-l.closed:
		_ = c.Close()
	}
}

// Close ends the listener for both.
func (l *splitListener) Close() (err error) {
	l.once.Do(func() {
		close(l.closed)
		err = l.Listener.Close()
	})
	return err
}

// streamListener is the part of a splitListener that speaks HTTP/2.
type streamListener struct{ *splitListener }

// Accept waits for a connection that speaks HTTP/2.
func (l streamListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.two:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
