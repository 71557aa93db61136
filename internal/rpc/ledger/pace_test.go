package ledger

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestTooFast: a network with blocks under the shortest time is not followed, and one with
// too few blocks to tell is.
func TestTooFast(t *testing.T) {
	full.Slow(t)
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

// TestOffWarns: a ledger that is off warns where the operator set what it checks.
func TestOffWarns(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*Config)
		want string
	}{
		"agree":      {func(cfg *Config) { cfg.Agree = 2 }, "WARN"},
		"checkpoint": {func(cfg *Config) { cfg.Checkpoint = &Checkpoint{} }, "WARN"},
		"none":       {func(cfg *Config) { cfg.Agree = 1 }, "INFO"},
	} {
		t.Run(name, func(t *testing.T) {
			chain := newChain()
			chain.grow(20)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				r := newRig(t, chain, dir, 10_000)
				r.cfg.MinBlockTime, r.cfg.Log = time.Minute, slog.New(slog.NewTextHandler(&log, nil))
				c.set(&r.cfg)
				r.Start()
				time.Sleep(time.Second)
				r.Close()
				if got := log.String(); strings.Count(got, "level=") != 1 || !strings.Contains(got, "level="+c.want) || !strings.Contains(got, "min_block_time") {
					t.Errorf("the log is %s", got)
				}
			})
		})
	}
}

// TestUnprovable: a network whose headers can't be proven has no ledger, unless the operator
// asked for one. Without a copy there is nothing to be behind with.
func TestUnprovable(t *testing.T) {
	for name, usual := range map[string]bool{"usual": true, "asked for": false} {
		t.Run(name, func(t *testing.T) {
			c := newChain()
			c.grow(50)
			c.lie = func(_ string, o map[string]any) { o["stateRoot"] = common32 }
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c, dir, 10_000)
				r.cfg.Usual = usual
				r.cfg.Last = func() (nodegate.Head, time.Duration, bool) { return nodegate.Head{Number: 50}, 0, true }
				r.Start()
				defer r.Close()
				time.Sleep(10 * time.Minute)
				s := r.Status()
				if s.Off != usual || s.Open || s.Lag != 0 || s.Head != 50 || strings.Contains(s.Problem, "can't be proven") != usual {
					t.Errorf("the ledger is %+v", s)
				}
				if all, by := c.called(); usual && all != patience {
					t.Errorf("the nodes were asked %v", by)
				}
				c.set(func(c *chain) { c.lie = nil })
				time.Sleep(time.Minute)
				if s := r.Status(); s.Open == usual {
					t.Errorf("when the headers are right it is %+v", s)
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
