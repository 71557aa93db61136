package web

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/nodegate/nodegate/internal/tokenbucket"
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

// drainRate is how many bytes of one client are read only to be thrown away. A client that
// sends megabytes to have them refused would keep a core busy with that; beyond the rate its
// own system holds it up.
var drainRate = tokenbucket.Rate{PerSecond: 64 << 20, Burst: lingerBytes}

// The shortest and the longest pause between two reads. Many short ones would take longer than
// they say.
const (
	shortestDrainPause = 10 * time.Millisecond
	longestDrainPause  = 100 * time.Millisecond
)

// lingers are the connections of a listener that are read only to be closed.
type lingers struct {
	headcount
	drained tokenbucket.Set[netip.Addr]
}

// pace waits until a client may send more.
func (l *lingers) pace(ip netip.Addr, came int) {
	if wait := l.drained.Spend(ip, float64(came), drainRate); wait >= shortestDrainPause {
		time.Sleep(min(wait, longestDrainPause))
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
	drain(c.Conn, func(came int) { c.lingers.pace(c.ip, came) })
}

// drain reads what still comes. A peer that sends less than minRate has had time to read
// its answer, and is not waited for.
func drain(c net.Conn, pace func(came int)) {
	buf := make([]byte, lingerBuffer)
	end := time.Now().Add(lingerTime)
	for total := 0; total < lingerBytes && time.Now().Before(end); {
		came, more := drainFor(c, buf, lingerSilence, lingerBytes-total, pace)
		if total += came; !more || came < minRate*int(lingerSilence/time.Second) {
			return
		}
	}
}

// drainFor reads for a time, or until so many bytes came. more is false when nothing
// further can.
func drainFor(c net.Conn, buf []byte, during time.Duration, most int, pace func(came int)) (came int, more bool) {
	if c.SetReadDeadline(time.Now().Add(during)) != nil {
		return 0, false
	}
	for came < most {
		n, err := c.Read(buf)
		came += n
		if err != nil {
			return came, errors.Is(err, os.ErrDeadlineExceeded)
		}
		pace(n)
	}
	return came, true
}
