// Package index finds entries by key without a lock, while other entries are added
// and dropped. The rate limiter uses it for the counters of a key, and the usage
// recorder for its cells.
//
// An Index is a hash table whose slots are only ever filled. Growing or dropping
// makes new slots, and whoever reads the old ones still finds in them what was there
// at that time. A Go map under a lock takes twice as long with ten thousand entries:
// each of its steps waits for memory, and the lock keeps the processor from
// overlapping the waits.
//
// The caller hashes, because it knows which part of a key tells most. All 64 bits
// should be good, and secret where strangers choose the keys: see hash/maphash.
//
// An entry keeps its place in memory. It can be found just before it is dropped and
// used after that, so a user whose counts matter marks it in Drop, under a lock of
// the entry's own, and looks at the mark under the same lock:
//
//	e := x.Find(hash, key)
//	if e == nil {
//		e = x.Add(hash, key, fill)
//	}
//	e.Value.mu.Lock() // and begin again when e.Value.gone
package index
