package filter

import (
	"bytes"
	"context"
	"slices"
	"sync"
	"time"
)

// maxAll bounds the places of all accounts in one process.
const maxAll = 10_000

// Memory is a Store of one process. The zero Memory is ready.
type Memory struct {
	mu      sync.Mutex
	filters map[key]*kept
	places  map[key]int // by network and account
	taken   int
	pending map[string]*pendingLog // by network
}

var _ Store = (*Memory)(nil)

// key names a filter.
type key struct{ network, account, id string }

type kept struct {
	state  []byte
	places int
	used   time.Time
}

// owner is the key of an account's places.
func (k key) owner() key { return key{network: k.network, account: k.account} }

// Create is part of Store.
func (m *Memory) Create(_ context.Context, network, account, id string, places int, state []byte) (bool, error) {
	k := key{network, account, id}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.room(k, places) {
		m.sweep(time.Now())
	}
	for m.places[k.owner()]+places <= MaxPlaces && m.taken+places > maxAll && m.takeFromLargest(k.owner()) {
		continue
	}
	if !m.room(k, places) {
		return false, nil
	}
	if m.filters == nil {
		m.filters, m.places = map[key]*kept{}, map[key]int{}
	}
	m.filters[k] = &kept{state: state, places: places, used: time.Now()}
	m.places[k.owner()] += places
	m.taken += places
	return true, nil
}

func (m *Memory) room(k key, places int) bool {
	return m.places[k.owner()]+places <= MaxPlaces && m.taken+places <= maxAll
}

// Load is part of Store.
func (m *Memory) Load(_ context.Context, network, account, id string) ([]byte, error) {
	k := key{network, account, id}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.filters[k]
	if f == nil || time.Since(f.used) > Life {
		return nil, nil
	}
	f.used = time.Now()
	return f.state, nil
}

// Save is part of Store.
func (m *Memory) Save(_ context.Context, network, account, id string, before, after []byte) (bool, error) {
	k := key{network, account, id}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.filters[k]
	if f == nil || !bytes.Equal(f.state, before) {
		return false, nil
	}
	f.state, f.used = after, time.Now()
	return true, nil
}

// Remove is part of Store.
func (m *Memory) Remove(_ context.Context, network, account, id string) (bool, error) {
	k := key{network, account, id}
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.filters[k]
	if f == nil {
		return false, nil
	}
	m.drop(k, f)
	return time.Since(f.used) <= Life, nil
}

// sweep forgets filters that nobody polls.
func (m *Memory) sweep(now time.Time) {
	for k, f := range m.filters {
		if now.Sub(f.used) > Life {
			m.drop(k, f)
		}
	}
}

// takeFromLargest ends the filter that was idle the longest of the account that has the
// most places, unless that is the one that asks: some accounts must not shut out the rest.
func (m *Memory) takeFromLargest(asks key) bool {
	largest := asks
	for owner, places := range m.places {
		if places > m.places[largest] {
			largest = owner
		}
	}
	if largest == asks {
		return false
	}
	var oldest key
	for k, f := range m.filters {
		if k.owner() == largest && (oldest == key{} || f.used.Before(m.filters[oldest].used)) {
			oldest = k
		}
	}
	m.drop(oldest, m.filters[oldest])
	return true
}

func (m *Memory) drop(k key, f *kept) {
	delete(m.filters, k)
	m.taken -= f.places
	if m.places[k.owner()] -= f.places; m.places[k.owner()] == 0 {
		delete(m.places, k.owner())
	}
}

// pendingLog is the newest transactions that entered a pool.
type pendingLog struct {
	hashes []string // the last one has the position last
	known  map[string]struct{}
	last   uint64
}

// AddPending is part of Store.
func (m *Memory) AddPending(_ context.Context, network string, hashes []string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pending == nil {
		m.pending = map[string]*pendingLog{}
	}
	l := m.pending[network]
	if l == nil {
		l = &pendingLog{known: map[string]struct{}{}}
		m.pending[network] = l
	}
	for _, hash := range hashes {
		l.add(hash)
	}
	return nil
}

func (l *pendingLog) add(hash string) {
	if _, in := l.known[hash]; in {
		return
	}
	if len(l.hashes) >= MaxPending {
		delete(l.known, l.hashes[0])
		l.hashes = l.hashes[1:]
	}
	l.known[hash] = struct{}{}
	l.hashes = append(l.hashes, hash)
	l.last++
}

// Pending is part of Store.
func (m *Memory) Pending(_ context.Context, network string, after uint64, most int) ([]string, uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.pending[network]
	switch {
	case l == nil:
		return nil, 0, nil
	case most == 0 || after >= l.last:
		return nil, l.last, nil
	}
	first := l.last - uint64(len(l.hashes)) // the position before the oldest
	list := l.hashes[max(after, first)-first:]
	list = list[:min(most, len(list))]
	return slices.Clone(list), max(after, first) + uint64(len(list)), nil
}
