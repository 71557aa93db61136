package fastpath

import (
	"context"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Handler answers plain requests.
type Handler interface {
	// ServePlain appends a whole HTTP response to out. False hands the request,
	// untouched, to the net/http server.
	ServePlain(ctx context.Context, c *Conn, r *Request, out []byte) ([]byte, bool)
}

// Server accepts connections, serves plain requests itself and gives the rest to
// an http.Server.
type Server struct {
	// Wrap, where it is set before Serve, makes the connection that net/http gets of one
	// that is handed over.
	Wrap func(net.Conn) net.Conn

	handler  Handler
	full     *http.Server
	handed   *handedListener
	draining atomic.Bool // answers say that they are the last
	closing  atomic.Bool // idle connections end
	buffers  sync.Pool   // *[]byte, for answers

	mu    sync.Mutex
	conns map[*Conn]struct{}
	live  sync.WaitGroup
	ln    net.Listener
}

// New builds a server that hands over to full.
func New(h Handler, full *http.Server) *Server {
	s := &Server{handler: h, full: full, conns: map[*Conn]struct{}{}}
	s.buffers.New = func() any { return new([]byte) }
	return s
}

// Serve accepts connections until the listener closes.
func (s *Server) Serve(ln net.Listener) error {
	s.mu.Lock()
	s.ln = ln
	s.handed = newHandedListener(ln.Addr())
	ended := s.draining.Load() // Shutdown may come first: the two run on different goroutines
	s.mu.Unlock()
	if ended {
		_ = ln.Close()
		return http.ErrServerClosed
	}
	failed := make(chan error, 1)
	go func() { failed <- s.full.Serve(s.handed) }()
	for {
		raw, err := ln.Accept()
		if err == nil {
			s.begin(raw)
			continue
		}
		if temporary(err) {
			time.Sleep(5 * time.Millisecond) // out of descriptors: others must end first
			continue
		}
		if s.draining.Load() {
			return <-failed
		}
		return err
	}
}

func temporary(err error) bool {
	var t interface{ Temporary() bool }
	return errors.As(err, &t) && t.Temporary()
}

func (s *Server) begin(raw net.Conn) {
	c := &Conn{server: s, raw: raw, buf: make([]byte, 0, bufferSize), watch: &watcher{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.draining.Load() { // Shutdown may be waiting for live already
		_ = raw.Close()
		return
	}
	s.conns[c] = struct{}{}
	s.live.Add(1)
	go c.serve()
}

func (s *Server) forget(c *Conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
}

// end closes a connection.
func (s *Server) end(c *Conn) {
	s.forget(c)
	_ = c.raw.Close()
	s.live.Done()
}

// handOver gives a connection to net/http, with what was read of it put back. It
// is forgotten first, so that wakeIdle no longer touches its deadline, and stays
// live until net/http answers.
func (s *Server) handOver(c *Conn, read []byte) {
	s.forget(c)
	_ = c.raw.SetReadDeadline(time.Time{})
	handed := net.Conn(&prefixedConn{Conn: c.raw, prefix: append([]byte(nil), read...), taken: s.live.Done})
	if s.Wrap != nil {
		handed = s.Wrap(handed)
	}
	if !s.handed.give(handed) {
		_ = handed.Close()
	}
}

// linger is how long idle connections are kept when the server shuts down. A request
// may be on its way on any of them; it is answered, and its client told to go. To
// close them at once would lose it.
const linger = 300 * time.Millisecond

// Shutdown stops accepting, lets requests in progress finish while ctx lasts and
// closes idle connections; then it does the same to the net/http server.
func (s *Server) Shutdown(ctx context.Context) error {
	s.draining.Store(true)
	s.mu.Lock()
	if s.ln != nil {
		_ = s.ln.Close()
	}
	s.mu.Unlock()
	s.full.SetKeepAlivesEnabled(false) // its answers say so from now on
	done := make(chan struct{})
	go func() { s.live.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	case <-time.After(linger):
	}
	s.closing.Store(true)
	s.wakeIdle()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return s.full.Shutdown(ctx)
		case <-ctx.Done():
			return errors.Join(ctx.Err(), s.full.Shutdown(ctx)) // which may well have nothing to wait for
		case <-tick.C:
			s.wakeIdle() // those that were busy a moment ago
		}
	}
}

// wakeIdle ends the reads of connections that wait for a request.
func (s *Server) wakeIdle() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		if !c.busy.Load() {
			_ = c.raw.SetReadDeadline(time.Unix(1, 0))
		}
	}
}

// Close cuts everything at once.
func (s *Server) Close() error {
	s.draining.Store(true)
	s.closing.Store(true)
	s.mu.Lock()
	if s.ln != nil {
		_ = s.ln.Close()
	}
	for c := range s.conns {
		_ = c.raw.Close()
	}
	s.mu.Unlock()
	return s.full.Close()
}

// logf logs where the net/http server does.
func (s *Server) logf(format string, args ...any) {
	if s.full.ErrorLog != nil {
		s.full.ErrorLog.Printf("plainhttp: "+format, args...)
		return
	}
	log.Printf("plainhttp: "+format, args...)
}
