package blockstore

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/vfs"

	"github.com/nodegate/nodegate"
)

// Sixteen uploads of 60 % of the quota run beside each other. At most
// one gets through, and the others leave nothing.
func TestQuotaRace(t *testing.T) {
	const quota, blocks, size = 1_000_000, 60, 10_000
	for _, pinned := range []bool{true, false} {
		t.Run(fmt.Sprint("pinned ", pinned), func(t *testing.T) {
			s := open(t, testConfig(t))
			var done atomic.Int32
			var wait sync.WaitGroup
			for w := range 16 {
				wait.Go(func() {
					err := uploadQuota(t, s, w, blocks, size, quota, pinned)
					if err == nil {
						done.Add(1)
					} else if !errors.Is(err, nodegate.QuotaReached) {
						t.Error(err)
					}
				})
			}
			wait.Wait()
			if n := s.Stored("acc"); n > quota || n != int64(done.Load())*blocks*size {
				t.Errorf("%d bytes stored by %d uploads", n, done.Load())
			}
			if len(s.quotas.reserved) > 0 {
				t.Errorf("still reserved: %v", s.quotas.reserved)
			}
			err := uploadQuota(t, s, 99, 40, size, quota, pinned)
			if want := done.Load() <= 1; (err == nil) != want {
				t.Errorf("the rest of the quota: %v", err)
			}
		})
	}
}

func uploadQuota(t *testing.T, s *Store, w, blocks, size int, quota int64, pinned bool) error {
	b := s.Begin("acc", quota)
	defer b.Abort()
	for i := range blocks {
		data := content(1000*w+i, size)
		if err := b.Put(t.Context(), rawCID(t, data), data); err != nil {
			return err
		}
	}
	if pinned {
		b.Pin(nodegate.Pin{CID: rawCID(t, content(1000*w, size)).String(), Size: int64(blocks * size)})
	}
	return b.Commit(t.Context())
}

// Every root pays its full size, whoever else has it; adding again costs nothing.
func TestQuota(t *testing.T) {
	s := open(t, testConfig(t))
	data := content(1, 600)
	c := rawCID(t, data)
	try := func(account string, size int64) error {
		b := s.Begin(account, 1000)
		defer b.Abort()
		if err := b.Put(t.Context(), c, data); err != nil {
			return err
		}
		b.Pin(nodegate.Pin{CID: c.String(), Size: size})
		return b.Commit(t.Context())
	}
	must(t, try("a", 600))
	must(t, try("b", 600))
	must(t, try("a", 600))
	wantCode(t, try("a", 1001), nodegate.QuotaReached)
	other := s.Begin("a", 1000)
	wantCode(t, other.Put(t.Context(), rawCID(t, content(2, 401)), content(2, 401)), nodegate.QuotaReached)
	other.Abort()
	pin := s.Begin("a", 1000)
	pin.Pin(nodegate.Pin{CID: "bafkqaaa", Size: 401})
	wantCode(t, pin.Commit(t.Context()), nodegate.QuotaReached)
	unpin(t, s, "a", c) // is possible whatever the quota is
	if s.Stored("a") != 600 || s.Stored("b") != 600 || len(s.quotas.reserved) > 0 {
		t.Errorf("stored %d and %d, reserved %v", s.Stored("a"), s.Stored("b"), s.quotas.reserved)
	}
}

// What is loose beside a pin counts after a restart too, with and without the index.
// A commit that fails leaves no charge.
func TestLooseBesidePin(t *testing.T) {
	cfg := testConfig(t)
	cfg.index = vfs.NewMem()
	s := open(t, cfg)
	must(t, addBeside(t, s, 1, 10_000))
	wantCode(t, addBeside(t, s, 2, 10_000), nodegate.QuotaReached)
	check := func(when string) {
		t.Helper()
		if n := s.Stored("acc"); n != 6_000 || len(s.quotas.reserved) > 0 {
			t.Errorf("%s: %d bytes stored, reserved %v", when, n, s.quotas.reserved)
		}
	}
	check("at once")
	s = reopen(t, s)
	check("after a restart")
	must(t, s.Close())
	must(t, cfg.index.RemoveAll(s.files.indexDir()))
	s = open(t, cfg)
	check("without the index")
}

// addBeside pins a block of 1,000 bytes and leaves one of 5,000 loose.
func addBeside(t *testing.T, s *Store, seed int, quota int64) error {
	b := s.Begin("acc", quota)
	defer b.Abort()
	kept, other := content(2*seed, 1_000), content(2*seed+1, 5_000)
	for _, data := range [][]byte{kept, other} {
		if err := b.Put(t.Context(), rawCID(t, data), data); err != nil {
			return err
		}
	}
	b.Pin(nodegate.Pin{CID: rawCID(t, kept).String(), Size: 1_000})
	b.Loose(5_000)
	return b.Commit(t.Context())
}

// A stored block that is put again and stays loose lives as long as it is charged, also
// after a restart.
func TestLooseAgainBesidePin(t *testing.T) {
	clock := newClock()
	cfg := testConfig(t)
	cfg.index, cfg.now, cfg.Undo = vfs.NewMem(), clock.Now, time.Hour
	s := open(t, cfg)
	must(t, addBeside(t, s, 1, 0))
	clock.Advance(50 * time.Minute)
	must(t, addBeside(t, s, 1, 0))
	must(t, s.Close())
	must(t, cfg.index.RemoveAll(s.files.indexDir()))
	s = open(t, cfg)
	clock.Advance(30 * time.Minute)
	if _, err := s.Collect(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if n := s.Stored("acc"); n != 6_000 {
		t.Errorf("%d bytes stored", n)
	}
	if _, err := s.Get(t.Context(), rawCID(t, content(3, 5_000))); err != nil {
		t.Error(err)
	}
}
