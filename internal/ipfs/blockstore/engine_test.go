package blockstore

import (
	"context"
	"testing"

	"github.com/nodegate/nodegate/internal/ipfs/blocktest"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/test/full"
)

// onBlocks makes the store an engine: only the type of Begin's result differs.
type onBlocks struct{ *Store }

func (s onBlocks) Begin(account string, quota int64) unixfs.Batch {
	return s.Store.Begin(account, quota)
}

// TestEngine holds the store to what every engine promises.
func TestEngine(t *testing.T) {
	full.Slow(t)
	blocktest.Run(t, func(t *testing.T) *blocktest.Fixture {
		clock := newClock()
		c := testConfig(t)
		c.Links, c.Undo, c.now = unixfs.Links, blocktest.Undo, clock.Now
		s := open(t, c)
		return &blocktest.Fixture{
			Engine: onBlocks{s}, Advance: clock.Advance,
			Collect: func(ctx context.Context) error { _, err := s.Collect(ctx, false); return err },
		}
	})
}
