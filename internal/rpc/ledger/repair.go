package ledger

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// The figures of repairs.
const (
	maxRepairs  = 1024             // blocks that wait
	repairPause = 30 * time.Second // after one that failed
	holesEvery  = 10 * time.Minute // looks whether nodes give receipts that they did not
)

// repairs are the blocks that turned out to be damaged. Each is fetched again once. One that
// is damaged again lies in a table that can't be read, and so may others: a new copy is
// begun then, and also if it can't be said which block is damaged.
type repairs struct {
	mu     sync.Mutex
	list   [][32]byte // to be fetched
	mended map[[32]byte]bool
	lost   bool // a new copy has to be begun
}

// lose asks for a new copy.
func (r *repairs) lose() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lost = true
}

// add asks for a repair.
func (r *repairs) add(hash [32]byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.list {
		if h == hash {
			return
		}
	}
	switch {
	case r.mended[hash]:
		r.lost = true
	case len(r.list) < maxRepairs:
		r.list = append(r.list, hash)
	}
}

// next is a block to fetch, or whether all have to be.
func (r *repairs) next() (hash [32]byte, ok, lost bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) > 0 {
		hash, ok = r.list[0], true
	}
	return hash, ok, r.lost
}

// done takes a block off the list. One that was mended is remembered.
func (r *repairs) done(hash [32]byte, mended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) > 0 && r.list[0] == hash {
		r.list = r.list[1:]
	}
	if !mended {
		return
	}
	if r.mended == nil || len(r.mended) >= maxRepairs {
		r.mended = map[[32]byte]bool{}
	}
	r.mended[hash] = true
}

// clear forgets everything: the copy is another one.
func (r *repairs) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.mended, r.lost = nil, nil, false
}

// waiting is how many blocks are to be fetched.
func (r *repairs) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.list)
}

// Rebuild begins a new copy, with the newest blocks. It returns before that is done.
func (n *Node) Rebuild() {
	n.repairs.lose()
	select {
	case n.poke <- struct{}{}:
	default: // it looks soon
	}
}

// mend fetches a damaged block again, or receipts that were missing. It is called when the
// copy is at the head. More is true if there is another one.
func (f *follower) mend(ctx context.Context) (more bool) {
	now := time.Now()
	hash, ok, _ := f.node.repairs.next()
	if !ok || now.Before(f.mendAt) {
		return f.fillHole(ctx, now)
	}
	if err := f.refetch(ctx, hash); err != nil {
		f.mendAt = now.Add(repairPause)
		f.log.Warn("the ledger can't fetch a damaged block again", "err", err)
	}
	return true
}

// restart lets go of the copy and has it emptied when it is opened again.
func (f *follower) restart() {
	f.log.Warn("the ledger starts with an empty copy", "why", "it is damaged, or an operator requested it")
	f.node.show(nil)
	f.node.repairs.clear()
	f.store.Discard()
	f.store = nil
	if f.node.store.Swap(nil) != nil {
		f.node.cfg.Release()
	}
}

// refetch fetches a block again and puts it in the place of the damaged one.
func (f *follower) refetch(ctx context.Context, hash [32]byte) error {
	b, err := f.fetch.byHash(ctx, hash)
	if err != nil {
		return err
	}
	err = f.store.Replace(b.Block)
	switch {
	case errors.Is(err, nodegate.NotFound):
		f.node.repairs.done(hash, false) // it was pruned
		return nil
	case errors.Is(err, nodegate.Damaged):
		f.node.repairs.lose() // what has to be read to replace it can't be
		return nil
	case err != nil:
		return err
	}
	f.node.repairs.done(hash, true)
	f.node.counts.repaired.Add(1)
	f.log.Warn("a block of the ledger was damaged and is fetched again", "block", b.Number)
	return nil
}

// fillHole fetches a block without receipts again, from the newest to the oldest. If nodes
// still don't give them, it rests.
func (f *follower) fillHole(ctx context.Context, now time.Time) (more bool) {
	first, tip, ok := f.store.Tip()
	if !ok || now.Before(f.holesAt) {
		return false
	}
	if f.below == 0 || f.below > tip.Number {
		f.below = tip.Number
	}
	for ; f.below > first.Number; f.below-- {
		if at, hole := f.lacksReceipts(f.below); hole {
			if f.fill(ctx, at) {
				f.below--
				return true
			}
			break
		}
	}
	f.below, f.holesAt = 0, now.Add(holesEvery)
	return false
}

// lacksReceipts tells whether the canonical block of a height was stored without receipts.
func (f *follower) lacksReceipts(number uint64) (at store.Place, hole bool) {
	m, ok, err := f.store.Canonical(number)
	if err != nil || !ok || !m.Hole {
		return at, false
	}
	h, err := f.store.Head(m.Place)
	return m.Place, err == nil && !h.Partial && !h.Kept && h.Txs > 0 && h.Receipts == 0
}

// fill fetches a block with its receipts. It is false if they can't be had now.
func (f *follower) fill(ctx context.Context, at store.Place) bool {
	b, err := f.fetch.byHash(ctx, at.Hash)
	if err != nil || len(b.Receipts) != len(b.Txs) {
		return false
	}
	return f.store.Replace(b.Block) == nil
}
