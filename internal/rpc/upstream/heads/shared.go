package heads

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
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
	// Watch calls coming with a block that some server is about to tell of, and open once
	// all have heard of it, until ctx ends. It may miss some.
	Watch(ctx context.Context, network string, coming, open func(number uint64))
}

// openWithin is how long a head that another server is about to tell of is waited for.
const openWithin = 100 * time.Millisecond

// coming is a head that some server is about to tell of. It may have told it to a client
// who asks here next, so who reads the head waits for a moment to know.
type coming struct {
	number atomic.Uint64
	at     atomic.Int64 // Unix nanoseconds
}

// set notes a head that the chain can have reached: nobody waits for another.
func (c *coming) set(t *Tracker, number uint64) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if reachable(t.at, point{number, uint64(now.Unix())}, uint64(now.Unix())) {
		c.at.Store(now.UnixNano())
		c.number.Store(number)
	}
}

// left is how long it may still take until all servers have heard.
func (c *coming) left() time.Duration { return openWithin - time.Since(time.Unix(0, c.at.Load())) }

// await waits while another server is about to tell of a higher head.
func (c *coming) await(ctx context.Context, t *Tracker) {
	for {
		changed := t.Changes()
		number, left := c.number.Load(), c.left()
		if number <= t.Number() {
			return
		}
		if left <= 0 {
			c.number.Store(0)
			t.learnShared(number) // it may have been told since
			return
		}
		select {
		case <-changed:
		case <-time.After(left):
		case <-ctx.Done():
			return
		}
	}
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
	watching.Go(func() {
		t.cfg.Shared.Watch(ctx, t.cfg.Network, func(number uint64) { t.coming.set(t, number) }, t.learnShared)
	})
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
