package blockstore

import (
	"sync/atomic"
	"time"
)

// clock gives the stamps of records.
type clock struct {
	now  func() time.Time
	last atomic.Int64 // the highest stamp given
}

// stamp is the time, and never before an earlier stamp: a clock that is set back
// must not make new content look old to a collection.
func (c *clock) stamp() int64 {
	now := c.now().UnixNano()
	for {
		last := c.last.Load()
		if now <= last {
			return last
		}
		if c.last.CompareAndSwap(last, now) {
			return now
		}
	}
}
