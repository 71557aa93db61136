package blockstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// waiting hands commits to a committer that is busy, one after the other, lets it go on
// and returns when all are done.
func waiting(t *testing.T, s *Store, list ...*Batch) {
	t.Helper()
	var wait sync.WaitGroup
	busy, begun := make(chan struct{}), make(chan struct{})
	wait.Go(func() {
		must(t, s.committer.submit(&request{prepare: func(*group) error { close(begun); <-busy; return nil }}))
	})
	<-begun
	for i, b := range list {
		wait.Go(func() { must(t, b.Commit(t.Context())) })
		arrived(s, i+1)
	}
	close(busy)
	wait.Wait()
}

// arrived waits until so many requests wait in line.
func arrived(s *Store, n int) {
	for len(s.committer.requests) < n {
		runtime.Gosched()
	}
}

// batchOf is a batch of small blocks that is not committed.
func batchOf(t *testing.T, s *Store, account string, seed, blocks int) *Batch {
	t.Helper()
	b := s.Begin(account, 0)
	for i := range blocks {
		data := content(10_000*seed+i, 64)
		must(t, b.Put(t.Context(), rawCID(t, data), data))
	}
	return b
}

// A small commit doesn't wait for large ones of other accounts that came before it. The
// commits of one account stay in order.
func TestSmallBeforeLarge(t *testing.T) {
	s := open(t, testConfig(t))
	first, second := batchOf(t, s, "large", 1, 2_000), batchOf(t, s, "large", 2, 2_000)
	own, other := batchOf(t, s, "large", 3, 1), batchOf(t, s, "small", 4, 1)
	waiting(t, s, first, second, own, other)
	order := []*Batch{other, first, second, own}
	for i, b := range order[1:] {
		if !order[i].result.pos.before(b.result.pos) {
			t.Errorf("commit %d is at %v, the next one at %v", i, order[i].result.pos, b.result.pos)
		}
	}
}

// A small commit that comes while a large one is entered in the index is answered before
// that one's end, unless both are of one account.
func TestSmallDuringLarge(t *testing.T) {
	s := open(t, testConfig(t))
	large := batchOf(t, s, "large", 1, 2_000)
	own, other := batchOf(t, s, "large", 2, 1), batchOf(t, s, "small", 3, 1)
	var wait sync.WaitGroup
	paused := 0
	apply := func(pause func()) error {
		for i, b := range []*Batch{own, other} {
			wait.Go(func() { must(t, b.Commit(t.Context())) })
			arrived(s, i+1)
		}
		return large.apply(func() {
			pause()
			if paused++; own.applied.Load() || !other.applied.Load() {
				t.Errorf("pause %d: applied: its own account's %v, the other %v", paused, own.applied.Load(), other.applied.Load())
			}
		})
	}
	must(t, s.committer.submit(&request{batch: large, prepare: large.prepare, apply: apply}))
	wait.Wait()
	if want := (2_000 + portion - 1) / portion; paused != want || !own.applied.Load() {
		t.Errorf("%d pauses, want %d; its own account's is applied: %v", paused, want, own.applied.Load())
	}
	large.Abort()
}

// What is about all accounts is done alone, after all that came before it and is large.
func TestBarrierAfterLarge(t *testing.T) {
	s := open(t, testConfig(t))
	large := batchOf(t, s, "large", 1, 2_000)
	var wait sync.WaitGroup
	apply := func(pause func()) error {
		wait.Go(func() {
			must(t, s.committer.submit(&request{prepare: func(*group) error {
				if !large.applied.Load() {
					t.Error("the index lacks a part of a large batch")
				}
				return nil
			}}))
		})
		arrived(s, 1)
		return large.apply(pause)
	}
	must(t, s.committer.submit(&request{batch: large, prepare: large.prepare, apply: apply}))
	wait.Wait()
	large.Abort()
}

// The power goes while small commits pass large ones. What was acknowledged is there, and
// of a large batch all or nothing.
func TestPowerCutLarge(t *testing.T) {
	full.Slow(t)
	seeds := uint64(10)
	if testing.Short() {
		seeds = 1 // the race detector takes a quarter of a minute for each
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 2))
			files, disk := vfs.NewStrictMem(), newFaultyDisk()
			cfg := testConfig(t)
			mkdirSynced(t, files, filepath.Join(cfg.Dir, "index"))
			cfg.SegmentBytes, cfg.index, cfg.disk = 64<<10, files, disk
			s := open(t, cfg)
			large, small := addUntilCut(t, s, func() { disk.cut(); files.SetIgnoreSyncs(true) }, 2+r.IntN(40))
			_ = s.Close() // as a process that does not know yet
			files.ResetToSyncedState()
			files.SetIgnoreSyncs(false)
			cfg.disk = disk.afterCrash(r)
			s = open(t, cfg)
			for i := range small {
				checkTree(t, s, "small", fmt.Sprint("tree", i))
			}
			for i := range largeTried {
				checkLarge(t, s, i, large[i])
			}
		})
	}
}

const largeTried, largeBlocks = 200, 300

// addUntilCut commits large batches of one account and small ones of another, cuts the
// power after some of the small ones, and returns what was acknowledged.
func addUntilCut(t *testing.T, s *Store, cut func(), after int) (large map[int]bool, small int) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	large = map[int]bool{}
	for w := range 2 {
		wait.Go(func() {
			for i := w; i < largeTried && addLarge(s, i) == nil; i += 2 {
				mu.Lock()
				large[i] = true
				mu.Unlock()
			}
		})
	}
	for i := 0; ; i++ {
		if i == after {
			cut()
		}
		if _, err := addTree(s, "small", fmt.Sprint("tree", i)); err != nil {
			small = i
			break
		}
	}
	wait.Wait()
	return large, small
}

func addLarge(s *Store, seed int) error {
	b := s.Begin("large", 0)
	defer b.Abort()
	for i := range largeBlocks {
		data := content(10_000*seed+i, 64)
		hash, _ := multihash.Sum(data, multihash.SHA2_256, -1)
		if err := b.Put(context.Background(), cid.NewCidV1(cid.Raw, hash), data); err != nil {
			return err
		}
	}
	return b.Commit(context.Background())
}

// checkLarge checks that a batch is whole, or not there at all if nobody was told of it.
func checkLarge(t *testing.T, s *Store, seed int, acked bool) {
	t.Helper()
	there := 0
	for i := range largeBlocks {
		if _, err := s.Get(t.Context(), rawCID(t, content(10_000*seed+i, 64))); err == nil {
			there++
		}
	}
	if there != largeBlocks && (acked || there > 0) {
		t.Errorf("%d of %d blocks of batch %d are there; acknowledged: %v", there, largeBlocks, seed, acked)
	}
}

// TestManyPinsAreNoSmallBatch: pins are entered in the index as blocks are, so a batch of very
// many doesn't go before others.
func TestManyPinsAreNoSmallBatch(t *testing.T) {
	s := open(t, testConfig(t))
	b := s.Begin("a", 0)
	for i := range smallBatch + 1 {
		if !isSmall(b) {
			t.Errorf("a batch of %d pins is not small", i)
		}
		b.Pin(nodegate.Pin{CID: fmt.Sprint("c", i), Recursive: true})
	}
	if isSmall(b) || entriesOf(b) != smallBatch+1 {
		t.Errorf("a batch of %d pins is small", entriesOf(b))
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := s.Pins(ctx, "a", func(nodegate.Pin) bool {
		seen++
		cancel()
		return true
	})
	if !errors.Is(err, context.Canceled) || seen != 1 {
		t.Errorf("%d pins were listed for a client that left: %v", seen, err)
	}
}
