package verify

import (
	"encoding/binary"
	"sync"
	"sync/atomic"
)

// maxHeaders is how many checked headers are kept, about half a megabyte of them.
const maxHeaders = 1024

// headers are the latest headers that were checked, by their hash.
type headers struct {
	mu     sync.RWMutex
	byHash map[[32]byte]*Header
	order  [maxHeaders][32]byte // a ring: the oldest is replaced
	next   int
}

func (m *headers) get(hash [32]byte) *Header {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.byHash[hash]
}

func (m *headers) add(h *Header) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.byHash == nil {
		m.byHash = map[[32]byte]*Header{}
	}
	if m.byHash[h.Hash] != nil {
		return
	}
	delete(m.byHash, m.order[m.next])
	m.order[m.next], m.byHash[h.Hash] = h.Hash, h
	m.next = (m.next + 1) % maxHeaders
}

// seen remembers transactions of blocks that were checked, by the first bytes of their
// hashes. A newer one takes the place of an older one: it is a hint and no more.
type seen struct {
	table atomic.Pointer[[1 << seenBits]atomic.Uint64]
}

const seenBits = 14

func (m *seen) add(token []byte) {
	key, ok := short(token)
	if !ok {
		return
	}
	table := m.table.Load()
	if table == nil {
		m.table.CompareAndSwap(nil, new([1 << seenBits]atomic.Uint64))
		table = m.table.Load()
	}
	table[key>>(64-seenBits)].Store(key)
}

func (m *seen) has(token []byte) bool {
	table := m.table.Load()
	key, ok := short(token)
	return ok && table != nil && table[key>>(64-seenBits)].Load() == key
}

// short is the first bytes of a hash.
func short(token []byte) (uint64, bool) {
	hex, ok := digits(token)
	if !ok || len(hex) != 64 {
		return 0, false
	}
	var room [8]byte
	b, ok := appendHex(room[:0], hex[:16])
	return binary.BigEndian.Uint64(b), ok
}
