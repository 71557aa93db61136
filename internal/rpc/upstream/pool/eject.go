package pool

import (
	"sync"
	"sync/atomic"
	"time"
)

// The rules of putting a node aside.
const (
	failuresInARow = 5
	firstWindow    = 30 * time.Second
	longestWindow  = 5 * time.Minute
)

// breaker counts a node's failures in a row and puts it aside for a window of time,
// a longer one each time it fails soon again.
type breaker struct {
	failures atomic.Int32
	until    atomic.Int64 // the end of the window, in Unix nanoseconds; 0: not put aside
	ejected  atomic.Int64 // how often
	lied     atomic.Bool  // it is put aside for a false answer

	mu       sync.Mutex
	window   time.Duration
	returned time.Time
}

// open tells whether the node is put aside: until a probe has readmitted it, also
// after the window's end.
func (b *breaker) open() bool { return b.until.Load() != 0 }

// left is how much of the window is left.
func (b *breaker) left(now time.Time) time.Duration {
	if until := b.until.Load(); until != 0 {
		return max(time.Unix(0, until).Sub(now), 0)
	}
	return 0
}

// good counts a success.
func (b *breaker) good() {
	if b.failures.Load() != 0 {
		b.failures.Store(0)
	}
}

// bad counts a failure.
func (b *breaker) bad() { b.failures.Add(1) }

// eject puts the node aside. A node that comes back and stays well as long as it was
// away starts over.
func (b *breaker) eject(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.window == 0 || !b.returned.IsZero() && now.Sub(b.returned) > b.window:
		b.window = firstWindow
	default:
		b.window = min(2*b.window, longestWindow)
	}
	b.returned = time.Time{}
	b.until.Store(now.Add(b.window).UnixNano())
	b.ejected.Add(1)
	return b.window
}

// stay is eject for a node whose probe failed: a longer window. One that was looked
// at before its window's end has the window it had.
func (b *breaker) stay(now time.Time) {
	if b.left(now) > 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window = min(max(2*b.window, firstWindow), longestWindow)
	b.until.Store(now.Add(b.window).UnixNano())
}

// readmit ends the ejection.
func (b *breaker) readmit(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures.Store(0)
	b.until.Store(0)
	b.lied.Store(false)
	b.returned = now
}

// failed counts a failure of a call and puts the node aside when it is one too many.
func (ns *nodeSet) failed(n *node, err error) {
	n.noteFailure(err)
	n.breaker.bad()
	ns.tooMany(n, err)
}

// tooMany puts a node aside whose calls and looks have failed too often in a row.
func (ns *nodeSet) tooMany(n *node, err error) {
	if n.breaker.failures.Load()+n.Silent.Load() >= failuresInARow && !n.breaker.open() {
		ns.eject(n, err)
	}
}

// eject puts a node aside, unless nobody else would be left.
func (ns *nodeSet) eject(n *node, err error) {
	ns.ejecting.Lock()
	defer ns.ejecting.Unlock()
	if n.breaker.open() || !ns.othersThan(n) {
		return
	}
	window := n.breaker.eject(time.Now())
	n.figures.Ejected()
	ns.log.Warn("node ejected after consecutive failures", "node", n.cfg.Name, "for", window, "err", n.clean(err))
}

// othersThan tells whether there is another node that can be asked.
func (ns *nodeSet) othersThan(n *node) bool {
	for _, other := range ns.all() {
		if other != n && other.Checked.Load() && !other.away() {
			return true
		}
	}
	return false
}
