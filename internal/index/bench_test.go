package index

import (
	"fmt"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
)

// counted is about what the limiter and the usage recorder keep of a key.
type counted struct {
	mu   sync.Mutex
	used [6]int64
}

type benchKey [16]byte

func benchKeys(count int) []benchKey {
	keys := make([]benchKey, count)
	for i := range keys {
		copy(keys[i][:], fmt.Sprintf("%016x", spread(i)))
	}
	return keys
}

// finder is a table under test: it finds or makes what is kept of a key.
type finder interface{ of(benchKey) *counted }

type indexed struct {
	x    Index[benchKey, counted]
	seed maphash.Seed
}

func (t *indexed) of(k benchKey) *counted {
	hash := maphash.Bytes(t.seed, k[:])
	if e := t.x.Find(hash, k); e != nil {
		return &e.Value
	}
	return &t.x.Add(hash, k, func(*Entry[benchKey, counted]) {}).Value
}

type syncMap struct{ m sync.Map }

func (t *syncMap) of(k benchKey) *counted {
	if v, ok := t.m.Load(k); ok {
		return v.(*counted)
	}
	v, _ := t.m.LoadOrStore(k, new(counted))
	return v.(*counted)
}

type lockedMap struct {
	mu sync.RWMutex
	m  map[benchKey]*counted
}

func (t *lockedMap) of(k benchKey) *counted {
	t.mu.RLock()
	v := t.m[k]
	t.mu.RUnlock()
	if v != nil {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.m[k] == nil {
		t.m[k] = new(counted)
	}
	return t.m[k]
}

func finders() []struct {
	name string
	make func() finder
} {
	return []struct {
		name string
		make func() finder
	}{
		{"index", func() finder { return &indexed{seed: maphash.MakeSeed()} }},
		{"sync.Map", func() finder { return &syncMap{} }},
		{"map and RWMutex", func() finder { return &lockedMap{m: map[benchKey]*counted{}} }},
	}
}

// BenchmarkFind finds keys in an order that no cache likes, from every processor,
// and counts under the entry's own lock, as the limiter does. It also reports the
// memory of an entry.
func BenchmarkFind(b *testing.B) {
	for _, count := range []int{100, 10_000, 1_000_000} {
		keys := benchKeys(count)
		for _, f := range finders() {
			b.Run(fmt.Sprintf("%d/%s", count, f.name), func(b *testing.B) { benchFind(b, f.make(), keys) })
		}
	}
}

func benchFind(b *testing.B, t finder, keys []benchKey) {
	before := heap()
	for _, k := range keys {
		t.of(k)
	}
	each := float64(heap()-before) / float64(len(keys))
	var worker atomic.Int64
	b.ReportAllocs()
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		at := int(worker.Add(1)) * 7919
		for pb.Next() {
			at = (at + 514_229) % len(keys)
			c := t.of(keys[at])
			c.mu.Lock()
			c.used[0]++
			c.mu.Unlock()
		}
	})
	b.ReportMetric(each, "B/entry")
	runtime.KeepAlive(t)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
