package pool

import (
	"context"
	"time"
)

// startPending subscribes to pending transactions on one node, and on another when
// that one ends. What is announced in between is lost: there is no promise about
// transactions that are in no block. The feeds are locked.
func (f *feeds) startPending(s *stream) {
	if s.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(f.pool.ctx)
	s.stop = stop
	f.running.Go(func() {
		for ctx.Err() == nil {
			f.pending(ctx, s)
			select {
			case <-ctx.Done():
			case <-time.After(jitter(followPause)):
			}
		}
	})
}

// pending passes on what one node announces, until it ends.
func (f *feeds) pending(ctx context.Context, s *stream) {
	sock := f.pool.bestLink()
	if sock == nil {
		return
	}
	sub, err := sock.Subscribe(ctx, s.params)
	if err != nil {
		f.pool.log.Warn("can't subscribe to pending transactions", "err", printable(err.Error(), 200))
		return
	}
	whole := len(s.params) > len(`["newPendingTransactions"]`)
	for event := range sub.C {
		if whole != (event[0] == '{') || !whole && !isHash(event) {
			continue // not what was asked for
		}
		f.mu.Lock()
		f.push(s, s.now(f), event)
		f.mu.Unlock()
	}
}

// now is a step after which every reader began. The feeds are locked.
func (s *stream) now(f *feeds) uint64 { return f.step + 1 }

// bestLink is the open socket of the best node that has one.
func (p *Pool) bestLink() socket {
	var best socket
	grade := unusable
	for _, n := range p.all() {
		if s := n.link.current(); s != nil && n.checked.Load() && p.grade(n) < grade {
			best, grade = s, p.grade(n)
		}
	}
	return best
}
