package fastpath

import (
	"net"
	"sync"
	"testing"
)

// pipeListener connects without sockets. Each write is then read as it was
// written, so a test decides where a request is cut; and time can be faked.
type pipeListener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPipeListener() *pipeListener {
	return &pipeListener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// startPipes serves on pipes; open opens one.
func startPipes(t *testing.T) (s *site, open func(*testing.T) *client) {
	t.Helper()
	ln := newPipeListener()
	s = newSite(ln)
	t.Cleanup(func() { s.end(t) })
	return s, ln.open
}

func (l *pipeListener) open(t *testing.T) *client {
	t.Helper()
	near, far := net.Pipe()
	l.conns <- far
	return newClient(t, near)
}
