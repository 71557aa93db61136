package index

import (
	"maps"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"
)

// spread is a good hash for small numbers.
func spread(k int) uint64 { return uint64(k+1) * 0x9e3779b97f4a7c15 }

func set[K comparable, V any](v V) func(*Entry[K, V]) { return func(e *Entry[K, V]) { e.Value = v } }

// TestModel holds the index to a map, with hashes from good to all the same.
func TestModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		mask := rapid.SampledFrom([]uint64{0, 7, 3 << 32, 1<<32 | 7, 1<<64 - 1}).Draw(t, "mask")
		hash := func(k int) uint64 { return spread(k) & mask }
		key := rapid.IntRange(0, 60)
		var x Index[int, int]
		model := map[int]int{}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				k, v := key.Draw(t, "key"), rapid.Int().Draw(t, "value")
				if _, known := model[k]; !known {
					model[k] = v
				}
				if e := x.Add(hash(k), k, set[int](v)); e.Key != k || e.Value != model[k] {
					t.Fatalf("added %d: got %d, %d, want the value %d", k, e.Key, e.Value, model[k])
				}
			},
			"drop": func(t *rapid.T) {
				from := key.Draw(t, "from")
				before := len(model)
				maps.DeleteFunc(model, func(k, _ int) bool { return k >= from })
				if n := x.Drop(func(e *Entry[int, int]) bool { return e.Key < from }); n != before-len(model) {
					t.Fatalf("dropped %d, want %d", n, before-len(model))
				}
			},
			"": func(t *rapid.T) { same(t, &x, model, hash) },
		})
	})
}

func same(t *rapid.T, x *Index[int, int], model map[int]int, hash func(int) uint64) {
	for k := range 61 {
		want, known := model[k]
		e := x.Find(hash(k), k)
		if (e != nil) != known || known && (e.Key != k || e.Value != want) {
			t.Fatalf("found %v for %d, want %d, %v", e, k, want, known)
		}
	}
	all := map[int]int{}
	for e := range x.All() {
		if _, twice := all[e.Key]; twice {
			t.Fatalf("visited %d twice", e.Key)
		}
		all[e.Key] = e.Value
	}
	if !maps.Equal(all, model) {
		t.Fatalf("visited %v, want %v", all, model)
	}
}

// TestGrowAndShrink: there is always a free slot to stop at, not much more room than
// needed, and an entry stays where it is.
func TestGrowAndShrink(t *testing.T) {
	var x Index[int, int]
	const one = 1<<32 - 1 // all in one shard, with their own slots
	s := &x.shards[0]
	var entries []*Entry[int, int]
	for k := range 10_000 {
		entries = append(entries, x.Add(spread(k)&one, k, set[int](k)))
		if size := len(s.list()); s.count != k+1 || s.count*4 > size*3 || s.count*3 < size && size > firstSlots {
			t.Fatalf("%d entries, counted %d, have %d slots", k+1, s.count, size)
		}
	}
	for _, c := range []struct{ keep, slots int }{{9_999, 16_384}, {6_145, 16_384}, {6_144, 8_192}, {7, 16}, {6, 8}, {0, 8}} {
		dropped := x.Drop(func(e *Entry[int, int]) bool { return e.Key < c.keep })
		if n := len(s.list()); n != c.slots || s.count != c.keep {
			t.Errorf("kept %d: counted %d in %d slots, want %d", c.keep, s.count, n, c.slots)
		}
		if want := len(entries) - c.keep; dropped != want {
			t.Errorf("dropped %d, want %d", dropped, want)
		}
		entries = entries[:c.keep]
		for k, e := range entries {
			if x.Find(spread(k)&one, k) != e {
				t.Fatalf("kept %d: %d is another entry", c.keep, k)
			}
		}
	}
}

