package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// Checkpoint is a block that the operator knows to be on the chain.
type Checkpoint struct {
	Number uint64
	Hash   [32]byte
}

// errCheckpoint is the error of nodes that are on another chain than the operator wants.
var errCheckpoint = errors.New("the nodes have another block at the height of the checkpoint: check the setting, or the nodes")

// checkpoint is what is known about the one that is wanted.
type checkpoint struct {
	want *Checkpoint // nil: none

	passed     bool   // the nodes have it
	fork, lost uint64 // as of which fork
	final      bool   // it was final

	refuted int       // copies in a row that turned out to lack it
	rest    time.Time // until when none is begun
}

// The pause after a copy that turned out to lack the checkpoint is twice as long each time: the
// nodes said that they have the block, and then gave a chain without it.
const (
	refutedPause = time.Minute
	longestRest  = time.Hour
)

// refute is for a copy that lacks the checkpoint.
func (c *checkpoint) refute(now time.Time) {
	pause := longestRest
	if c.refuted < 6 {
		pause = min(longestRest, refutedPause<<c.refuted)
	}
	c.refuted++
	c.passed, c.rest = false, now.Add(pause)
}

// ask asks which block is at the checkpoint's height, at the start and after each fork that
// may have replaced it.
func (c *checkpoint) ask(ctx context.Context, f *fetcher, head nodegate.Head) error {
	if c.want == nil || head.Number < c.want.Number || c.passed && c.lost == head.Lost && (c.final || c.fork == head.Fork) {
		return nil
	}
	if time.Now().Before(c.rest) {
		return errCheckpoint
	}
	hash, err := f.hashOf(ctx, c.want.Number)
	if err == nil && hash != c.want.Hash {
		err = errCheckpoint
	}
	if err != nil {
		return err
	}
	c.passed, c.fork, c.lost, c.final = true, head.Fork, head.Lost, c.want.Number <= head.Finalized
	return nil
}

// has tells whether a copy has the checkpoint.
func (c *checkpoint) has(s *store.Store) bool {
	if c.want == nil {
		return false
	}
	m, ok, err := s.Canonical(c.want.Number)
	return err == nil && ok && m.Hash == c.want.Hash
}

// lacks tells whether a copy has another block at the checkpoint's height. Inside the copy the
// blocks above it are linked to it by their hashes, so no node can get around it.
func (c *checkpoint) lacks(s *store.Store) (bool, error) {
	if c.want == nil {
		return false, nil
	}
	m, ok, err := s.Canonical(c.want.Number)
	if err != nil || !ok {
		return false, err
	}
	if m.Hash == c.want.Hash {
		c.refuted = 0
	}
	return m.Hash != c.want.Hash, nil
}

// keepCheckpoint empties a copy that lacks the checkpoint.
func (f *follower) keepCheckpoint() error {
	lacks, err := f.checkpoint.lacks(f.store)
	if err != nil || !lacks {
		return err
	}
	f.checkpoint.refute(time.Now())
	if err := f.reset("it doesn't have the block of the checkpoint"); err != nil {
		return err
	}
	return errCheckpoint
}
