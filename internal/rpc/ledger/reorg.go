package ledger

import (
	"context"
	"errors"
	"slices"

	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// errFinal is the error of a branch that would take back a final block.
var errFinal = errors.New("a node's block is of a branch without the final block")

// reorg makes the branch that ends with a block the chain. It walks from parent to parent
// down to a block of the chain, storing each beside it, and then moves the chain in one
// step. A branch that doesn't meet what is stored begins a new copy.
func (f *follower) reorg(ctx context.Context, b *store.Block) error {
	if err := f.store.Put(b); err != nil {
		return err
	}
	branch := make([]store.Place, 0, 8)
	for next, number, joined := b.Hash, b.Number, false; !joined; number-- {
		if len(branch) == maxGap {
			return f.reset("a reorg is deeper than the ledger follows")
		}
		at, ok, err := f.store.ByHash(next)
		if err == nil && !ok {
			at, err = f.add(ctx, number, next)
		}
		if err != nil {
			return err
		}
		h, err := f.store.Head(at)
		if err != nil {
			return err
		}
		branch = append(branch, at)
		next = h.Parent
		if joined, err = f.joins(h); err != nil {
			return err
		}
	}
	slices.Reverse(branch)
	f.node.counts.reorgs.Add(1)
	f.log.Info("the ledger follows a reorg", "block", b.Number, "depth", len(branch))
	return move(f, branch)
}

// joins tells whether a branch ends with a block, downward: its parent is on the chain, or
// below all that is stored.
func (f *follower) joins(h *store.Head) (bool, error) {
	first, _, ok := f.store.Tip()
	if !ok || h.Number == 0 || h.Number <= first.Number {
		return true, nil
	}
	m, ok, err := f.store.Canonical(h.Number - 1)
	if err != nil || ok && m.Hash == h.Parent {
		return err == nil, err
	}
	if v := f.node.view.Load(); v != nil && h.Number-1 <= v.final {
		return false, errFinal
	}
	return false, nil
}

// add fetches a block and stores it beside the chain.
func (f *follower) add(ctx context.Context, number uint64, hash [32]byte) (store.Place, error) {
	b, err := f.fetch.linked(ctx, number, hash)
	if err != nil {
		return store.Place{}, err
	}
	if err := f.store.Put(b); err != nil {
		return store.Place{}, err
	}
	at, ok, err := f.store.ByHash(hash)
	if err == nil && !ok {
		err = errAway
	}
	return at, err
}
