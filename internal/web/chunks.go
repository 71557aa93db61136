package web

import (
	"net"
	"net/netip"
	"time"

	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// How many bytes of framing one client may send in bodies of chunks, beside an eighth of their
// content. Reading a chunk takes as long as copying kilobytes, so a body of 4 MB in chunks of
// one byte would keep a core busy for most of a second. Libraries send chunks of kilobytes; a
// program that sends every small value by itself stays within this, too. Beyond the rate bodies
// are read no faster than it.
const (
	framingPerSecond = 256 << 10
	framingAtOnce    = 1 << 20
	framingShare     = 8
)

// framing are the buckets of a listener's clients.
type framing struct {
	rate    tokenbucket.Rate
	buckets tokenbucket.Set[netip.Addr]
}

// chunkedBody is a body of HTTP/1 chunks whose framing is counted.
type chunkedBody struct {
	*watchedBody
	conn    *requestConn
	from    int64 // what the connection had received when the body began
	content int64
	counted int64 // framing that was spent
}

// Read waits while the client has sent more framing than its rate.
func (b *chunkedBody) Read(p []byte) (int, error) {
	g := b.conn.guarded
	for wait := g.spendFraming(0); wait > 0; wait = g.spendFraming(0) {
		if g.ended.Load() {
			return 0, net.ErrClosed
		}
		time.Sleep(min(wait, maxFrameWait))
	}
	n, err := b.watchedBody.Read(p)
	b.content += int64(n)
	// net/http has read ahead as much as its buffer holds, at most.
	extra := b.conn.received.Load() - b.from - headBuffer - b.content - b.content/framingShare
	if extra > b.counted {
		g.spendFraming(extra - b.counted)
		b.counted = extra
	}
	return n, err
}

// spendFraming takes bytes from the client's bucket. A trusted proxy speaks for many clients,
// and has none.
func (c *guardedConn) spendFraming(n int64) time.Duration {
	if c == nil || c.framing == nil || !c.ip.IsValid() {
		return 0
	}
	return c.framing.buckets.Spend(c.ip, float64(n), c.framing.rate)
}
