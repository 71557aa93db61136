package pool

import "sync/atomic"

// budget bounds what is asked of nodes beyond the calls of clients: each call earns
// some percent of one extra request. It counts in hundredths of one.
type budget struct {
	parts atomic.Int64
	share int64 // parts that a call earns
	most  int64 // parts that can be saved up
	floor int64 // parts that come back by themselves, on networks with few calls
	calls atomic.Int64
}

// price is the parts of one extra request.
const price = 100

// opinionPercent is how many more requests there may be for second opinions on a null.
const opinionPercent = 10

// fillBudgets starts each budget with what a quiet server has at any time: three requests, and
// as many as a node takes to be put aside.
func (r *reader) fillBudgets(retry Retry, hedge Hedge) {
	r.retries.fill(retry.Percent, 200, 3)
	r.hedges.fill(hedge.Percent, 10, 3)
	r.opinions.fill(opinionPercent, 50, 3)
	r.firsts.fill(0, failuresInARow, failuresInARow)
}

func (b *budget) fill(percent, most, floor int64) {
	b.share, b.most, b.floor = percent, most*price, floor*price
	b.parts.Store(b.floor)
}

// earn counts one call of a client.
func (b *budget) earn() {
	b.calls.Add(1)
	if b.parts.Load() < b.most {
		b.parts.Add(b.share)
	}
}

// spend takes one extra request, if there is one.
func (b *budget) spend() bool {
	for {
		have := b.parts.Load()
		if have < price {
			return false
		}
		if b.parts.CompareAndSwap(have, have-price) {
			return true
		}
	}
}

// recover gives back one extra request, up to the floor, when there were too few calls
// since the last time to earn one.
func (b *budget) recover() {
	if have := b.parts.Load(); b.calls.Swap(0)*b.share < price && have < b.floor {
		b.parts.CompareAndSwap(have, min(have+price, b.floor))
	}
}
