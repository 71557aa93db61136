package index

import (
	"iter"
	"sync"
	"sync/atomic"
)

// shards spread the writers' locks and keep a rebuild short.
const shards = 256

const firstSlots = 8

// Index holds entries. The zero Index is empty and ready. Many goroutines may use it
// at once; it must not be copied.
type Index[K comparable, V any] struct {
	shards [shards]shard[K, V]
}

// Entry is a key and what is kept of it, in one piece of memory.
type Entry[K comparable, V any] struct {
	hash  uint64
	Key   K // never changes once it can be found
	Value V
}

type shard[K comparable, V any] struct {
	mu    sync.Mutex // of writers
	count int
	slots atomic.Pointer[[]atomic.Pointer[Entry[K, V]]] // a power of two, at most three quarters full
}

// shardOf uses the upper bits: the lower ones choose the slot within.
func (x *Index[K, V]) shardOf(hash uint64) *shard[K, V] { return &x.shards[hash>>32%shards] }

// Find returns the entry of a key, or nil.
func (x *Index[K, V]) Find(hash uint64, key K) *Entry[K, V] {
	slots := x.shardOf(hash).list()
	if len(slots) == 0 {
		return nil
	}
	for i := hash; ; i++ {
		e := slots[i&uint64(len(slots)-1)].Load()
		if e == nil || e.hash == hash && e.Key == key {
			return e
		}
	}
}

// Add returns the entry of a key, and makes it when there is none. Then fill
// completes it before anybody can find it: it sets the Value, and may set the Key to
// another copy. It is called under the writers' lock and must not use the index.
func (x *Index[K, V]) Add(hash uint64, key K, fill func(*Entry[K, V])) *Entry[K, V] {
	s := x.shardOf(hash)
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := x.Find(hash, key); e != nil {
		return e
	}
	e := &Entry[K, V]{hash: hash, Key: key}
	fill(e)
	if size := len(s.list()); (s.count+1)*4 > size*3 {
		s.rebuild(max(2*size, firstSlots), s.all())
	}
	place(s.list(), e)
	s.count++
	return e
}

// Drop asks for every entry whether it stays, leaves out those that don't, and
// returns how many these are. It asks under the writers' lock: stays must not use
// the index.
func (x *Index[K, V]) Drop(stays func(*Entry[K, V]) bool) int {
	dropped := 0
	for i := range x.shards {
		dropped += x.shards[i].drop(stays)
	}
	return dropped
}

// All visits every entry, without a lock. It may miss one that is added meanwhile,
// and visit one that is dropped.
func (x *Index[K, V]) All() iter.Seq[*Entry[K, V]] {
	return func(yield func(*Entry[K, V]) bool) {
		for i := range x.shards {
			for _, e := range x.shards[i].all() {
				if !yield(e) {
					return
				}
			}
		}
	}
}

func (s *shard[K, V]) list() []atomic.Pointer[Entry[K, V]] {
	if slots := s.slots.Load(); slots != nil {
		return *slots
	}
	return nil
}

func (s *shard[K, V]) all() []*Entry[K, V] {
	var all []*Entry[K, V]
	slots := s.list()
	for i := range slots {
		if e := slots[i].Load(); e != nil {
			all = append(all, e)
		}
	}
	return all
}

func (s *shard[K, V]) drop(stays func(*Entry[K, V]) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	var kept []*Entry[K, V]
	for _, e := range s.all() {
		if stays(e) {
			kept = append(kept, e)
		}
	}
	dropped := s.count - len(kept)
	if dropped == 0 {
		return 0
	}
	size := firstSlots
	for len(kept)*4 > size*3 {
		size *= 2
	}
	s.rebuild(size, kept)
	s.count = len(kept)
	return dropped
}

// rebuild replaces the slots by so many with these entries.
func (s *shard[K, V]) rebuild(size int, entries []*Entry[K, V]) {
	slots := make([]atomic.Pointer[Entry[K, V]], size)
	for _, e := range entries {
		place(slots, e)
	}
	s.slots.Store(&slots)
}

func place[K comparable, V any](slots []atomic.Pointer[Entry[K, V]], e *Entry[K, V]) {
	for i := e.hash; ; i++ {
		if slot := &slots[i&uint64(len(slots)-1)]; slot.Load() == nil {
			slot.Store(e)
			return
		}
	}
}
