package meter

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
)

// shards spread the locks of the table. They are taken in the order: keys,
// accounts, then the account's own.
const shards = 256

// table finds what is counted of a key and its account.
type table struct {
	seed     maphash.Seed
	keys     [shards]index
	accounts [shards]shard

	// first is what was spent on firstDay before the start; empty once it is over.
	first    atomic.Pointer[nodegate.Spent]
	firstDay int64
}

type shard struct {
	mu sync.Mutex
	of map[string]*account
}

func newTable(before *nodegate.Spent, day int64) *table {
	t := &table{seed: maphash.MakeSeed(), firstDay: day}
	t.first.Store(before)
	if before == nil {
		t.first.Store(&nodegate.Spent{})
	}
	for i := range shards {
		t.keys[i].slots.Store(new(make([]atomic.Pointer[key], firstSlots)))
		t.accounts[i].of = map[string]*account{}
	}
	return t
}

func (t *table) hash(id string) uint64 { return maphash.String(t.seed, id) }

// shardOf uses the upper bits: the lower ones choose the slot within.
func shardOf(hash uint64) uint64 { return hash >> 32 % shards }

// account finds an account; nil when nothing is counted of it.
func (t *table) account(id string) *account {
	s := &t.accounts[shardOf(t.hash(id))]
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[id]
}

// find finds or makes the key of a grant.
func (t *table) find(g *nodegate.Grant) *key {
	hash := t.hash(g.KeyID)
	x := &t.keys[shardOf(hash)]
	if k := x.find(hash, g.KeyID); k != nil {
		return k
	}
	return t.add(x, hash, g)
}

// lock locks a key's account. When the key was swept meanwhile it is made again.
func (t *table) lock(k *key, g *nodegate.Grant) *key {
	for {
		k.account.mu.Lock()
		if !k.gone {
			return k
		}
		k.account.mu.Unlock()
		k = t.find(g)
	}
}

func (t *table) add(x *index, hash uint64, g *nodegate.Grant) *key {
	x.mu.Lock()
	defer x.mu.Unlock()
	if k := x.find(hash, g.KeyID); k != nil {
		return k
	}
	k := &key{id: g.KeyID, hash: hash, account: t.addAccount(g.AccountID)}
	k.day, k.spent = t.firstDay, t.first.Load().Keys[g.KeyID]
	x.put(k)
	return k
}

// addAccount finds or makes the account of a new key, and counts the key.
func (t *table) addAccount(id string) *account {
	s := &t.accounts[shardOf(t.hash(id))]
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.of[id]
	if a == nil {
		a = &account{id: id}
		a.day, a.spent = t.firstDay, t.first.Load().Accounts[id]
		s.of[id] = a
	}
	a.mu.Lock()
	a.keys++
	a.mu.Unlock()
	return a
}

// sweep drops what is idle.
func (t *table) sweep(now moment) {
	if now.day > t.firstDay {
		t.first.Store(&nodegate.Spent{})
	}
	for i := range t.keys {
		t.keys[i].sweep(now)
	}
	for i := range t.accounts {
		t.accounts[i].sweep(now)
	}
}

func (x *index) sweep(now moment) {
	x.mu.Lock()
	defer x.mu.Unlock()
	gone := 0
	for _, k := range x.all() {
		k.account.mu.Lock()
		if k.waiting == 0 && k.idle(now) {
			k.gone = true
			k.account.keys--
			gone++
		}
		k.account.mu.Unlock()
	}
	x.drop(gone)
}

func (s *shard) sweep(now moment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, a := range s.of {
		a.mu.Lock()
		if a.keys == 0 && a.idle(now) {
			delete(s.of, id)
		}
		a.mu.Unlock()
	}
}

// each visits every tally under its account's lock.
func (t *table) each(visit func(a *account, of *tally)) {
	for i := range shards {
		for _, a := range t.accounts[i].all() {
			a.mu.Lock()
			visit(a, &a.tally)
			a.mu.Unlock()
		}
		for _, k := range t.keys[i].all() {
			k.account.mu.Lock()
			visit(k.account, &k.tally)
			k.account.mu.Unlock()
		}
	}
}

func (s *shard) all() []*account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.of))
}
