package blockstore

import (
	"hash/maphash"
	"sync"
)

// holds are the stored blocks that open batches put again or read: a batch may pin them
// in the end, so a collection spares them until the batch ends. They are in memory only.
// A batch that is aborted must not renew the time of content that nobody pays for.
type holds struct {
	quotas *quotas
	seed   maphash.Seed // clients choose hashes, but not their numbers

	mu         sync.Mutex // a collection has it from its last look at a block to the deletion
	open       map[*Batch]struct{}
	collecting bool
	committed  marks[uint32] // of batches that committed during the collection, which may not know their pins
}

// hold is what one batch holds. It belongs to the lock of the holds.
type hold struct {
	blocks     marks[uint32]
	paid       marks[uint32] // those of them that nothing else keeps any more
	reserved   int64         // bytes of those, in the account's quota
	committing bool
	ended      error // why it can hold nothing any more
}

func newHolds(q *quotas) *holds {
	return &holds{quotas: q, seed: maphash.MakeSeed(), open: map[*Batch]struct{}{}}
}

// number names a block. Two blocks of one number are rare, and only held together.
func (h *holds) number(hash []byte) uint32 { return uint32(maphash.Bytes(h.seed, hash)) | 1 }

// add lets a batch hold a block. Who looks for the block afterwards and finds it can rely
// on it until the batch ends.
//
// Returns QuotaReached when the batch lost a block that its account could not pay for.
func (h *holds) add(b *Batch, hash []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.held.ended != nil {
		return b.held.ended
	}
	b.held.blocks.add(h.number(hash))
	h.open[b] = struct{}{}
	return nil
}

// commit makes sure that a batch keeps what it holds until its commit is done. The commit
// counts all that the batch stores, so what the batch paid for holding is free again.
//
// Returns QuotaReached as add does.
func (h *holds) commit(b *Batch) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if b.held.ended != nil {
		return b.held.ended
	}
	b.held.committing = true
	h.quotas.unreserve(b.account, b.held.reserved)
	b.held.reserved = 0
	return nil
}

// release ends what a batch holds, at its end.
func (h *holds) release(b *Batch, committed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if committed && h.collecting {
		h.committed.addAll(&b.held.blocks)
	}
	h.drop(b, errEnded())
}

// drop takes all holds from a batch. The caller holds the lock.
func (h *holds) drop(b *Batch, why error) {
	delete(h.open, b)
	h.quotas.unreserve(b.account, b.held.reserved)
	b.held = hold{ended: why}
}

// beginCollection begins to remember what batches held that commit.
func (h *holds) beginCollection() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.collecting = true
}

func (h *holds) endCollection() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.collecting, h.committed = false, marks[uint32]{}
}

// keeps tells whether a batch holds a block that nothing else keeps. One of the batches
// that hold it has to pay for it from now on. Where none can, they lose it and fail. The
// caller holds the lock until it has deleted the block.
func (h *holds) keeps(hash []byte, size int64) bool {
	n := h.number(hash)
	list, paid := h.holders(n)
	for _, b := range list {
		paid = paid || h.pay(b, n, size)
	}
	if paid {
		return true
	}
	for _, b := range list {
		h.drop(b, quotaReached("hold"))
	}
	return false
}

// holders are the batches that hold a block, and whether it is paid for.
func (h *holds) holders(n uint32) (list []*Batch, paid bool) {
	paid = h.committed.has(n)
	for b := range h.open {
		if b.held.blocks.has(n) {
			list = append(list, b)
			paid = paid || b.held.committing || b.held.paid.has(n)
		}
	}
	return list, paid
}

// pay counts a block against the quota of a batch that holds it.
func (h *holds) pay(b *Batch, n uint32, size int64) bool {
	if h.quotas.reserve(b.account, size, b.quota) != nil {
		return false
	}
	b.held.paid.add(n)
	b.held.reserved += size
	return true
}
