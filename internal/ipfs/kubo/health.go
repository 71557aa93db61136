package kubo

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// maxFailures in a row put a node out of use.
const maxFailures = 3

const (
	// liarTime is how long a node that sent wrong bytes comes after all others. It is
	// not put out of use: one bad block on a disk would take all good ones with it,
	// and every block is checked anyway.
	liarTime = time.Minute
	// longestBan is how long a node is left alone that comes back only to fail.
	longestBan = time.Minute
)

// health is what is known of a node. It is out of use after failures in a row; a
// probe that goes well lets it back in on trial, where one failure is enough.
type health struct {
	mu       sync.Mutex
	failures int
	ejected  int       // how often, since a request went well
	banned   time.Time // out of use until then
	away     time.Time // when it was first out of use, since a request went well
	suspect  time.Time // asked after all others until then
}

func (h *health) usable(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.inUse(now)
}

func (h *health) inUse(now time.Time) bool { return h.failures < maxFailures && !now.Before(h.banned) }

// awayFor is how long the node has been out of use, or 0 while it is in use.
func (h *health) awayFor(now time.Time) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inUse(now) || h.away.IsZero() { // a late answer may have come during a ban
		return 0
	}
	return now.Sub(h.away)
}

// ok notes a request that went well.
func (h *health) ok() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures, h.ejected, h.away = 0, 0, time.Time{}
}

// failed notes a failure, and reports whether it put the node out of use. One that
// comes back only to fail is left alone for longer each time.
func (h *health) failed(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.failures++
	if h.failures != maxFailures {
		return false
	}
	if h.away.IsZero() {
		h.away = now
	}
	if h.ejected > 0 {
		h.banned = now.Add(min(time.Second<<min(h.ejected, 10), longestBan))
	}
	h.ejected++
	return true
}

// doubted tells whether the node sent wrong bytes lately.
func (h *health) doubted(now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return now.Before(h.suspect)
}

// suspectUntil puts the node behind all others for a time.
func (h *health) suspectUntil(t time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.suspect = t
}

// trial lets a node back in, and reports whether it was out of use.
func (h *health) trial() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.failures >= maxFailures
	h.failures = min(h.failures, maxFailures-1)
	return was
}

// watch probes a node now and then, and after each failure.
func (n *node) watch(ctx context.Context) {
	tick := time.NewTicker(n.limits.probeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-n.doubt:
		}
		for n.probe(ctx) && n.health.usable(n.now()) {
			continue // one that hangs is found out at once
		}
		select {
		case <-n.doubt: // about what was just looked at
		default:
		}
	}
}

// probe asks a node for its version, and reports whether it hangs. That the time is up
// is the node's failure, so it is the request's wait that ends and not the context.
func (n *node) probe(ctx context.Context) (hangs bool) {
	var answer struct{ Version string }
	body, err := n.whole(ctx, &request{command: "version", unlimited: true, wait: n.limits.probe}, maxAnswer)
	if err == nil && (json.Unmarshal(body, &answer) != nil || answer.Version == "") {
		err = n.failure(&fault{node: n.number, msg: "does not respond like a Kubo node"})
	}
	if err == nil && n.health.trial() {
		n.log.Info("storage node is healthy again", "node", n.number)
	}
	return errors.Is(err, errStalled)
}

// failure keeps count of what went wrong. Failures are logged where they put the
// node out of use, and at the level debug before that.
func (n *node) failure(f *fault) *fault {
	if f.healthy() {
		n.health.ok()
		return f
	}
	n.failures.Add(1)
	if n.health.failed(n.now()) {
		n.log.Warn("storage node is unavailable until it answers again", "node", n.number, "err", f)
	} else {
		n.log.Debug("storage node failed", "node", n.number, "err", f)
	}
	select {
	case n.doubt <- struct{}{}:
	default:
	}
	return f
}

// lied notes bytes that are not what was asked for.
func (n *node) lied(what string) *fault {
	n.wrong.Add(1)
	n.health.suspectUntil(n.now().Add(liarTime))
	n.log.Error("storage node sent wrong bytes, which were discarded: check its disk with ipfs repo verify", "node", n.number, "block", what)
	return &fault{kind: faultWrong, node: n.number, msg: "sent wrong bytes for " + what}
}
