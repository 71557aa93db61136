package ledger

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate/test/full"
)

// newFiller opens a ledger that fetches older blocks.
func newFiller(t *testing.T, c *chain, dir string, blocks uint64, rate int) *rig {
	r := newRig(t, c, dir, blocks)
	r.cfg.Backfill = rate
	r.Start()
	r.settle()
	return r
}

// first waits until the copy begins with a block.
func (r *rig) first(want uint64) {
	r.t.Helper()
	for range 6000 {
		if first, _, ok := r.Node.store.Load().Tip(); ok && first.Number == want {
			return
		}
		time.Sleep(lookEvery)
		synctest.Wait()
	}
	first, tip, _ := r.Node.store.Load().Tip()
	r.t.Fatalf("the copy has blocks %d to %d, want %d to begin with", first.Number, tip.Number, want)
}

// TestBackfill: blocks before the first 128 are fetched once each, at the rate that is set,
// until the window is full or the chain begins. All are answered as the others are.
func TestBackfill(t *testing.T) {
	full.Slow(t)
	for name, want := range map[string]struct{ blocks, first uint64 }{"window": {250, 151}, "whole chain": {1000, 0}} {
		t.Run(name, func(t *testing.T) {
			if want.first == 0 && rounds(2, 1) == 1 {
				return // the window is the same code
			}
			c := newChain()
			c.grow(400)
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				r := newFiller(t, c, dir, want.blocks, 20)
				defer r.Close()
				if s := r.Status(); s.Missing == 0 || s.MissingTime != time.Duration(s.Missing)*time.Second/20 {
					t.Errorf("the status at the start is %+v", s)
				}
				r.first(want.first)
				// The clock of the bubble: the machine's speed has no part in it.
				if took, least := time.Since(start), time.Duration(272-want.first)*time.Second/20-mostDue; took < least {
					t.Errorf("%d blocks took %s, want %s at least", 273-want.first, took, least)
				}
				time.Sleep(time.Minute)
				if all, by := c.called(); all > 2*(401-int(want.first))+3 {
					t.Errorf("%d blocks took %v", 401-want.first, by)
				}
				if s := r.Status(); s.Missing != 0 || s.First != want.first {
					t.Errorf("the status at the end is %+v", s)
				}
				for n := want.first; n <= 400; n += uint64(rounds(7, 31)) {
					r.check(c.at(n), true)
				}
				for _, f := range []*logFilter{{}, {address: &common.Address{9}, topics: []*common.Hash{{1}, {2}}}, {address: &common.Address{201}}} {
					f.from, f.to = want.first, 400
					if r.checkLogs(f) == 0 {
						t.Errorf("%v finds nothing", f.params())
					}
				}
				report, err := r.Verify(t.Context())
				if err != nil || report.Damaged != 0 || report.Blocks != 401-int(want.first) {
					t.Errorf("the verification says %+v, %v", report, err)
				}
			})
		})
	}
}

// TestBackfillResumes: after a restart nothing is fetched again.
func TestBackfillResumes(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(400)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFiller(t, c, dir, 1000, 10)
		for range 1000 {
			if s := r.Status(); s.First < 200 {
				break
			}
			time.Sleep(lookEvery)
			synctest.Wait()
		}
		r.Close()
		first, _, _ := r.store.Tip()
		c.called()
		r = newFiller(t, c, dir, 1000, 10)
		defer r.Close()
		r.first(0)
		if all, by := c.called(); first.Number == 0 || all > 2*int(first.Number)+2 {
			t.Errorf("%d blocks took %v", first.Number, by)
		}
		r.check(c.at(0), true)
		r.check(c.at(first.Number-1), true)
	})
}

// TestBackfillReorgs: reorgs of 1 to 64 blocks while older blocks are fetched. In the end the
// copy is the chain.
func TestBackfillReorgs(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(300)
	c.set(func(c *chain) { c.head.Finalized = 200 })
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFiller(t, c, dir, 1000, 10)
		defer r.Close()
		for depth := 1; depth <= 64; depth += rounds(full.Rounds(1, 3), 9) {
			c.reorg(depth, depth+1, int64(depth))
			time.Sleep(lookEvery)
			synctest.Wait()
			if r.Status().First == 0 {
				t.Fatal("the backfill is over too early: the test shows nothing")
			}
		}
		r.settle()
		r.first(0)
		for n := uint64(0); n <= c.head.Number; n += uint64(rounds(3, 17)) {
			r.check(c.at(n), true)
		}
	})
}

// TestBackfillPauses: nodes without older blocks are asked now and then, and the head is
// followed all the time.
func TestBackfillPauses(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(300)
	c.pruned = 150
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newFiller(t, c, dir, 1000, 100)
		defer r.Close()
		r.first(150)
		c.called()
		time.Sleep(time.Duration(rounds(60, 10)) * time.Minute)
		if all, by := c.called(); all > 8 {
			t.Errorf("an hour took %v", by)
		}
		c.grow(1)
		r.settle()
		r.check(c.at(301), true)
		c.set(func(c *chain) { c.pruned = 0 })
		time.Sleep(backfillPause)
		r.first(0)
	})
}

// TestFiller: the rate holds over any second, and a pause is not made up for.
func TestFiller(t *testing.T) {
	var f filler
	now := time.Now()
	count := func(times int, every time.Duration, rate int) (n int) {
		for range times {
			for f.take(now, rate) {
				n++
			}
			now = now.Add(every)
		}
		return n
	}
	count(1, 0, 7) // what is due from before
	if n := count(100, 100*time.Millisecond, 7); n < 68 || n > 70 {
		t.Errorf("%d in ten seconds at 7 a second", n)
	}
	now = now.Add(time.Hour)
	if n := count(1, 0, 7); n > 8 {
		t.Errorf("%d at once after an hour", n)
	}
}
