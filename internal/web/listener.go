package web

import (
	"cmp"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/tokenbucket"
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

// Bounds are what a listener holds its connections to.
type Bounds struct {
	PerIP    int               // most open connections of one client; an IPv6 /64 is one client
	Trusted  []netip.Prefix    // proxies, which connect for many clients: PerIP is not for them
	Slots    *Slots            // shared with other listeners; nil is no bound
	Patience time.Duration     // how long a peer may read nothing; 0 is 5 s
	Refused  func(over string) // a connection was closed because it is over "address" or "total"; nil is nobody
	Failing  func(err error)   // accepting failed and is tried again; nil is nobody
}

// Limit wraps a listener: it keeps the bounds, survives errors that pass, and lets no
// peer hold up a write forever.
func Limit(ln net.Listener, b Bounds) net.Listener {
	if b.Slots != nil {
		b.PerIP = min(b.PerIP, b.Slots.share())
	}
	l := &limitedListener{Listener: ln, bounds: b, open: map[netip.Addr]int{}, closed: make(chan struct{})}
	l.lingers.most, l.lingers.each = mostLingering, lingeringOfIP
	l.framing.rate = tokenbucket.Rate{PerSecond: framingPerSecond, Burst: framingAtOnce}
	return l
}

type limitedListener struct {
	net.Listener
	bounds  Bounds
	lingers lingers
	framing framing

	mu   sync.Mutex
	open map[netip.Addr]int

	once   sync.Once
	closed chan struct{}
}

// Accept waits for a connection that is within its bounds; others are closed at
// once, before a byte of them is read.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		c, err := accept(l.Listener, l.closed, l.bounds.Failing)
		if err != nil {
			return nil, err
		}
		ip := l.clientOf(c)
		over := l.enter(ip)
		if over == "" {
			return &guardedConn{Conn: c, ip: ip, patience: l.bounds.Patience, lingers: &l.lingers, framing: &l.framing, leave: func() { l.leave(ip) }}, nil
		}
		_ = c.Close()
		if l.bounds.Refused != nil {
			l.bounds.Refused(over)
		}
	}
}

// Close ends the listener, also while it waits to try again.
func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

// clientOf is whom a connection counts for; the zero Addr is a trusted proxy.
func (l *limitedListener) clientOf(c net.Conn) netip.Addr {
	ip := addrOf(c)
	if within(l.bounds.Trusted, ip) {
		return netip.Addr{}
	}
	return nodegate.AddrGroup(ip)
}

func addrOf(c net.Conn) netip.Addr {
	if tcp, ok := c.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// enter counts a connection, or says which bound it is over.
func (l *limitedListener) enter(ip netip.Addr) (over string) {
	if !l.bounds.Slots.take() {
		return "total"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if ip.IsValid() && l.open[ip] >= l.bounds.PerIP {
		l.bounds.Slots.free()
		return "address"
	}
	l.open[ip]++
	return ""
}

func (l *limitedListener) leave(ip netip.Addr) {
	l.bounds.Slots.free()
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
	ip       netip.Addr
	leave    func()
	once     sync.Once
	lingers  *lingers // nil closes at once
	framing  *framing // nil doesn't count
	reading  sync.Mutex
	late     atomic.Bool   // the peer may still be sending what nobody reads
	ended    atomic.Bool   // Close was called
	renewed  atomic.Int64  // when the write deadline was last set, in Unix nanoseconds
	patience time.Duration // 0 is writeGrace

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
		_ = c.Conn.SetWriteDeadline(now.Add(cmp.Or(c.patience, writeGrace) + renewEvery))
	}
}

// Close closes the connection. Where the peer may still be sending, the rest is read
// and thrown away first, so that our answer is not lost; nobody waits for that.
func (c *guardedConn) Close() error {
	if c.ended.Swap(true) {
		return net.ErrClosed
	}
	if c.late.Load() && c.lingers != nil && c.lingers.enter(c.ip) {
		_ = c.Conn.SetReadDeadline(time.Unix(1, 0)) // whoever reads stops
		go c.linger()
		return nil
	}
	c.once.Do(c.leave)
	return c.Conn.Close()
}

func (c *guardedConn) Read(b []byte) (int, error) {
	if c.ended.Load() {
		return 0, net.ErrClosed
	}
	c.reading.Lock()
	defer c.reading.Unlock()
	return c.Conn.Read(b)
}

// NetConn is the connection below, for those who need the system's own.
func (c *guardedConn) NetConn() net.Conn { return c.Conn }
