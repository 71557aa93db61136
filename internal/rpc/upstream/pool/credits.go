package pool

import (
	"sync"
	"sync/atomic"
	"time"
)

// credits is what a node may be used for: a bucket that fills at a rate and holds
// one second's worth. It also keeps until when the node itself asked to be left alone.
type credits struct {
	rate  int64 // a second; 0: no limit
	mu    sync.Mutex
	left  float64
	at    time.Time
	until atomic.Int64 // the node said so; in Unix nanoseconds
}

// wait is how long the node is busy; 0 when it can be asked now. A call that costs
// more than the bucket holds may have a full one.
func (c *credits) wait(cost int64, now time.Time) time.Duration {
	if until := c.until.Load(); until != 0 {
		if d := time.Unix(0, until).Sub(now); d > 0 {
			return d
		}
	}
	if c.rate <= 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refill(now)
	missing := float64(min(cost, c.rate)) - c.left
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing / float64(c.rate) * float64(time.Second))
}

// take uses credits, below zero if need be: who asks has looked at wait, or must ask.
func (c *credits) take(cost int64, now time.Time) {
	if c.rate <= 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refill(now)
	c.left = max(c.left-float64(cost), -float64(c.rate))
}

func (c *credits) refill(now time.Time) {
	full := float64(c.rate)
	if c.at.IsZero() {
		c.left = full
	} else if passed := now.Sub(c.at); passed > 0 {
		c.left = min(full, c.left+full*passed.Seconds())
	}
	c.at = now
}

// spend takes the credits of a call, from all limits that the node has.
func (n *node) spend(cost int64, now time.Time) {
	n.credits.take(cost, now)
	n.quota.take(cost, now)
}

// The bounds of what a node may ask for.
const (
	shortRest = time.Second
	longRest  = time.Minute
)

// rest leaves the node alone for a while.
func (c *credits) rest(d time.Duration, now time.Time) {
	c.until.Store(now.Add(min(max(d, shortRest), longRest)).UnixNano())
}
