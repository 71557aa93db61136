package proven

import (
	"github.com/maypok86/otter/v2"

	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// store keeps what was proven. Everything is under the hash that it was proven by, so that
// nothing in it can become wrong.
type store struct {
	entries table
	largest int
}

// table is what the store uses of otter's cache. The cache is generic: without an interface,
// every package from which its type can be reached compiles all of it again.
type table interface {
	GetIfPresent(key) (*entry, bool)
	Set(key, *entry) (*entry, bool)
}

// key is what an entry is, of which root, and under which name there.
type key struct {
	kind kind
	root [32]byte // the state root, the storage root or the hash
	name [32]byte
}

type kind uint8

const (
	ofHeader  kind = iota // by the block's hash
	ofAccount             // by the state root and the address
	ofSlot                // by the storage root and the slot
	ofCode                // by its hash
	ofCall                // what a call read when it was last executed, by the hash of its parameter
	ofProof               // a whole proof, by the state root and the hash of what it proves
)

// entry is one of them.
type entry struct {
	header  *header
	account verify.Account
	word    [32]byte
	data    []byte
	touched []request
}

// overhead is about what an entry and its place in the table take beside its bytes.
const overhead = 512

// share is the part of the memory that one entry may take.
const share = 16

func newStore(bytes int64) *store {
	return &store{largest: int(bytes / share), entries: otter.Must(&otter.Options[key, *entry]{
		MaximumWeight: uint64(max(bytes, overhead)),
		Weigher:       func(_ key, e *entry) uint32 { return e.weight() },
	})}
}

// weight is about what the entry takes.
func (e *entry) weight() uint32 {
	size := overhead + len(e.data)
	for i := range e.touched {
		size += 128 + 32*len(e.touched[i].slots)
	}
	return uint32(size)
}

func (s *store) header(hash [32]byte) *header {
	if e, ok := s.entries.GetIfPresent(key{kind: ofHeader, root: hash}); ok {
		return e.header
	}
	return nil
}

func (s *store) keepHeader(h *header) {
	s.entries.Set(key{kind: ofHeader, root: h.Hash}, &entry{header: h})
}

func (s *store) account(root [32]byte, address [20]byte) (a verify.Account, ok bool) {
	if e, ok := s.entries.GetIfPresent(accountKey(root, address)); ok {
		return e.account, true
	}
	return a, false
}

func (s *store) keepAccount(root [32]byte, address [20]byte, a verify.Account) {
	s.entries.Set(accountKey(root, address), &entry{account: a})
}

func accountKey(root [32]byte, address [20]byte) key {
	k := key{kind: ofAccount, root: root}
	copy(k.name[:], address[:])
	return k
}

func (s *store) slot(storage, slot [32]byte) (value [32]byte, ok bool) {
	if storage == verify.NoStorage {
		return value, true
	}
	if e, ok := s.entries.GetIfPresent(key{ofSlot, storage, slot}); ok {
		return e.word, true
	}
	return value, false
}

func (s *store) keepSlot(storage, slot, value [32]byte) {
	if storage != verify.NoStorage {
		s.entries.Set(key{ofSlot, storage, slot}, &entry{word: value})
	}
}

func (s *store) bytes(k key) []byte {
	if e, ok := s.entries.GetIfPresent(k); ok {
		return e.data
	}
	return nil
}

func (s *store) keepBytes(k key, data []byte) {
	if len(data) <= s.largest {
		s.entries.Set(k, &entry{data: data})
	}
}

func (s *store) touched(call [32]byte) []request {
	if e, ok := s.entries.GetIfPresent(key{kind: ofCall, root: call}); ok {
		return e.touched
	}
	return nil
}

func (s *store) keepTouched(call [32]byte, list []request) {
	s.entries.Set(key{kind: ofCall, root: call}, &entry{touched: list})
}
