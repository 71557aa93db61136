package background

import "time"

// restEvery is how long work of low priority runs without a rest. A request wakes up about
// five threads in a row, and each may wait that long. The rests take some 6 % of the work's
// time.
const restEvery = 150 * time.Microsecond

// Rests are those of one thread of low priority.
//
// A thread that wakes up gets the core of one with low priority at once, but not always: the
// kernel holds what it ran too long before against it, and then looks again only at its next
// tick, up to 4 ms later. Where the other one sleeps for a moment, it looks then.
type Rests struct{ last time.Time }

// Now rests, if the last one is long enough ago. It is for work that runs in pieces of some
// microseconds.
func (r *Rests) Now() {
	if Cores() == 1 { // no thread has low priority there
		return
	}
	now := time.Now()
	if now.Sub(r.last) < restEvery {
		return
	}
	if !r.last.IsZero() {
		rest()
		now = time.Now()
	}
	r.last = now
}
