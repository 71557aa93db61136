package pool

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/logrange"
)

// How long a node's limit of blocks is remembered: a number that the node stated, and one that
// was found by halving. Then a wider query is tried again: the node may have been
// configured otherwise, have another plan, or not be overloaded any more.
const (
	statedFor  = time.Hour
	guessedFor = 10 * time.Minute
)

// logCap is how many blocks a node allows in one log query, as far as it has said so.
type logCap struct{ learned atomic.Pointer[learnedCap] }

type learnedCap struct {
	width uint64
	until time.Time
}

// width is the widest range that is known to be allowed; the largest number if there is no
// known limit.
func (c *logCap) width(now time.Time) uint64 {
	if l := c.learned.Load(); l != nil && now.Before(l.until) {
		return l.width
	}
	return math.MaxUint64
}

// learn remembers that a query was refused, of so many blocks; 0 if they aren't known. The
// number that the node states counts if it explains the refusal, and half of what was
// asked otherwise.
func (c *logCap) learn(asked, stated uint64, now time.Time) {
	next := learnedCap{stated, now.Add(statedFor)}
	if asked > 0 && (stated == 0 || stated >= asked) {
		next = learnedCap{max(asked/2, 1), now.Add(guessedFor)}
	}
	if next.width > 0 && next.width <= c.width(now) { // a wider query may be refused later than a narrower one
		c.learned.Store(&next)
	}
}

// forget starts over, after the node was away.
func (c *logCap) forget() { c.learned.Store(nil) }

// logWidth is how many blocks the node allows in one log query.
func (n *node) logWidth(now time.Time) uint64 {
	width := n.logs.width(now)
	if set := n.cfg.MaxLogRange; set > 0 {
		width = min(width, set)
	}
	return width
}

// allows tells whether a query is not wider than the node is known to allow.
func (n *node) allows(q *query) bool {
	return !q.ranged || q.span.Width() <= n.logWidth(time.Now())
}

// logWidth is how many blocks a log query can have that one node answers at once: the most
// that the best of the nodes allow, or if that takes too many parts, the most that any
// allows. Nodes that allow more than a number, lack the blocks or are busy don't count. It is 0
// if none is left.
func (ns *nodeSet) logWidth(q *query, most uint64) uint64 {
	bare, now := *q, time.Now()
	bare.ranged = false
	level, best, widest := againstLacking, uint64(0), uint64(0)
	for _, n := range ns.all() {
		against, width := ns.against(n, &bare), n.logWidth(now)
		if against >= againstLacking || width > most || n.busy(q.cost, now) > 0 {
			continue
		}
		if against < level {
			level, best = against, 0
		}
		if widest = max(widest, width); against == level {
			best = max(best, width)
		}
	}
	if best > 0 && q.span.Parts(best) <= maxParts {
		return best
	}
	return widest
}

// capped judges an error that a narrower query would not get, and remembers what the node
// said about its limit of blocks. A query that has such words itself may have put them there.
func (n *node) capped(q *query, r *nodeError) bool {
	if q.class != logs {
		return false
	}
	c := logrange.Classify(r.Message)
	if c.Kind == logrange.None || logrange.Worded(r.request()) {
		return false
	}
	if c.Kind == logrange.Blocks {
		asked := uint64(0)
		if q.ranged {
			asked = q.span.Width()
		}
		n.logs.learn(asked, c.Blocks, time.Now())
	}
	return true
}