// TestDropsNothing: asking alone does not replace the slots.
func TestDropsNothing(t *testing.T) {
	var x Index[int, int]
	x.Add(0, 1, set[int](1))
	before := x.shards[0].slots.Load()
	if n := x.Drop(func(*Entry[int, int]) bool { return true }); n != 0 || x.shards[0].slots.Load() != before {
		t.Errorf("dropped %d and made new slots", n)
	}
}

// TestOwnCopyOfKey: fill may replace the key by an equal one.
func TestOwnCopyOfKey(t *testing.T) {
	var x Index[[2]string, int]
	part := [2]string{"a", "b"}
	e := x.Add(1, part, func(e *Entry[[2]string, int]) { e.Key[1] = "bc"[:1] })
	if x.Find(1, part) != e {
		t.Error("not found")
	}
	if x.Find(1, [2]string{"a", "bc"}) != nil {
		t.Error("found by another key of the same hash")
	}
}

func TestStopsVisiting(t *testing.T) {
	var x Index[int, int]
	for k := range 100 {
		x.Add(spread(k), k, set[int](k))
	}
	n := 0
	for range x.All() {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Errorf("visited %d, want 3", n)
	}
}

// TestReadersAndWriters: what stays is found at every moment, complete, while others
// come and go around it.
func TestReadersAndWriters(t *testing.T) {
	const stays, comes = 3_000, 4_000 // with those that come, more slots are needed
	var x Index[string, [2]int]
	names := make([]string, comes)
	hash := func(k int) uint64 { return spread(k) & 0xfff } // one shard, and many share a hash
	add := func(k int) { x.Add(hash(k), names[k], set[string]([2]int{k, -k})) }
	for k := range names {
		names[k] = strconv.Itoa(k)
		if k < stays {
			add(k)
		}
	}
	var done atomic.Bool
	var reading sync.WaitGroup
	for range 3 {
		reading.Go(func() {
			for k := 0; !done.Load(); k = (k + 1) % comes {
				e := x.Find(hash(k), names[k])
				if e == nil && k < stays {
					t.Errorf("%d is lost", k)
					return
				}
				if e != nil && (e.Key != names[k] || e.Value != [2]int{k, -k}) {
					t.Errorf("found %q, %v for %d", e.Key, e.Value, k)
					return
				}
			}
		})
	}
	var writing sync.WaitGroup
	for _, of := range [][2]int{{stays, comes - 100}, {comes - 100, comes}} { // each has its own
		writing.Go(func() {
			for range 50 {
				for k := of[0]; k < of[1]; k++ {
					add(k)
				}
				if n := x.Drop(func(e *Entry[string, [2]int]) bool { return e.Value[0] < of[0] || e.Value[0] >= of[1] }); n != of[1]-of[0] {
					t.Errorf("dropped %d, want %d", n, of[1]-of[0])
				}
			}
		})
	}
	writing.Wait()
	done.Store(true)
	reading.Wait()
}

// TestWritersAgree: of many that add the same keys each gets the same entries, each
// filled once.
func TestWritersAgree(t *testing.T) {
	const writers, keys = 4, 1_000
	var x Index[int, int]
	var filled atomic.Int64
	var got [writers][keys]*Entry[int, int]
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range keys {
				k := (i + w*keys/writers) % keys // each begins elsewhere, so that all of them add
				got[w][k] = x.Add(spread(k), k, func(*Entry[int, int]) { filled.Add(1) })
			}
		})
	}
	writing.Wait()
	for w := range writers {
		if got[w] != got[0] {
			t.Error("two writers have different entries")
		}
	}
	if filled.Load() != keys {
		t.Errorf("filled %d, want %d", filled.Load(), keys)
	}
}

func TestFindAllocatesNothing(t *testing.T) {
	var x Index[[2]string, int]
	k := [2]string{"a", "b"}
	x.Add(1, k, set[[2]string](1))
	if n := testing.AllocsPerRun(1000, func() {
		if x.Find(1, k) == nil || x.Find(2, k) != nil {
			t.Fatal("wrong answer")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
