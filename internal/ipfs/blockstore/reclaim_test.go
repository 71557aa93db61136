package blockstore

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/ipfs/go-cid"
	"github.com/nodegate/nodegate"
	space "github.com/nodegate/nodegate/internal/disk"
)

// put writes blocks into a batch.
func put(t testing.TB, b *Batch, from, count, size int) {
	t.Helper()
	for i := from; i < from+count; i++ {
		data := content(i, size)
		if err := b.Put(context.Background(), rawCID(t, data), data); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *faultyDisk) usedNow() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

// An upload that is broken off gives its space back, also where others wrote between
// its blocks, and whatever the size of these is. The others lose nothing.
func TestAbortGivesSpaceBack(t *testing.T) {
	for _, size := range []int{300, 30_000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			cfg := testConfig(t)
			disk := newFaultyDisk()
			cfg.disk, cfg.index = disk, vfs.NewMem()
			s := open(t, cfg)
			var kept []cid.Cid
			broken, other := s.Begin("acc", 0), s.Begin("other", 0)
			for i := range 8 {
				put(t, broken, 1000*i, 400_000/size, size)
				put(t, other, 50_000+i, 1, 20_000)
				kept = append(kept, mustAdd(t, s, content(90_000+i, 10_000)))
			}
			before := disk.usedNow()
			broken.Abort()
			must(t, s.reclaimer.reclaim())
			if freed := before - disk.usedNow(); freed < 3_000_000 {
				t.Errorf("%d of %d bytes are free again", freed, before)
			}
			must(t, other.Commit(t.Context()))
			for _, reopened := range []func(testing.TB, *Store) *Store{func(_ testing.TB, s *Store) *Store { return s }, reopen, loseIndex} {
				s = reopened(t, s)
				for i, c := range kept {
					wantBlock(t, s, c, content(90_000+i, 10_000))
					data := content(50_000+i, 20_000)
					wantBlock(t, s, rawCID(t, data), data)
				}
				_, err := s.Get(t.Context(), rawCID(t, content(1000, size)))
				wantCode(t, err, nodegate.NotFound)
			}
			mustCollect(t, s)
			for i, c := range kept {
				wantBlock(t, s, c, content(90_000+i, 10_000))
			}
		})
	}
}

// Without sparse files the end of the log is cut off, once that is known.
func TestAbortWithoutHoles(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	disk.noHoles = true
	cfg.disk = disk
	s := open(t, cfg)
	first := mustAdd(t, s, content(1, 1000))
	for range 2 {
		b := s.Begin("acc", 0)
		put(t, b, 10, 10, 50_000)
		b.Abort()
		if err := s.reclaimer.reclaim(); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			t.Fatal(err)
		}
	}
	if used := disk.usedNow(); used > 700_000 {
		t.Errorf("%d bytes are in use", used)
	}
	wantBlock(t, loseIndex(t, s), first, content(1, 1000))
}

// What uploads had written when the process ended is given back at the next start.
func TestStartGivesSpaceBack(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	cfg.disk, cfg.index = disk, vfs.NewMem()
	s := open(t, cfg)
	first := mustAdd(t, s, content(1, 1000))
	put(t, s.Begin("acc", 0), 10, 40, 50_000) // never ends
	must(t, s.Close())
	before := disk.usedNow()
	s = open(t, cfg)
	for wait := time.Now().Add(10 * time.Second); before-disk.usedNow() < 1_900_000; time.Sleep(time.Millisecond) {
		if time.Now().After(wait) {
			t.Fatalf("%d bytes are in use, %d before", disk.usedNow(), before)
		}
	}
	wantBlock(t, s, first, content(1, 1000))
}

// Aborted, refused and unfinished uploads leave the room that they found: a disk that
// holds one of them holds the hundredth.
func TestAbortsOnASmallDisk(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	disk.capacity = 3 << 20
	cfg.disk, cfg.Reserve = disk, 512<<10
	s := open(t, cfg)
	for i := range 20 {
		b := s.Begin("acc", 1_500_000)
		var err error
		for j := 0; err == nil; j++ {
			data := content(1000*i+j, 100_000)
			err = b.Put(t.Context(), rawCID(t, data), data)
		}
		wantCode(t, err, nodegate.QuotaReached)
		b.Abort()
		must(t, s.reclaimer.reclaim())
	}
	mustAdd(t, s, content(1, 1_000_000))
}

// Writers beside each other can't pass the reserve together.
func TestReserveCountsWritesInFlight(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	disk.capacity = 2 << 20
	cfg.disk, cfg.Reserve = disk, 1<<20
	s := open(t, cfg)
	if err := s.room.claim(600 << 10); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.room.claim(600<<10), nodegate.InsufficientStorage)
	s.room.release(600 << 10)
	if err := s.room.claim(600 << 10); err != nil {
		t.Fatal(err)
	}
	s.room.release(600 << 10)
	if n := s.room.claimed.Load(); n != 0 {
		t.Errorf("%d bytes are claimed by nobody", n)
	}
}

// Uploads of the same content, side by side: some abort, some commit, and collections
// run beside them. What was committed stays whole, also for a start without an index.
func TestAbortBesideCommitOfTheSame(t *testing.T) {
	cfg := testConfig(t)
	cfg.SegmentBytes = 2 << 20
	s := open(t, cfg)
	var wait sync.WaitGroup
	stop := make(chan struct{})
	const rounds, blocks, size = 12, 30, 20_000
	for w := range 4 {
		wait.Go(func() {
			for round := range rounds {
				b := s.Begin(fmt.Sprint("acc", w), 0)
				put(t, b, 1000*round, blocks, size)
				if (w+round)%2 == 0 {
					b.Abort()
					continue
				}
				for i := range blocks {
					b.Pin(nodegate.Pin{CID: rawCID(t, content(1000*round+i, size)).String(), Size: size, Recursive: true})
				}
				if err := b.Commit(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	var background sync.WaitGroup
	background.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_, _ = s.Collect(context.Background(), false)
				_ = s.reclaimer.reclaim()
			}
		}
	})
	wait.Wait()
	close(stop)
	background.Wait()
	must(t, s.reclaimer.reclaim())
	check := func() {
		for round := range rounds {
			for i := range blocks {
				data := content(1000*round+i, size)
				wantBlock(t, s, rawCID(t, data), data)
			}
		}
	}
	check()
	s = loseIndex(t, s)
	check()
	if r, err := s.Report(t.Context()); err != nil || r.Damaged > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}

// On a real file system the free space shows it.
func TestAbortOnARealDisk(t *testing.T) {
	cfg := testConfig(t)
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", cfg.Dir).CombinedOutput(); err != nil {
		t.Skipf("no right to mount: %s", out)
	}
	t.Cleanup(func() { _ = syscall.Unmount(cfg.Dir, 2) })
	s := open(t, cfg)
	t.Cleanup(func() { _ = s.Close() })
	before, err := space.Free(cfg.Dir)
	must(t, err)
	for i := range 4 {
		b := s.Begin("acc", 0)
		put(t, b, 1000*i, 25, 1_000_000)
		mustAdd(t, s, content(i, 1000))
		b.Abort()
		must(t, s.reclaimer.reclaim())
	}
	after, err := space.Free(cfg.Dir)
	must(t, err)
	if before-after > 1<<20 {
		t.Errorf("%d bytes less are free", before-after)
	}
}
