package ledger

import (
	"context"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// The figures of backfills.
const (
	backfillPause = 10 * time.Minute // after an error: nodes may not have old blocks
	mostDue       = time.Second      // for how long blocks that were not fetched are made up for
)

// filler is where a backfill is.
type filler struct {
	last time.Time // when blocks were last counted
	due  float64   // blocks that may be fetched now
	rest time.Time // until when there is a pause
}

// take tells whether a block may be fetched now: so many a second.
func (b *filler) take(now time.Time, rate int) bool {
	b.due += float64(rate) * min(now.Sub(b.last), mostDue).Seconds()
	b.last, b.due = now, min(b.due, max(1, float64(rate)*mostDue.Seconds()))
	if b.due < 1 {
		return false
	}
	b.due--
	return true
}

// step fetches the block before the first one, while the copy is at the head and may have
// more. That block is known by its hash, which the first one names: no node can give another.
// More is true if it did.
func (b *filler) step(ctx context.Context, f *follower) (more bool) {
	cfg := &f.node.cfg
	if cfg.Backfill == 0 || missing(f.store, cfg.Blocks) == 0 || time.Now().Before(b.rest) || !hasRoom(f.store, cfg.Disk) || !b.take(time.Now(), cfg.Backfill) {
		return false
	}
	block, err := b.before(ctx, f)
	if err == nil {
		err = f.store.Prepend(block)
	}
	if err == nil {
		err = f.keepCheckpoint()
	}
	if err != nil {
		b.rest = time.Now().Add(backfillPause)
		f.log.Warn("the ledger can't fetch an older block: pausing the backfill", "pause", backfillPause, "err", err)
	}
	return err == nil
}

// before fetches the block before the first one.
func (b *filler) before(ctx context.Context, f *follower) (*store.Block, error) {
	first, _, _ := f.store.Tip()
	h, err := f.store.Head(first)
	if err != nil {
		return nil, err
	}
	return f.fetch.linked(ctx, first.Number-1, h.Parent)
}

// missing is how many blocks a copy has room for before its first one.
func missing(s *store.Store, blocks uint64) uint64 {
	first, tip, ok := s.Tip()
	if !ok {
		return 0
	}
	return first.Number - min(first.Number, firstOf(tip.Number, blocks))
}

// hasRoom tells whether a backfill may use more of the disk. It leaves a quarter to the blocks
// that come: what is removed because of them would be fetched again.
func hasRoom(s *store.Store, disk int64) bool {
	data, index := s.Bytes()
	return data+index < disk/4*3
}
