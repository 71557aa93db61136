package web

import (
	"crypto/tls"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// framesPerSecond is how many HTTP/2 frames one client may send beside those that belong to
// requests of an account. Opening a stream and resetting it at once costs a client sixty
// bytes and the server thirty microseconds, before anybody knows who asks; so do other
// frames that nobody needs. Beyond the rate they are read no faster than it.
const (
	framesPerSecond = 1000
	framesAtOnce    = 4000
)

// framesOfRequest is what a request of an account gives back: its own frames, a few
// settings, pings and window updates.
const framesOfRequest = 16

// A DATA frame below smallData counts as any frame does, and one below mediumData as a part of
// one: who uploads sends larger ones, except for the last of a body or small files. Their
// padding is a part of them, at most 256 bytes.
const (
	smallData   = 256
	mediumData  = 1 << 10
	mediumFrame = 0.25
)

// maxFrameWait is how long a read waits at a time, so that a closed connection is noticed
// and what requests give back is too.
const maxFrameWait = 50 * time.Millisecond

// frames are the buckets of a listener's clients, and their requests in progress.
type frames struct {
	open    headcount
	rate    tokenbucket.Rate
	buckets tokenbucket.Set[netip.Addr]
}

// frameConn is an HTTP/2 connection, decrypted, whose frames are counted.
type frameConn struct {
	net.Conn
	state  *tls.ConnectionState
	frames *frames
	client netip.Addr
	ended  atomic.Bool

	skip   int     // bytes up to the next frame's header
	header [9]byte // of the next frame
	have   int     // of it
}

// prefaceSize is what a client sends before its first frame.
const prefaceSize = len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")

// Read waits while the client has sent more than its rate.
func (c *frameConn) Read(b []byte) (int, error) {
	for wait := c.spend(0); wait > 0; wait = c.spend(0) {
		if c.ended.Load() {
			return 0, net.ErrClosed
		}
		time.Sleep(min(wait, maxFrameWait))
	}
	n, err := c.Conn.Read(b)
	if counted := c.count(b[:n]); counted > 0 {
		c.spend(counted)
	}
	return n, err
}

// spend takes frames from the client's bucket. A trusted proxy speaks for many clients,
// and has none.
func (c *frameConn) spend(n float64) time.Duration {
	if !c.client.IsValid() {
		return 0
	}
	return c.frames.buckets.Spend(c.client, n, c.frames.rate)
}

// count counts the frames whose header ends within b.
func (c *frameConn) count(b []byte) (n float64) {
	for len(b) > 0 {
		if c.skip > 0 {
			step := min(c.skip, len(b))
			c.skip -= step
			b = b[step:]
			continue
		}
		step := copy(c.header[c.have:], b)
		c.have += step
		b = b[step:]
		if c.have == len(c.header) {
			c.have = 0
			n += c.frame()
		}
	}
	return n
}

// frame is what a frame counts for.
func (c *frameConn) frame() float64 {
	const data = 0 // the type of frames with a body's bytes
	c.skip = int(binary.BigEndian.Uint32(c.header[:4]) >> 8)
	switch {
	case c.header[3] != data || c.skip < smallData:
		return 1
	case c.skip < mediumData:
		return mediumFrame
	}
	return 0
}

// Close also ends a read that waits.
func (c *frameConn) Close() error {
	c.ended.Store(true)
	return c.Conn.Close()
}

// NetConn is the connection below, for those who need the system's own.
func (c *frameConn) NetConn() net.Conn { return c.Conn }

// Welcome tells that a request is within the limits of an account, which pays for it. On
// HTTP/2 it gives the request's frames back.
func Welcome(req *http.Request) {
	if req.ProtoMajor < 2 {
		return
	}
	if c, ok := req.Context().Value(frameKey{}).(*frameConn); ok && c.client.IsValid() {
		c.frames.buckets.Give(c.client, framesOfRequest, c.frames.rate)
	}
}

type frameKey struct{}
