package fastpath

import (
	"net"
	"sync"
)

// prefixedConn reads what was read before, and then the connection. It tells when
// net/http has begun to answer or has given up: until then a request is in progress
// that net/http would drop if it were told to shut down.
type prefixedConn struct {
	net.Conn
	prefix []byte
	once   sync.Once
	taken  func()
}

func (c *prefixedConn) Write(b []byte) (int, error) {
	c.once.Do(c.taken)
	return c.Conn.Write(b)
}

func (c *prefixedConn) Close() error {
	c.once.Do(c.taken)
	return c.Conn.Close()
}

func (c *prefixedConn) Read(b []byte) (int, error) {
	if len(c.prefix) > 0 {
		n := copy(b, c.prefix)
		if c.prefix = c.prefix[n:]; len(c.prefix) == 0 {
			c.prefix = nil
		}
		return n, nil
	}
	return c.Conn.Read(b)
}

// handedListener is how net/http gets the connections that are not plain.
type handedListener struct {
	addr   net.Addr
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newHandedListener(addr net.Addr) *handedListener {
	return &handedListener{addr: addr, conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (l *handedListener) give(c net.Conn) bool {
	select {
	case l.conns <- c:
		return true
	case <-l.closed:
		return false
	}
}

func (l *handedListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *handedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *handedListener) Addr() net.Addr { return l.addr }

// NetConn is the connection below, for those who need the system's own.
func (c *prefixedConn) NetConn() net.Conn { return c.Conn }
