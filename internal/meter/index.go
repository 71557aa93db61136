package meter

import (
	"sync"
	"sync/atomic"
)

// index finds keys by their id without a lock: a hash table whose slots are only
// ever filled. Dropping keys or growing makes a new one. A Go map under a lock
// takes twice as long with ten thousand active accounts, because each of its steps
// waits for memory and the lock keeps the processor from overlapping the waits.
type index struct {
	mu    sync.Mutex // of writers
	count int
	slots atomic.Pointer[[]atomic.Pointer[key]] // a power of two, at most three quarters full
}

const firstSlots = 8

func (x *index) find(hash uint64, id string) *key {
	slots := *x.slots.Load()
	for i := hash; ; i++ {
		k := slots[i&uint64(len(slots)-1)].Load()
		if k == nil || k.id == id {
			return k
		}
	}
}

// put adds a key that is not there yet, under the writers' lock.
func (x *index) put(k *key) {
	if slots := *x.slots.Load(); (x.count+1)*4 > len(slots)*3 {
		x.rebuild(2 * len(slots))
	}
	fill(*x.slots.Load(), k)
	x.count++
}

// drop leaves out the keys that are gone, so many, under the writers' lock.
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

// rebuild replaces the slots and takes over the keys that stay.
func (x *index) rebuild(size int) {
	slots := make([]atomic.Pointer[key], size)
	x.count = 0
	for _, k := range x.all() {
		if !k.gone {
			fill(slots, k)
			x.count++
		}
	}
	x.slots.Store(&slots)
}

func fill(slots []atomic.Pointer[key], k *key) {
	for i := k.hash; ; i++ {
		if s := &slots[i&uint64(len(slots)-1)]; s.Load() == nil {
			s.Store(k)
			return
		}
	}
}

func (x *index) all() []*key {
	var list []*key
	slots := *x.slots.Load()
	for i := range slots {
		if k := slots[i].Load(); k != nil {
			list = append(list, k)
		}
	}
	return list
}
