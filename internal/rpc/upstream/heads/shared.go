package heads

import (
	"context"
	"time"
)

// How the head is shared between servers: at every change and at least this often,
// and how long the others are waited for.
const (
	shareEvery   = 500 * time.Millisecond
	shareTimeout = 250 * time.Millisecond
)

// Shared is what several servers share: the highest block that any of them has told
// a client about.
type Shared interface {
	Raise(ctx context.Context, network string, number uint64) (highest uint64, err error)
}

// raise has the head shared soon.
func (t *Tracker) raise() {
	select {
	case t.raised <- struct{}{}:
	default:
	}
}

// Share brings what this server has told to the others, and back. When the others
// can't be reached the server goes on by itself. It returns when ctx ends, or at once on
// one server.
func (t *Tracker) Share(ctx context.Context) {
	if t.cfg.Shared == nil {
		return
	}
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.raised:
		}
		told := t.told.Load()
		if told == nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, shareTimeout)
		highest, err := t.cfg.Shared.Raise(bounded, t.cfg.Network, told.Number)
		cancel()
		if err != nil != failing && ctx.Err() == nil {
			failing = err != nil
			t.cfg.Log.Warn("sharing the head with other servers", "failing", failing, "err", err)
		}
		if err == nil {
			t.learnShared(highest)
		}
	}
}

// learnShared takes the highest block that clients of other servers know of, if the
// chain can be there. What they still know of a chain that was set back is past.
func (t *Tracker) learnShared(highest uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := uint64(time.Now().Unix())
	if highest > max(t.shared.Load(), t.past) && reachable(t.at, point{highest, now}, now) {
		t.shared.Store(highest)
		t.wakeLocked()
	}
}
