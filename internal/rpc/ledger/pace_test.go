package ledger

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestTooFast: a network with blocks under the shortest time is not followed, and one with
// too few blocks to tell is.
func TestTooFast(t *testing.T) {
	for name, c := range map[string]struct {
		every  time.Duration
		blocks int
		least  time.Duration
		off    bool
	}{
		"four a second":               {250 * time.Millisecond, 300, time.Second, true},
		"four a second, young":        {250 * time.Millisecond, 10, time.Second, false},
		"four a second, asked for":    {250 * time.Millisecond, 300, 0, false},
		"one a second":                {time.Second, 300, time.Second, false},
		"one a second, another bound": {time.Second, 300, 2 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			chain := newChain()
			chain.every = c.every
			chain.grow(c.blocks)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, chain, dir, 10_000)
				r.cfg.MinBlockTime = c.least
				r.Start()
				defer r.Close()
				if !c.off {
					r.settle()
					r.check(chain.at(uint64(c.blocks)), true)
					return
				}
				time.Sleep(time.Minute)
				all, by := chain.called()
				if s := r.Status(); !s.Off || !strings.Contains(s.Problem, "min_block_time") || all != 2 {
					t.Errorf("the ledger is %+v after %v", s, by)
				}
				if _, ours := r.ask("eth_getBlockByNumber", "0x1", false); ours {
					t.Error("it answers")
				}
			})
		})
	}
}

// TestFillPause: while the copy is far behind, the nodes get a pause after each block, and at
// the head none.
func TestFillPause(t *testing.T) {
	c := newChain()
	c.grow(200)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, c, dir, 10_000)
		r.cfg.FillPause = 50 * time.Millisecond
		start := time.Now()
		r.Start()
		defer r.Close()
		r.settle()
		// The clock of the bubble: the machine's speed has no part in it.
		if took := time.Since(start); took < 125*r.cfg.FillPause {
			t.Errorf("128 blocks took %s", took)
		}
		c.grow(1)
		start = time.Now()
		r.settle()
		if took := time.Since(start); took > lookEvery {
			t.Errorf("one block at the head took %s", took)
		}
	})
}
