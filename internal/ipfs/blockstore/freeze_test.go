package blockstore

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
)

// copyFrozen copies the log of a store as a backup does, and opens the copy.
func copyFrozen(t *testing.T, s *Store, list []Segment) *Store {
	t.Helper()
	c := testConfig(t)
	must(t, os.MkdirAll(filepath.Join(c.Dir, "segments"), 0o700))
	for _, seg := range list {
		data, err := os.ReadFile(filepath.Join(s.cfg.Dir, "segments", seg.Name))
		must(t, err)
		if int64(len(data)) < seg.Size {
			t.Fatalf("%s has %d bytes, %d were frozen", seg.Name, len(data), seg.Size)
		}
		must(t, os.WriteFile(filepath.Join(c.Dir, "segments", seg.Name), data[:seg.Size], 0o600))
	}
	return open(t, c)
}

// A frozen log stays as it is while uploads are added, aborted and removed. A copy of it
// has everything from before, and nothing of what came later.
func TestFreeze(t *testing.T) {
	cfg := testConfig(t)
	cfg.SegmentBytes, cfg.Undo = 1<<20, -1
	s := open(t, cfg)
	var before []cid.Cid
	broken := s.Begin("acc", 0)
	for i := range 40 {
		put(t, broken, 1000+i, 1, 100_000)
		before = append(before, mustAdd(t, s, content(i, 20_000)))
	}
	list, thaw, err := s.Freeze(t.Context())
	must(t, err)
	defer thaw()
	if len(list) < 3 {
		t.Fatalf("%d segments", len(list))
	}

	// All that would change the log: an aborted upload, its space, removed pins, a collection.
	broken.Abort()
	must(t, s.reclaimer.reclaim())
	for _, c := range before[:30] {
		unpin(t, s, "acc", c)
	}
	later := mustAdd(t, s, content(500, 20_000))
	wantCode(t, errOf(s.Collect(t.Context(), false)), nodegate.Conflict)

	restored := copyFrozen(t, s, list)
	for i, c := range before {
		wantBlock(t, restored, c, content(i, 20_000))
	}
	wantPins(t, restored, "acc", before...)
	_, err = restored.Get(t.Context(), later)
	wantCode(t, err, nodegate.NotFound)

	thaw()
	thaw() // has no effect
	must(t, s.reclaimer.reclaim())
	used := func() (n int64) {
		for _, number := range s.log.segs.numbers() {
			n += s.log.segs.size(number)
		}
		return n
	}
	size := used()
	if r := mustCollect(t, s); r.Segments == 0 || used() >= size {
		t.Errorf("after the backup nothing is collected: %+v", r)
	}
	for i, c := range before[30:] {
		wantBlock(t, s, c, content(30+i, 20_000))
	}
}

// Space of an upload behind what is frozen is given back at once.
func TestFrozenGivesLaterSpaceBack(t *testing.T) {
	s := open(t, testConfig(t))
	mustAdd(t, s, content(1, 1000))
	early := s.Begin("acc", 0)
	put(t, early, 10, 5, 100_000)
	_, thaw, err := s.Freeze(t.Context())
	must(t, err)
	late := s.Begin("acc", 0)
	put(t, late, 100, 5, 100_000)
	early.Abort()
	late.Abort()
	must(t, s.reclaimer.reclaim())
	s.uploads.mu.Lock()
	left := s.uploads.discarded.bytes()
	s.uploads.mu.Unlock()
	if left < 500_000 || left > 600_000 {
		t.Errorf("%d bytes wait for the backup, want those of one upload", left)
	}
	thaw()
	for wait := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		s.uploads.mu.Lock()
		left := len(s.uploads.discarded)
		s.uploads.mu.Unlock()
		if left == 0 {
			break
		}
		if time.Now().After(wait) {
			t.Fatal("the space is never given back")
		}
	}
}

// A backup waits for a collection that runs, and not longer than its caller.
func TestFreezeWaits(t *testing.T) {
	s := open(t, testConfig(t))
	s.collecting <- struct{}{}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.Freeze(ctx)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	<-s.collecting
	_, thaw, err := s.Freeze(t.Context())
	must(t, err)
	must(t, s.Close())
	thaw()
}
