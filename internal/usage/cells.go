package usage

import (
	"hash/maphash"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// shards spread the writers' locks.
const shards = 256

// idleRounds is how many flushes a cell is kept without an event.
const idleRounds = 24

// cells count the events of the current minute.
type cells struct {
	seed   maphash.Seed
	rows   *rows
	shards [shards]index
	count  atomic.Int64
	max    int64
	full   chan struct{} // asks for a flush when there are too many cells

	mu    sync.Mutex
	names map[string]string // of networks, methods and outcomes, each once in memory
}

// cell is what happened in one minute, since the last flush.
type cell struct {
	mu     sync.Mutex
	minute int64
	sum    nodegate.Usage
	hash   uint64 // of its UsageKey
	idle   int    // rounds
	gone   bool   // no longer in the index
}

func newCells(r *rows, limit int) *cells {
	c := &cells{
		seed: maphash.MakeSeed(), rows: r, max: int64(limit), full: make(chan struct{}, 1), names: map[string]string{},
	}
	for i := range c.shards {
		c.shards[i].slots.Store(new(make([]atomic.Pointer[cell], firstSlots)))
	}
	return c
}

// hash leaves out the account, which the key stands for.
func (c *cells) hash(k *nodegate.UsageKey) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := maphash.String(c.seed, k.KeyID)
	h = h*odd ^ maphash.String(c.seed, k.Method)
	h = h*odd ^ maphash.String(c.seed, k.Network)
	return h*odd ^ maphash.String(c.seed, k.Outcome)
}

func (c *cells) add(k *nodegate.UsageKey, e *Event, minute int64) {
	of := c.lock(k)
	defer of.mu.Unlock()
	if of.minute != minute {
		c.rows.add(&of.sum)
		of.begin(minute)
	}
	of.sum.Requests++
	of.sum.Credits += e.Credits
	of.sum.BytesIn += e.BytesIn
	of.sum.BytesOut += e.BytesOut
	of.sum.Latency[nodegate.Bucket(e.Took)]++
}

// lock finds or makes a cell and locks it.
func (c *cells) lock(k *nodegate.UsageKey) *cell {
	hash := c.hash(k)
	x := &c.shards[hash>>32%shards] // the lower bits choose the slot within
	for {
		of := x.find(hash, k)
		if of == nil {
			of = c.make(x, hash, k)
		}
		of.mu.Lock()
		if !of.gone {
			return of
		}
		of.mu.Unlock() // dropped between the look-up and the lock
	}
}

func (c *cells) make(x *index, hash uint64, k *nodegate.UsageKey) *cell {
	x.mu.Lock()
	defer x.mu.Unlock()
	if of := x.find(hash, k); of != nil {
		return of
	}
	of := &cell{hash: hash, sum: nodegate.Usage{UsageKey: nodegate.UsageKey{
		AccountID: k.AccountID, KeyID: k.KeyID, Network: c.name(k.Network), Method: c.name(k.Method), Outcome: c.name(k.Outcome),
	}}}
	x.put(of)
	if c.count.Add(1) > c.max {
		select {
		case c.full <- struct{}{}:
		default:
		}
	}
	return of
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

// begin empties the cell for a minute.
func (c *cell) begin(minute int64) {
	c.minute = minute
	u := &c.sum // its key stays untouched: it is read without the lock
	u.At = time.Unix(minute*60, 0).UTC()
	u.Requests, u.Credits, u.BytesIn, u.BytesOut, u.Latency = 0, 0, 0, 0, nodegate.Histogram{}
}

// collect moves all counts to the rows, and drops cells that have had none for a
// while, or none now when there are too many.
func (c *cells) collect() {
	rounds := idleRounds
	if c.count.Load() > c.max {
		rounds = 1
	}
	for i := range c.shards {
		x := &c.shards[i]
		x.mu.Lock()
		dropped := 0
		for _, of := range x.all() {
			if of.collect(c.rows, rounds); of.gone {
				dropped++
			}
		}
		x.drop(dropped)
		c.count.Add(-int64(dropped))
		x.mu.Unlock()
	}
}

func (c *cell) collect(r *rows, rounds int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sum.Requests > 0 {
		r.add(&c.sum)
		c.begin(c.minute)
		c.idle = 0
		return
	}
	c.idle++
	c.gone = c.idle >= rounds
}
