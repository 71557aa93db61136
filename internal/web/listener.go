package web

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// writeGrace is how long one piece of an answer may take to leave. A peer that
// reads nothing is closed then.
const (
	writeGrace = 5 * time.Second // twice at most: what both systems buffered looks like progress once
	writePiece = 256 << 10
	renewEvery = time.Second

	// minProgress is what a peer reads at the slowest rate we put up with.
	minProgress = minRate * int(writeGrace/time.Second)
)

// Limit wraps a listener: at most perIP connections from one address, and no
// write that a peer can hold up for ever.
func Limit(ln net.Listener, perIP int) net.Listener {
	return &limitedListener{Listener: ln, perIP: perIP, open: map[netip.Addr]int{}}
}

type limitedListener struct {
	net.Listener
	perIP int

	mu   sync.Mutex
	open map[netip.Addr]int
}

// Accept waits for a connection that is within its address's limit; others are
// closed at once, before a byte of them is read.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		ip := addrOf(c)
		if l.enter(ip) {
			return &guardedConn{Conn: c, leave: func() { l.leave(ip) }}, nil
		}
		_ = c.Close()
	}
}

func addrOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

func (l *limitedListener) enter(ip netip.Addr) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[ip] >= l.perIP {
		return false
	}
	l.open[ip]++
	return true
}

func (l *limitedListener) leave(ip netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[ip]--; l.open[ip] <= 0 {
		delete(l.open, ip)
	}
}

// guardedConn gives every write a deadline. Setting one costs more than a small
// write, so it is renewed at most once a second.
type guardedConn struct {
	net.Conn
	leave   func()
	once    sync.Once
	renewed atomic.Int64 // when the write deadline was last set, in Unix nanoseconds

	written int64 // by the one writer a connection has
	taken   int64 // of them by the peer, when it was last looked at
}

// SetDeadline is also how the HTTP server clears deadlines when it gives the
// connection away; the next write sets its own again.
func (c *guardedConn) SetDeadline(t time.Time) error {
	c.renewed.Store(0)
	return c.Conn.SetDeadline(t)
}

// Write sends b in pieces. A peer that is slow but reads on is given more time.
func (c *guardedConn) Write(b []byte) (written int, err error) {
	for {
		c.renew()
		n, err := c.Conn.Write(b[:min(len(b), writePiece)])
		written += n
		c.written += int64(n)
		b = b[n:]
		if errors.Is(err, os.ErrDeadlineExceeded) && c.moved() {
			c.renewed.Store(0)
			continue
		}
		if err != nil || len(b) == 0 {
			return written, err
		}
	}
}

// moved reports whether the peer took enough since the last look. Bytes that wait
// in our own system's buffer don't count: it grows while nobody reads.
func (c *guardedConn) moved() bool {
	waiting, _ := unsent(c.Conn)
	before := c.taken
	c.taken = c.written - int64(waiting)
	return c.taken-before >= int64(minProgress)
}

func (c *guardedConn) renew() {
	now := time.Now()
	last := c.renewed.Load()
	if now.UnixNano()-last > int64(renewEvery) && c.renewed.CompareAndSwap(last, now.UnixNano()) {
		_ = c.Conn.SetWriteDeadline(now.Add(writeGrace + renewEvery))
	}
}

func (c *guardedConn) Close() error {
	c.once.Do(c.leave)
	return c.Conn.Close()
}

// NetConn is the connection below, for those who need the system's own.
func (c *guardedConn) NetConn() net.Conn { return c.Conn }
