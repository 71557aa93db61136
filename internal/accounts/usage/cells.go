package usage

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/index"
)

// idleRounds is how many flushes a cell is kept without an event.
const idleRounds = 24

// cells count the events of the current minute.
type cells struct {
	seed  maphash.Seed
	rows  *rows
	index index.Index[nodegate.UsageKey, cell]
	count atomic.Int64
	max   int64
	full  chan struct{} // asks for a flush when there are too many cells

	budgets budgets

	mu    sync.Mutex
	names map[string]string // of networks, methods and outcomes, each once in memory
}

// entry is a cell and what it is for.
type entry = index.Entry[nodegate.UsageKey, cell]

type cell struct {
	mu   sync.Mutex
	gone bool  // no longer in the index
	idle int32 // rounds
	sums
}

// sums are what happened in one minute, since the last flush.
type sums struct {
	minute                               int64
	requests, credits, bytesIn, bytesOut int64
	latency                              nodegate.Histogram
}

func newCells(r *rows, limit int) *cells {
	seed := maphash.MakeSeed()
	return &cells{
		seed: seed, rows: r, max: int64(limit), full: make(chan struct{}, 1), names: map[string]string{}, budgets: budgets{seed: seed},
	}
}

// hash leaves out the account, which the key stands for where there is one.
func (c *cells) hash(k *nodegate.UsageKey) uint64 {
	const odd = 0x9e3779b97f4a7c15
	owner := k.KeyID
	if owner == "" {
		owner = k.AccountID
	}
	h := maphash.String(c.seed, owner)
	h = h*odd ^ maphash.String(c.seed, k.Method)
	h = h*odd ^ maphash.String(c.seed, k.Network)
	return h*odd ^ maphash.String(c.seed, k.Outcome)
}

// add counts an event of a minute. It leaves in k what the event is counted under.
func (c *cells) add(k *nodegate.UsageKey, e *Event, minute int64) {
	at := c.lock(k, minute)
	of := &at.Value
	defer of.mu.Unlock()
	if of.minute != minute {
		c.empty(at)
		of.minute = minute
	}
	of.requests += max(e.Requests, 1)
	if e.Took > 0 {
		of.latency[nodegate.Bucket(e.Took)]++
	}
	of.credits += e.Credits
	of.bytesIn += e.BytesIn
	of.bytesOut += e.BytesOut
}

// lock finds or makes a cell and locks it. A cell without events in this minute yet needs a
// place in its account's budget; one that gets none loses detail, and another cell counts.
func (c *cells) lock(k *nodegate.UsageKey, minute int64) *entry {
	for {
		hash := c.hash(k)
		if at := c.index.Find(hash, *k); at != nil {
			at.Value.mu.Lock()
			if at.Value.minute == minute && !at.Value.gone {
				return at
			}
			at.Value.mu.Unlock()
		}
		if c.budgets.admit(k, hash, minute) {
			return c.lockAdmitted(hash, k)
		}
		coarsen(k)
	}
}

// coarsen takes the next detail from what is beyond the budget.
func coarsen(k *nodegate.UsageKey) {
	if k.Method != other {
		k.Method = other
	} else {
		k.KeyID = ""
	}
}

func (c *cells) lockAdmitted(hash uint64, k *nodegate.UsageKey) *entry {
	for {
		at := c.index.Find(hash, *k)
		if at == nil {
			at = c.make(hash, k)
		}
		at.Value.mu.Lock()
		if !at.Value.gone {
			return at
		}
		at.Value.mu.Unlock() // dropped between the look-up and the lock
	}
}

func (c *cells) make(hash uint64, k *nodegate.UsageKey) *entry {
	return c.index.Add(hash, *k, func(at *entry) {
		at.Key.Network, at.Key.Method, at.Key.Outcome = c.name(k.Network), c.name(k.Method), c.name(k.Outcome)
		if c.count.Add(1) > c.max {
			select {
			case c.full <- struct{}{}:
			default:
			}
		}
	})
}

// name returns the one copy of a name: it may be a part of a request, which must
// not live on, and names that all cells share stay in the processor's cache.
func (c *cells) name(s string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	known, ok := c.names[s]
	if !ok {
		known = strings.Clone(s)
		c.names[known] = known
	}
	return known
}

// empty moves the sums of a cell, whose lock is held, to the rows.
func (c *cells) empty(at *entry) {
	s := &at.Value.sums
	if s.requests == 0 {
		return
	}
	c.rows.add(&nodegate.Usage{
		UsageKey: at.Key, At: time.Unix(s.minute*60, 0).UTC(),
		Requests: s.requests, Credits: s.credits, BytesIn: s.bytesIn, BytesOut: s.bytesOut, Latency: s.latency,
	})
	*s = sums{minute: s.minute}
}

// collect moves all sums to the rows, and drops cells that have had none for a
// while, or none now when there are too many.
func (c *cells) collect(minute int64) {
	c.budgets.collect(minute)
	rounds := int32(idleRounds)
	if c.count.Load() > c.max {
		rounds = 1
	}
	dropped := c.index.Drop(func(at *entry) bool { return c.stays(at, rounds) })
	c.count.Add(-int64(dropped))
}

// stays empties a cell and tells whether it is in use; it marks it when it is not.
func (c *cells) stays(at *entry, rounds int32) bool {
	of := &at.Value
	of.mu.Lock()
	defer of.mu.Unlock()
	if of.requests > 0 {
		c.empty(at)
		of.idle = 0
		return true
	}
	of.idle++
	of.gone = of.idle >= rounds
	return !of.gone
}
