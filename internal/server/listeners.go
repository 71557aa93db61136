package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// listen binds an address. What goes wrong with its connections is counted and logged.
func (s *Server) listen(name, addr, flag string, slots *web.Slots) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, &nodegate.Error{
			Op: "server.listen", Code: nodegate.BadConfig, Err: err,
			Msg: "can't listen on " + addr + ": is the port taken? Another one is set with " + flag,
		}
	}
	state := s.listeners.add(name)
	s.metrics.Listening(name)
	return web.Limit(ln, web.Bounds{
		PerIP: s.cfg.Limits.ConnsPerIP, Trusted: s.trustedProxies(), Slots: slots,
		Failing: func(err error) {
			s.metrics.AcceptFailed(name)
			if state.fails(err) {
				s.log.Error("can't accept connections; retrying until it works again", "listener", name, "err", err,
					"help", "if too many files are open, raise the limit (ulimit -n, or LimitNOFILE of a service)")
			}
		},
		Refused: func(over string) {
			s.metrics.ConnRefused(name, over)
			if over == overTotal && state.full() {
				s.log.Warn("refusing connections: too many are open", "listener", name, "limit", slots.Limit(),
					"help", "the limit follows the number of files that the process may open (ulimit -n, or LimitNOFILE of a service)")
			}
		},
	}), nil
}

// overTotal is what web.Limit calls the bound of all listeners together.
const overTotal = "total"

// listener is a server of either kind.
type listener interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// serve runs a listener to its end. One that ends by itself makes the server not ready.
func (s *Server) serve(name string, srv listener, ln net.Listener) {
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		err = fmt.Errorf("listener %s: %w", ln.Addr(), err)
		s.listeners.ended(name, err)
		s.failed <- err
	}
}

// listeners is how the listeners are.
type listeners struct {
	mu   sync.Mutex
	list []*listenerState
}

// listenerState is how one listener is.
type listenerState struct {
	name string

	mu     sync.Mutex
	last   time.Time // accepting failed
	err    error     // of that
	logged [2]time.Time
	ended  error
}

const (
	// failingTime is how long after a failure a listener counts as failing. It is longer
	// than the pause between two tries.
	failingTime = 2 * time.Second
	// logEvery is how often the same trouble is logged.
	logEvery = 10 * time.Second
)

func (l *listeners) add(name string) *listenerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &listenerState{name: name}
	l.list = append(l.list, s)
	return s
}

func (l *listeners) all() []*listenerState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

// ended notes that a listener has stopped by itself.
func (l *listeners) ended(name string, err error) {
	for _, s := range l.all() {
		if s.name == name {
			s.mu.Lock()
			s.ended = err
			s.mu.Unlock()
		}
	}
}

// ready is an error while some listener takes no connections.
func (l *listeners) ready() error {
	var errs []error
	for _, s := range l.all() {
		errs = append(errs, s.ready())
	}
	return errors.Join(errs...)
}

func (s *listenerState) ready() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended != nil:
		return fmt.Errorf("the %s listener has ended: %w", s.name, s.ended)
	case s.err != nil && time.Since(s.last) < failingTime:
		return fmt.Errorf("the %s listener can't accept connections: %w", s.name, s.err)
	}
	return nil
}

// fails notes a failure and reports whether to log it.
func (s *listenerState) fails(err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last, s.err = time.Now(), err
	return due(&s.logged[0])
}

// full reports whether to log that connections are refused.
func (s *listenerState) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return due(&s.logged[1])
}

// due reports whether something was last done long enough ago, and notes that it is
// done now.
func due(last *time.Time) bool {
	if time.Since(*last) < logEvery {
		return false
	}
	*last = time.Now()
	return true
}
