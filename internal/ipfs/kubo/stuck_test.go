package kubo

import (
	"testing"
	"time"
)

// TestStuck: a node that takes something now and then may take any time in total. One
// that takes nothing is given up at the limit, or soon when its probes fail too.
func TestStuck(t *testing.T) {
	const limit = time.Minute
	for name, c := range map[string]struct {
		quiet time.Duration // since it took something
		away  bool
		want  bool
	}{
		"gets on":                     {0, false, false},
		"gets on and fails otherwise": {0, true, false},
		"slow":                        {limit / 2, false, false},
		"hangs":                       {limit / 2, true, true},
		"answers probes only":         {2 * limit, false, true},
	} {
		n := &node{now: time.Now, limits: limits{probe: 10 * time.Second}}
		if c.away {
			n.health.failures = maxFailures
		}
		u := &upload{node: n}
		u.moved.Store(time.Now().Add(-c.quiet).UnixNano())
		if got := u.stuck(time.Now().Add(-time.Hour), limit); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	waits := &upload{node: &node{now: time.Now, limits: limits{probe: 10 * time.Second}}}
	if waits.stuck(time.Now(), limit) {
		t.Error("an upload that had nothing to send before is stuck at once")
	}
}

// TestAwayFor: a node is away from its first ejection on, also while trials fail, until a
// request goes well.
func TestAwayFor(t *testing.T) {
	h, now := &health{}, time.Now()
	expect := func(what string, at, want time.Duration) {
		t.Helper()
		if got := h.awayFor(now.Add(at)); got != want {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	expect("well", 0, 0)
	for range maxFailures {
		h.failed(now)
	}
	expect("ejected", time.Minute, time.Minute)
	h.trial()
	expect("on trial", time.Minute, 0)
	h.failed(now.Add(time.Minute))
	expect("ejected again", 2*time.Minute, 2*time.Minute)
	h.ok()
	expect("well during a ban", time.Minute+time.Second, 0)
}
