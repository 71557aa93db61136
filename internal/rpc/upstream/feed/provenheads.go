package feed

import (
	"context"
	"errors"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// headKeeper tells the readers of newHeads of a block when a verified copy of the chain has it.
type headKeeper struct{ steps }

func newHeadKeeper(f *Feed) *headKeeper { return &headKeeper{newSteps(f, kindHeads)} }

var errForeignHead = errors.New("the copy has another block than was asked for")

func (k *headKeeper) do(ctx context.Context, s step) {
	raw, err := k.fetch(ctx, s)
	switch {
	case err == nil:
		k.feed.tellHead(s.at, raw)
	case ctx.Err() == nil && !errors.Is(err, errDropped):
		k.feed.cfg.Log.Warn("a new block was not verified: closing newHeads subscriptions", "block", s.Number, "err", err)
		k.feed.lose(ctx, kindHeads)
	}
}

func (k *headKeeper) fetch(ctx context.Context, s step) (raw []byte, err error) {
	err = k.persist(ctx, s, func(ctx context.Context, _ *heads.Node) (err error) {
		if raw, err = k.feed.cfg.Proven(ctx, "["+s.Hash+",false]"); err != nil {
			return err
		}
		if h, ok := heads.Read(raw); !ok || !strings.EqualFold(h.Hash, s.Hash) {
			return errForeignHead
		}
		return nil
	})
	return raw, err
}

// tellHead gives a block to the readers of newHeads.
func (f *Feed) tellHead(step uint64, raw []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if s := f.streams[kindHeads]; s != nil {
		f.push(s, step, f.cfg.FixHead(headEvent(raw)))
	}
}
