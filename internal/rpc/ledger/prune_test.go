package ledger

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/test/full"
)

// TestFullDisk: on a full disk the copy stops and gets smaller, down to what a new one has.
// It goes on when there is space.
func TestFullDisk(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(10)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var free atomic.Int64
		free.Store(100)
		r := newRig(t, c, dir, 10_000)
		r.guard = disk.NewGuard(dir, 100).Asking(func(string) (int64, error) { return free.Load(), nil })
		r.Start()
		defer r.Close()
		r.settle()
		c.grow(390)
		r.settle()
		kept := func(from, to uint64) {
			t.Helper()
			synctest.Wait()
			if first, tip, _ := r.store.Tip(); first.Number != from || tip.Number != to {
				t.Errorf("blocks %d to %d are kept, want %d to %d", first.Number, tip.Number, from, to)
			}
		}
		kept(0, 400)
		free.Store(99)
		time.Sleep(time.Second) // the guard looks again
		c.grow(1)
		time.Sleep(10 * time.Second)
		kept(51, 400) // one eighth, however often it was tried
		time.Sleep(time.Hour)
		kept(400-firstBlocks+1, 400)
		r.check(c.at(399), true)
		free.Store(100)
		time.Sleep(time.Minute)
		r.settle()
		kept(400-firstBlocks+1, 401)
	})
}
