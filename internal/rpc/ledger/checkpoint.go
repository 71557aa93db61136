package ledger

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
)

// Checkpoint is a block that the operator knows to be on the chain.
type Checkpoint struct {
	Number uint64
	Hash   [32]byte
}

// errCheckpoint is the error of nodes that are on another chain than the operator wants.
var errCheckpoint = errors.New("the nodes have another block at the height of the checkpoint: check the setting, or the nodes")

// checkAsked asks which block is at the checkpoint's height, at the start and after each fork
// that may have replaced it.
func (f *follower) checkAsked(ctx context.Context, head nodegate.Head) error {
	c := f.node.cfg.Checkpoint
	if c == nil || head.Number < c.Number || f.passed && (f.passedFinal || f.passedFork == head.Fork) {
		return nil
	}
	hash, err := f.fetch.hashOf(ctx, c.Number)
	if err == nil && hash != c.Hash {
		f.node.show(nil)
		err = errCheckpoint
	}
	if err != nil {
		return err
	}
	f.passed, f.passedFork, f.passedFinal = true, head.Fork, c.Number <= head.Finalized
	return nil
}

// checkStored empties a copy that has another block at the checkpoint's height. Inside the
// copy the blocks above it are linked to it by their hashes, so no node can get around it.
func (f *follower) checkStored() error {
	c := f.node.cfg.Checkpoint
	if c == nil {
		return nil
	}
	m, ok, err := f.store.Canonical(c.Number)
	if err != nil || !ok || m.Hash == c.Hash {
		return err
	}
	if err := f.reset("it doesn't have the block of the checkpoint"); err != nil {
		return err
	}
	return errCheckpoint
}
