package pool

import "sync/atomic"

// budget bounds what is asked of nodes beyond the calls of clients: each call earns
// a part of one extra request. It counts in those parts.
type budget struct {
	parts atomic.Int64
	price int64 // parts of one extra request
	most  int64 // parts that can be saved up
	floor int64 // parts that come back by themselves, on networks with few calls
	calls atomic.Int64
}

// The budgets. A fifth more for retries, with three at any time; a twentieth for
// second requests that are sent because the first takes long; a tenth for second
// opinions on a null.
func (r *reader) fillBudgets() {
	r.retries.fill(5, 200, 3)
	r.hedges.fill(20, 10, 0)
	r.opinions.fill(10, 50, 3)
}

func (b *budget) fill(price, most, floor int64) {
	b.price, b.most, b.floor = price, most*price, floor*price
	b.parts.Store(b.floor)
}

// earn counts one call of a client.
func (b *budget) earn() {
	b.calls.Add(1)
	if b.parts.Load() < b.most {
		b.parts.Add(1)
	}
}

// spend takes one extra request, if there is one.
func (b *budget) spend() bool {
	for {
		have := b.parts.Load()
		if have < b.price {
			return false
		}
		if b.parts.CompareAndSwap(have, have-b.price) {
			return true
		}
	}
}

// recover gives back one extra request, up to the floor, when there were too few calls
// since the last time to earn one.
func (b *budget) recover() {
	if have := b.parts.Load(); b.calls.Swap(0) < b.price && have < b.floor {
		b.parts.CompareAndSwap(have, min(have+b.price, b.floor))
	}
}
