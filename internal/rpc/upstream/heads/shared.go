package heads

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
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
	// Raise tells the others of a block, and returns the highest that any has told of.
	Raise(ctx context.Context, network string, number uint64) (highest uint64, err error)
	// Watch calls seen with what the others tell of, until ctx ends. It may miss some.
	Watch(ctx context.Context, network string, seen func(highest uint64))
}

// Share brings what this server may tell to the others, and back. A client that hops
// between servers must not see the chain go back, so a head is told only once the others
// have been told. When they can't be reached the server goes on by itself. It returns when
// ctx ends, or at once on one server.
func (t *Tracker) Share(ctx context.Context) {
	if t.cfg.Shared == nil {
		return
	}
	var watching sync.WaitGroup
	watching.Go(func() { t.cfg.Shared.Watch(ctx, t.cfg.Network, t.learnShared) })
	defer watching.Wait()
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.raised:
		}
		if told := t.told.Load(); told != nil {
			t.shareOne(ctx, told)
		}
	}
}

// shareOne tells the others of a head, then clients.
func (t *Tracker) shareOne(ctx context.Context, told *nodegate.Head) {
	bounded, cancel := context.WithTimeout(ctx, shareTimeout)
	defer cancel()
	highest, err := t.cfg.Shared.Raise(bounded, t.cfg.Network, told.Number)
	if failing := err != nil; t.alone.Swap(failing) != failing && ctx.Err() == nil {
		logShared(t.cfg.Log, err)
	}
	if err == nil {
		t.learnShared(highest)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alone.Load() {
		told = t.told.Load() // nobody has to hear of it first
	}
	if t.open.Load() != told {
		t.open.Store(told)
		t.wakeLocked()
		t.cfg.Changed()
	}
}

// logShared notes that the others can't be reached, or can again.
func logShared(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("can't share the head with other servers: this server follows the chain on its own until it can", "err", err)
		return
	}
	log.Info("the head is shared with other servers again")
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
