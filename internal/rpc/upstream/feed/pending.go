package feed

import (
	"context"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// startPending subscribes to pending transactions on one node, and on another when
// that one ends. What is announced in between is lost: there is no promise about
// transactions that are in no block. The feed is locked.
func (f *Feed) startPending(s *stream) {
	if s.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(f.ctx)
	s.stop = stop
	f.running.Go(func() {
		for ctx.Err() == nil {
			f.pending(ctx, s)
			select {
			case <-ctx.Done():
			case <-time.After(client.Jitter(followPause)):
			}
		}
	})
}

// pending passes on what one node announces, until it ends.
func (f *Feed) pending(ctx context.Context, s *stream) {
	link := f.cfg.Link()
	if link == nil {
		return
	}
	sub, err := link.Subscribe(ctx, s.params)
	if err != nil {
		f.cfg.Log.Warn("can't subscribe to pending transactions", "err", client.Printable(err.Error(), 200))
		return
	}
	whole := len(s.params) > len(`["newPendingTransactions"]`)
	for event := range sub.C {
		if whole != (event[0] == '{') || !whole && !hexjson.IsHash(event) {
			continue // not what was asked for
		}
		f.mu.Lock()
		f.push(s, s.now(f), event)
		f.mu.Unlock()
	}
}

// now is a step after which every reader began. The feed is locked.
func (s *stream) now(f *Feed) uint64 { return f.step + 1 }
