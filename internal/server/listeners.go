package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nodegate/nodegate/internal/web"
)

// listeners binds addresses, serves on them and knows how they are.
type listeners struct {
	*common
	slots  *web.Slots // of the listeners that anybody can reach
	failed chan error // of a listener that stopped by itself

	mu   sync.Mutex
	list []*listenerState
}

// listen binds an address. What goes wrong with its connections is counted and logged.
func (l *listeners) listen(name, addr, flag string, slots *web.Slots) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, cantListen(addr, flag, err)
	}
	state := l.add(name)
	l.metrics.Listening(name)
	patience := time.Duration(0)
	if name == adminName {
		patience = adminPatience
	}
	return web.Limit(ln, web.Bounds{
		Patience: patience,
		PerIP:    l.cfg.Limits.ConnsPerIP, Trusted: l.trustedProxies(), Slots: slots,
		Failing: func(err error) {
			l.metrics.AcceptFailed(name)
			if state.fails(err) {
				l.log.Error("can't accept connections; retrying until it works again", "listener", name, "err", err,
					"help", "if too many files are open, raise the limit (ulimit -n, or LimitNOFILE of a service)")
			}
		},
		Refused: func(over string) {
			l.metrics.ConnRefused(name, over)
			if over == overTotal && state.full() {
				l.log.Warn("refusing connections: too many are open", "listener", name, "limit", slots.Limit(),
					"help", "the limit follows the number of files that the process may open (ulimit -n, or LimitNOFILE of a service)")
			}
		},
	}), nil
}

// The listeners' time limits. A header gets 5 s; a body 12 s, and more while it
// keeps coming (see web.ReadBody); an idle connection two minutes.
const (
	headerTime     = 5 * time.Second
	bodyTime       = 12 * time.Second
	idleTime       = 2 * time.Minute
	maxHeaderBytes = 12 << 10 // net/http allows 4 KiB more: 16 in all
)

func (l *listeners) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(l.log.Handler(), slog.LevelDebug),
	}
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
func (l *listeners) serve(name string, srv listener, ln net.Listener) {
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		err = fmt.Errorf("listener %s: %w", ln.Addr(), err)
		l.ended(name, err)
		l.failed <- err
	}
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
