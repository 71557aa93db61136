package pool

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

// raise has the head shared soon.
func (p *Pool) raise() {
	select {
	case p.raised <- struct{}{}:
	default:
	}
}

// share brings what this server has told to the others, and back. When the others
// can't be reached the server goes on by itself.
func (p *Pool) share(ctx context.Context) {
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	failing := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.raised:
		}
		told := p.heads.told.Load()
		if told == nil {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, shareTimeout)
		highest, err := p.cfg.Shared.Raise(bounded, p.cfg.Network, told.Number)
		cancel()
		if err != nil != failing && ctx.Err() == nil {
			failing = err != nil
			p.log.Warn("sharing the head with other servers", "failing", failing, "err", err)
		}
		if err == nil {
			p.learnShared(highest)
		}
	}
}

// learnShared takes the highest block that clients of other servers know of, if the
// chain can be there. What they still know of a chain that was set back is past.
func (p *Pool) learnShared(highest uint64) {
	h := &p.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	now := uint64(time.Now().Unix())
	if highest > max(h.shared.Load(), h.past) && reachable(h.at, point{highest, now}, now) {
		h.shared.Store(highest)
		h.wakeLocked()
	}
}
