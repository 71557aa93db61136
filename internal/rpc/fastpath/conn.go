package fastpath

import (
	"bytes"
	"context"
	"net"
	"net/netip"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
)

// Times of a connection. A body that has begun gets bodyWait to arrive; after that
// net/http's own limits take over.
const (
	firstTime  = 5 * time.Second // a new connection has as long as net/http gives a head
	idleTime   = 2 * time.Minute
	renewEvery = time.Second
	bodyWait   = 2 * time.Second
)

// bufferSize holds most requests whole; larger ones grow it up to a request's bound.
const (
	bufferSize = 4 << 10
	keepBuffer = 16 << 10
	maxPooled  = 256 << 10 // answers' buffers are shared, so that idle connections hold none
)

// Conn is one connection while it is on the short way. Handlers may keep state
// for it in Memo: what they worked out for the last request's address.
type Conn struct {
	Memo any

	// Ended is when a request was executed. Handlers that know it set it, and spare the
	// connection a look at the clock.
	Ended time.Time

	server   *Server
	raw      net.Conn
	buf      []byte // bytes read
	used     int    // of them, those of requests already answered
	pushBack []byte // what the watcher read of the next request
	renewed  time.Time
	answered bool // at least one request
	told     bool // that its last answer was the last
	busy     atomic.Bool
	watch    *watcher
	sent     func() // of the answer that is written
}

// OnSent has done called once, when the answer of the present request was written or
// can't be.
func (c *Conn) OnSent(done func()) { c.sent = done }

func (c *Conn) wasSent() {
	if done := c.sent; done != nil {
		c.sent = nil
		done()
	}
}

// RemoteAddr is the client's address, without its port.
func (c *Conn) RemoteAddr() netip.Addr {
	if tcp, ok := c.raw.RemoteAddr().(*net.TCPAddr); ok {
		return tcp.AddrPort().Addr().Unmap()
	}
	return netip.Addr{}
}

// serve answers requests until the connection ends or is handed over.
func (c *Conn) serve() {
	defer c.survive()
	for {
		var r Request
		v, size, err := c.next(&r)
		if err != nil {
			c.server.end(c)
			return
		}
		if v != plain || !c.answer(&r) {
			c.server.handOver(c, c.unanswered())
			return
		}
		c.used += size
		c.answered = true
		if c.told || c.watch.gone() { // who wasn't told may have sent another request
			c.server.end(c)
			return
		}
	}
}

// survive keeps a panic from ending more than its connection, as net/http does.
func (c *Conn) survive() {
	if p := recover(); p != nil {
		c.server.logf("panic serving %v: %v\n%s", c.raw.RemoteAddr(), p, debug.Stack())
		c.server.end(c)
	}
}

// unanswered is what was read and not answered. Line ends after the body of a
// POST, which old clients send, are left out: net/http would, had it seen the POST.
func (c *Conn) unanswered() []byte {
	read := append(c.buf[c.used:], c.pushBack...)
	for i := 0; c.answered && i < 4 && len(read) > 0 && (read[0] == '\r' || read[0] == '\n'); i++ {
		read = read[1:]
	}
	return read
}

// next reads until there is a whole request or a reason to hand over.
func (c *Conn) next(r *Request) (v verdict, size int, err error) {
	c.compact()
	if len(c.buf) == 0 {
		if err := c.fill(c.idle()); err != nil {
			return notMine, 0, err
		}
	}
	v, size = parse(c.buf, r)
	if v != bodyMore {
		return v, size, nil
	}
	return c.rest(r, size)
}

// rest waits for a body that came in pieces, for a moment only.
func (c *Conn) rest(r *Request, size int) (verdict, int, error) {
	if cap(c.buf) < size {
		c.buf = append(make([]byte, 0, size), c.buf...)
	}
	deadline := time.Now().Add(bodyWait)
	c.renewed = time.Time{}
	for len(c.buf) < size {
		if err := c.fill(deadline); err != nil {
			return notMine, 0, timeoutIsNil(err)
		}
	}
	v, size := parse(c.buf, r)
	return v, size, nil
}

// timeoutIsNil hands a slow body over instead of ending the connection.
func timeoutIsNil(err error) error {
	if ne, ok := err.(net.Error); ok && ne.Timeout() {
		return nil
	}
	return err
}

// compact moves what is left of the buffer to its start.
func (c *Conn) compact() {
	rest := c.buf[c.used:]
	if cap(c.buf) > keepBuffer && len(rest) <= bufferSize {
		c.buf = make([]byte, 0, bufferSize)
	}
	c.buf = append(append(c.buf[:0], rest...), c.pushBack...)
	c.used, c.pushBack = 0, c.pushBack[:0]
}

// idle returns the deadline of a wait for the next request; zero leaves the one
// that is set, because setting it costs as much as a small read.
func (c *Conn) idle() time.Time {
	now := c.Ended
	if c.Ended = (time.Time{}); now.IsZero() {
		now = time.Now()
	}
	if !c.answered {
		return now.Add(firstTime)
	}
	if now.Sub(c.renewed) < renewEvery {
		return time.Time{}
	}
	c.renewed = now
	return now.Add(idleTime)
}

// fill reads once.
func (c *Conn) fill(deadline time.Time) error {
	if !deadline.IsZero() {
		if err := c.raw.SetReadDeadline(deadline); err != nil {
			return err
		}
	}
	if len(c.buf) == cap(c.buf) {
		c.buf = append(c.buf, 0)[:len(c.buf)]
	}
	if c.server.closing.Load() && len(c.buf) == 0 {
		return net.ErrClosed
	}
	n, err := c.raw.Read(c.buf[len(c.buf):cap(c.buf)])
	c.buf = c.buf[:len(c.buf)+n]
	if n > 0 {
		return nil
	}
	return err
}

// answer has the request answered and writes the answer.
func (c *Conn) answer(r *Request) bool {
	c.busy.Store(true)
	defer c.busy.Store(false)
	defer c.wasSent()
	c.watch = &watcher{conn: c}
	buf := c.server.buffers.Get().(*[]byte)
	defer c.server.buffers.Put(buf)
	out, ok := c.server.handler.ServePlain(watchContext{context.Background(), c.watch}, c, r, (*buf)[:0])
	c.watch.stop()
	if !ok {
		return false
	}
	last := out
	if c.told = c.server.draining.Load(); c.told {
		last = saysClose(out)
	}
	if _, err := c.raw.Write(last); err != nil {
		c.watch.lost.Store(true)
	}
	if cap(out) > cap(*buf) && cap(out) <= maxPooled { // else it is a part of the one we gave
		*buf = out[:0]
	}
	return true
}

// saysClose adds to an answer that it is the connection's last: a client that is
// not told may send another request and lose it.
func saysClose(out []byte) []byte {
	line := bytes.Index(out, lineEnd) + len(lineEnd)
	return slices.Concat(out[:line], []byte("Connection: close\r\n"), out[line:])
}
