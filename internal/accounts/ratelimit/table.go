package ratelimit

import (
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/index"
)

// shards spread the locks of the accounts.
const shards = 256

// table finds what is counted of a key and its account. Its locks are taken in the
// order: the index's, a shard's, then the account's own.
type table struct {
	seed     maphash.Seed
	keys     index.Index[string, key] // by their id
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
		t.accounts[i].of = map[string]*account{}
	}
	return t
}

func (t *table) hash(id string) uint64 { return maphash.String(t.seed, id) }

func (t *table) shardOf(accountID string) *shard { return &t.accounts[t.hash(accountID)%shards] }

// account finds an account; nil when nothing is counted of it.
func (t *table) account(id string) *account {
	s := t.shardOf(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.of[id]
}

// find finds or makes the key of a grant.
func (t *table) find(g *nodegate.Grant) *key {
	hash := t.hash(g.KeyID)
	if e := t.keys.Find(hash, g.KeyID); e != nil {
		return &e.Value
	}
	return t.add(hash, g)
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

func (t *table) add(hash uint64, g *nodegate.Grant) *key {
	e := t.keys.Add(hash, g.KeyID, func(e *index.Entry[string, key]) {
		k := &e.Value
		k.account = t.addAccount(g.AccountID)
		k.day, k.spent = t.firstDay, t.first.Load().Keys[g.KeyID]
	})
	return &e.Value
}

// addAccount finds or makes the account of a new key, and counts the key.
func (t *table) addAccount(id string) *account {
	s := t.shardOf(id)
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
	t.keys.Drop(func(e *index.Entry[string, key]) bool { return e.Value.stays(now) })
	for i := range t.accounts {
		t.accounts[i].sweep(now)
	}
}

// stays tells whether a key is in use, and marks it when it is not.
func (k *key) stays(now moment) bool {
	k.account.mu.Lock()
	defer k.account.mu.Unlock()
	if k.waiting > 0 || !k.idle(now) {
		return true
	}
	k.gone = true
	k.account.keys--
	return false
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
	}
	for e := range t.keys.All() {
		k := &e.Value
		k.account.mu.Lock()
		visit(k.account, &k.tally)
		k.account.mu.Unlock()
	}
}

func (s *shard) all() []*account {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.of))
}
