package blockstore

import (
	"fmt"
	"os/exec"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// Each operation on the disk fails once. What was acknowledged is there after a
// restart, and a full disk works again without one.
func TestFailingOperation(t *testing.T) {
	step := fewer(8, full.Rounds(1, 2))
	for i, cause := range []error{syscall.EIO, syscall.ENOSPC} {
		for n := 1 + i%step; n <= 40; n += step {
			t.Run(fmt.Sprint(cause, n), func(t *testing.T) {
				cfg := testConfig(t)
				cfg.SegmentBytes, cfg.index = 20<<10, vfs.NewMem()
				disk := newFaultyDisk()
				disk.failAt, disk.failWith = n, cause
				cfg.disk = disk
				s := open(t, cfg)
				var acked []string
				failed := 0
				for i := range 12 {
					name := fmt.Sprint("n", i)
					if _, err := addTree(s, "acc", name); err == nil {
						acked = append(acked, name)
						continue
					} else if cause == syscall.ENOSPC {
						wantCode(t, err, nodegate.InsufficientStorage)
					} else {
						wantCode(t, err, nodegate.Internal)
					}
					failed++
				}
				if failed == 0 || cause == syscall.ENOSPC && failed != 1 {
					t.Errorf("%d adds failed", failed)
				}
				for _, name := range acked {
					checkTree(t, s, "acc", name)
				}
				_ = s.Close() // may say that the last sync failed
				s = open(t, cfg)
				for _, name := range acked {
					checkTree(t, s, "acc", name)
				}
				if _, err := addTree(s, "acc", "after"); err != nil {
					t.Errorf("after a restart: %v", err)
				}
				s = loseIndex(t, s)
				for _, name := range append(acked, "after") {
					checkTree(t, s, "acc", name)
				}
			})
		}
	}
}

// After a failed sync nothing is acknowledged, even if the next sync would work:
// the kernel has dropped the data.
func TestFailedSyncIsNotRetried(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	cfg.disk = disk
	s := open(t, cfg)
	if _, err := addTree(s, "acc", "before"); err != nil || s.Ready() != nil {
		t.Fatal(err, s.Ready())
	}
	disk.mu.Lock()
	disk.failAt, disk.failWith = disk.ops+7, syscall.EIO // five blocks, a commit, the sync
	disk.mu.Unlock()
	for _, name := range []string{"a", "b"} {
		_, err := addTree(s, "acc", name)
		wantCode(t, err, nodegate.Internal)
	}
	checkTree(t, s, "acc", "before")
	if r, err := s.Report(t.Context()); err != nil || r.ReadOnly == "" || s.Ready() == nil {
		t.Errorf("%+v, %v, ready: %v", r, err, s.Ready())
	}
}

// A batch that wrote before the disk was full can't commit after it: a part of it
// may be lost.
func TestFullDiskEndsOpenBatches(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	cfg.disk = disk
	s := open(t, cfg)
	old := s.Begin("acc", 0)
	data := content(1, 1000)
	if err := old.Put(t.Context(), rawCID(t, data), data); err != nil {
		t.Fatal(err)
	}
	disk.mu.Lock()
	disk.failAt, disk.failWith = disk.ops+7, syscall.ENOSPC
	disk.mu.Unlock()
	_, err := addTree(s, "acc", "a")
	wantCode(t, err, nodegate.InsufficientStorage)
	if _, err := addTree(s, "acc", "b"); err != nil {
		t.Fatal(err)
	}
	wantCode(t, old.Commit(t.Context()), nodegate.InsufficientStorage)
	_, err = s.Get(t.Context(), rawCID(t, data))
	wantCode(t, err, nodegate.NotFound)
	checkTree(t, s, "acc", "b")
}

// Below the reserve, writes are refused and all else goes on. Room that a
// collection makes can be used at once.
func TestReserve(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	disk.capacity = 1 << 20
	cfg.disk, cfg.Reserve, cfg.SegmentBytes, cfg.Undo = disk, 256<<10, 128<<10, -1
	s := open(t, cfg)
	first := mustAdd(t, s, content(0, 50_000))
	var err error
	i := 1
	for ; err == nil; i++ {
		data := content(i, 50_000)
		err = add(s, "acc", rawCID(t, data), data)
	}
	wantCode(t, err, nodegate.InsufficientStorage)
	if i < 10 {
		t.Errorf("full after %d blocks", i)
	}
	wantBlock(t, s, first, content(0, 50_000))
	for j := 1; j < 10; j++ {
		unpin(t, s, "acc", rawCID(t, content(j, 50_000)))
	}
	if r := mustCollect(t, s); r.Blocks != 9 || r.Freed < 300_000 {
		t.Errorf("%+v", r)
	}
	mustAdd(t, s, content(100, 50_000))
	wantBlock(t, s, first, content(0, 50_000))
}

// Without a reserve, uploads that failed fill the disk to its last byte. A collection
// needs no room to take them away.
func TestCollectOnFullDisk(t *testing.T) {
	cfg := testConfig(t)
	disk := newFaultyDisk()
	disk.capacity = 1 << 20
	cfg.disk, cfg.SegmentBytes, cfg.Undo = disk, 2<<20, -1
	s := open(t, cfg)
	kept := mustAdd(t, s, content(0, 200_000))
	for w := range 3 {
		b := s.Begin("acc", 0)
		var err error
		for i := 0; err == nil; i++ {
			data := content(1000*w+i+1, 10_000)
			err = b.Put(t.Context(), rawCID(t, data), data)
		}
		wantCode(t, err, nodegate.InsufficientStorage)
		if w == 0 { // others' blocks stay while an upload is open
			if r := mustCollect(t, s); r.Freed != 0 {
				t.Errorf("an open upload lost its blocks: %+v", r)
			}
		}
		b.Abort()
	}
	r := mustCollect(t, s)
	must(t, s.reclaimer.reclaim()) // which may have taken them away before
	if used := disk.usedNow(); used > 300_000 {
		t.Errorf("%d bytes are in use: %+v", used, r)
	}
	next := mustAdd(t, s, content(5000, 500_000))
	for _, again := range []func(testing.TB, *Store) *Store{reopen, loseIndex} {
		s = again(t, s)
		wantBlock(t, s, kept, content(0, 200_000))
		wantBlock(t, s, next, content(5000, 500_000))
	}
}

// A real file system of 64 MiB runs full under parallel uploads.
func TestRealDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := exec.Command("mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", dir).Run(); err != nil {
		t.Skipf("no tmpfs here: %v", err)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	s := open(t, Config{Dir: dir, SegmentBytes: 8 << 20, Reserve: 8 << 20, ScrubRate: -1, Undo: -1})
	old := mustAdd(t, s, content(1, 1<<20))
	results := make(chan error, 4)
	for w := range 4 {
		go func() { results <- upload(t, s, w, 32) }()
	}
	full := 0
	for range 4 {
		if err := <-results; err != nil {
			wantCode(t, err, nodegate.InsufficientStorage)
			full++
		}
	}
	if full < 3 {
		t.Errorf("%d of 4 uploads of 32 MiB were refused on 64 MiB", full)
	}
	wantBlock(t, s, old, content(1, 1<<20))
	mustCollect(t, s)
	if err := upload(t, s, 9, 8); full == 4 && err != nil {
		t.Errorf("after a collection: %v", err)
	}
	s = reopen(t, s)
	wantBlock(t, s, old, content(1, 1<<20))
}

// upload stores and pins blocks of 1 MiB.
func upload(t *testing.T, s *Store, w, count int) error {
	b := s.Begin("acc", 0)
	defer b.Abort()
	for i := range count {
		data := content(1000*w+i, 1<<20)
		c := rawCID(t, data)
		if err := b.Put(t.Context(), c, data); err != nil {
			return err
		}
		b.Pin(nodegate.Pin{CID: c.String(), Size: 1 << 20})
	}
	return b.Commit(t.Context())
}
