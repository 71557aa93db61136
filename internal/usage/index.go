package usage

import (
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
)

// index finds cells without a lock: a hash table whose slots are only ever filled.
// Dropping cells or growing makes a new one. The meter finds its keys in the same
// way, and for the same reason: most of the time goes into waiting for memory, and
// without a lock the processor overlaps the waits.
type index struct {
	mu    sync.Mutex // of writers
	count int
	slots atomic.Pointer[[]atomic.Pointer[cell]] // a power of two, at most three quarters full
}

const firstSlots = 8

func (x *index) find(hash uint64, k *nodegate.UsageKey) *cell {
	slots := *x.slots.Load()
	for i := hash; ; i++ {
		c := slots[i&uint64(len(slots)-1)].Load()
		if c == nil || c.sum.UsageKey == *k {
			return c
		}
	}
}

// put adds a cell that is not there yet, under the writers' lock.
func (x *index) put(c *cell) {
	if slots := *x.slots.Load(); (x.count+1)*4 > len(slots)*3 {
		x.rebuild(2 * len(slots))
	}
	fill(*x.slots.Load(), c)
	x.count++
}

// drop leaves out the cells that are gone, so many, under the writers' lock.
func (x *index) drop(gone int) {
	if gone == 0 {
		return
	}
	size := firstSlots
	for (x.count-gone)*4 > size*3 {
		size *= 2
	}
	x.rebuild(size)
}

// rebuild replaces the slots and takes over the cells that stay.
func (x *index) rebuild(size int) {
	slots := make([]atomic.Pointer[cell], size)
	x.count = 0
	for _, c := range x.all() {
		if !c.gone {
			fill(slots, c)
			x.count++
		}
	}
	x.slots.Store(&slots)
}

func fill(slots []atomic.Pointer[cell], c *cell) {
	for i := c.hash; ; i++ {
		if s := &slots[i&uint64(len(slots)-1)]; s.Load() == nil {
			s.Store(c)
			return
		}
	}
}

func (x *index) all() []*cell {
	var list []*cell
	slots := *x.slots.Load()
	for i := range slots {
		if c := slots[i].Load(); c != nil {
			list = append(list, c)
		}
	}
	return list
}
