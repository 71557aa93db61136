package requestlog

import (
	"strings"
	"sync"
	"unsafe"

	"github.com/nodegate/nodegate"
)

// shard holds a part of the keys. Its own share of the memory bounds it.
type shard struct {
	mu    sync.Mutex
	keys  map[string]*keyLog
	limit int // records of one ring
	room  int // bytes
	bytes int
	// newest and oldest are the ends of the list of keys, in the order of their last
	// request.
	newest, oldest *keyLog
}

// keyLog are the requests of one key. Failed ones have a ring for themselves: a busy
// key would push them out within a second.
type keyLog struct {
	grant        *nodegate.Grant // tells what the owner wants now
	older, newer *keyLog
	last         int64 // when it was written to
	ok, failed   ring
	names        []*names
	next         int // of names, to be replaced
	kept         optional
	bytes        int
}

const (
	keyBytes = int(unsafe.Sizeof(keyLog{})) + 64 // and its place in the map
	maxNames = 24                                // combinations that new records of a key can share
)

// record is called with the lock held.
func (s *shard) record(g *nodegate.Grant, e *Entry, at int64, keep optional) {
	k := s.keys[g.KeyID]
	if k == nil || k.grant.AccountID != g.AccountID {
		k = s.add(g)
	}
	k.grant = g
	s.toFront(k)
	s.dropUnwanted(k, keep)
	k.kept |= keep
	of := &k.ok
	if e.Failed() {
		of = &k.failed
	}
	r, grown := of.push(s.limit)
	grown -= r.names.release()
	name, more := k.nameOf(e)
	r.names = name
	r.fill(e, at)
	k.last = at
	s.grow(k, grown+more+r.write(e, keep))
	if s.bytes > s.room {
		s.makeRoom()
	}
}

func (s *shard) grow(k *keyLog, bytes int) {
	k.bytes += bytes
	s.bytes += bytes
}

func (s *shard) add(g *nodegate.Grant) *keyLog {
	if old := s.keys[g.KeyID]; old != nil {
		s.drop(old)
	}
	k := &keyLog{grant: g}
	s.keys[g.KeyID] = k
	s.grow(k, keyBytes+len(g.KeyID))
	return k
}

// drop forgets a key.
func (s *shard) drop(k *keyLog) {
	s.unlink(k)
	delete(s.keys, k.grant.KeyID)
	s.bytes -= k.bytes
}

func (s *shard) unlink(k *keyLog) {
	if k.newer != nil {
		k.newer.older = k.older
	} else if s.newest == k {
		s.newest = k.older
	}
	if k.older != nil {
		k.older.newer = k.newer
	} else if s.oldest == k {
		s.oldest = k.newer
	}
	k.older, k.newer = nil, nil
}

func (s *shard) toFront(k *keyLog) {
	if s.newest == k {
		return
	}
	s.unlink(k)
	k.older = s.newest
	if s.newest != nil {
		s.newest.newer = k
	}
	s.newest = k
	if s.oldest == nil {
		s.oldest = k
	}
}

// makeRoom forgets the keys that have had no request for the longest time, and when
// one alone is too large its oldest records.
func (s *shard) makeRoom() {
	for s.bytes > s.room && s.oldest != s.newest {
		s.drop(s.oldest)
	}
	k := s.newest
	for s.bytes > s.room && k.ok.count+k.failed.count > 0 {
		longer := &k.ok
		if k.failed.count > k.ok.count {
			longer = &k.failed
		}
		s.grow(k, -longer.pop())
	}
	if s.bytes > s.room {
		s.drop(k)
	}
}

func (s *shard) sweep(before int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k := s.oldest; k != nil; {
		next := k.newer
		s.dropUnwanted(k, wanted(k.grant))
		for _, r := range []*ring{&k.ok, &k.failed} {
			for r.count > 0 && r.at(0).at < before {
				s.grow(k, -r.pop())
			}
		}
		if k.ok.count+k.failed.count == 0 {
			s.drop(k)
		}
		k = next
	}
}

// nameOf returns the names of an entry, shared with others that have the same. The
// second value is how many bytes that took.
func (k *keyLog) nameOf(e *Entry) (*names, int) {
	for _, n := range k.names {
		if n.method == e.Method && n.outcome == e.Outcome && n.network == e.Network && n.node == e.Node {
			n.used++
			return n, 0
		}
	}
	n := &names{network: bounded(e.Network), method: bounded(e.Method), outcome: e.Outcome, node: bounded(e.Node), used: 1, listed: true}
	if len(k.names) < maxNames {
		k.names = append(k.names, n)
		return n, n.bytes()
	}
	grown := n.bytes()
	old := k.names[k.next]
	if old.listed = false; old.used == 0 {
		grown -= old.bytes()
	}
	k.names[k.next] = n
	k.next = (k.next + 1) % maxNames
	return n, grown
}

// bounded does not hold on to the rest of a long name.
func bounded(name string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.Clone(cutText(name, maxName))
}

// dropUnwanted forgets the texts of a key that its owner wants kept no longer.
func (s *shard) dropUnwanted(k *keyLog, keep optional) {
	gone := k.kept &^ keep
	if gone == 0 {
		return
	}
	freed := 0
	for _, r := range []*ring{&k.ok, &k.failed} {
		for i := range r.count {
			freed += r.at(i).drop(gone)
		}
	}
	k.kept &= keep
	s.grow(k, -freed)
}
