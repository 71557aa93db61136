package web

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// Closing a connection whose peer is still sending resets it, and the peer's system
// may then throw away an answer that it has already received. So the server's half is
// closed first, and what still comes is read for a while. The bounds are close to those
// of nginx's lingering_close; beyond them connections are closed at once.
const (
	lingerTime    = 30 * time.Second
	lingerSilence = 5 * time.Second
	lingerBytes   = 64 << 20
	lingerBuffer  = 8 << 10
	mostLingering = 256 // of one listener
	lingeringOfIP = 32
)

// lingers counts the connections that are read only to be closed.
type lingers struct {
	mu   sync.Mutex
	all  int
	from map[netip.Addr]int
}

// enter counts one, unless there are too many of the client or of all. The zero Addr is
// a trusted proxy, which may use all.
func (l *lingers) enter(ip netip.Addr) bool {
	if l == nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.all >= mostLingering || ip.IsValid() && l.from[ip] >= lingeringOfIP {
		return false
	}
	if l.from == nil {
		l.from = map[netip.Addr]int{}
	}
	l.all++
	l.from[ip]++
	return true
}

func (l *lingers) leave(ip netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.from[ip]--; l.from[ip] <= 0 {
		delete(l.from, ip)
	}
}

// linger ends our half of the connection, reads until the peer ends its own, and closes.
func (c *guardedConn) linger() {
	defer func() {
		_ = c.Conn.Close()
		c.lingers.leave(c.ip)
		c.once.Do(c.leave)
	}()
	if half, ok := c.Conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	c.reading.Lock() // once nobody else waits for bytes
	defer c.reading.Unlock()
	drain(c.Conn)
}

// drain reads what still comes. A peer that sends less than minRate has had time to read
// its answer, and is not waited for.
func drain(c net.Conn) {
	buf := make([]byte, lingerBuffer)
	end := time.Now().Add(lingerTime)
	for total := 0; total < lingerBytes && time.Now().Before(end); {
		came, more := drainFor(c, buf, lingerSilence, lingerBytes-total)
		if total += came; !more || came < minRate*int(lingerSilence/time.Second) {
			return
		}
	}
}

// drainFor reads for a time, or until so many bytes came. more is false when nothing
// further can.
func drainFor(c net.Conn, buf []byte, during time.Duration, most int) (came int, more bool) {
	if c.SetReadDeadline(time.Now().Add(during)) != nil {
		return 0, false
	}
	for came < most {
		n, err := c.Read(buf)
		came += n
		if err != nil {
			return came, errors.Is(err, os.ErrDeadlineExceeded)
		}
	}
	return came, true
}
