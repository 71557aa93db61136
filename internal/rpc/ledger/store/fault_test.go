package store

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/test/full"
)

// faults makes operations on files fail while an error is set.
type faults struct {
	word  string // part of the names of the files
	kinds []errorfs.OpKind
	with  atomic.Pointer[error]
	hits  atomic.Int64
}

func (f *faults) MaybeError(op errorfs.Op) error {
	err := f.with.Load()
	if err == nil || !strings.Contains(filepath.Base(op.Path), f.word) {
		return nil
	}
	for _, kind := range f.kinds {
		if op.Kind == kind {
			f.hits.Add(1)
			return *err
		}
	}
	return nil
}

func (f *faults) String() string { return "faults" }

func (f *faults) set(err error) { f.with.Store(&err) }

var (
	writes = []errorfs.OpKind{errorfs.OpCreate, errorfs.OpFileWrite, errorfs.OpReuseForWrite, errorfs.OpFilePreallocate}
	syncs  = []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}
	reads  = []errorfs.OpKind{errorfs.OpFileRead, errorfs.OpFileReadAt, errorfs.OpOpen}
)

// smallTables is a store whose memtables are full soon.
func smallTables(fs vfs.FS) Config {
	cfg := testConfig(fs)
	cfg.memtable = 256 << 10
	return cfg
}

// heavyBlock is a block that fills memtables.
func heavyBlock(n uint64, parent [32]byte) *Block {
	b := testBlock(n, parent, n+1, [][32]byte{testHash("tx", 2*n), testHash("tx", 2*n+1)})
	b.Header = bytes.Repeat(fmt.Appendf(nil, "%d", n), 3000)
	return b
}

// chain appends blocks to a store and remembers those that were acknowledged.
type chain struct {
	s      *Store
	blocks []*Block
}

func (c *chain) next() *Block {
	if _, tip, ok := c.s.Tip(); ok {
		return heavyBlock(tip.Number+1, tip.Hash)
	}
	return heavyBlock(1, [32]byte{})
}

func (c *chain) grow(t testing.TB, count int) {
	t.Helper()
	for range count {
		b := c.next()
		must(t, c.s.Append(b))
		c.blocks = append(c.blocks, b)
	}
}

// growUntil appends until that fails.
func (c *chain) growUntil(t testing.TB) error {
	t.Helper()
	for range 2000 {
		b := c.next()
		if err := c.s.Append(b); err != nil {
			return err
		}
		c.blocks = append(c.blocks, b)
	}
	t.Fatal("nothing failed")
	return nil
}

// check reads everything that was acknowledged.
func (c *chain) check(t testing.TB) {
	t.Helper()
	for _, b := range c.blocks {
		must(t, checkBlock(c.s, b))
		m, ok, err := c.s.Canonical(b.Number)
		if err != nil || !ok || m.Hash != b.Hash {
			t.Fatalf("canonical %d: %v, %v, %v", b.Number, m, ok, err)
		}
		for i, tx := range b.Hashes {
			at, index, ok, err := c.s.Find(tx)
			if err != nil || !ok || index != i || at.Hash != b.Hash {
				t.Fatalf("transaction %d of %d: %v, %d, %v, %v", i, b.Number, at, index, ok, err)
			}
		}
	}
}

// within fails if something takes long.
func within(t testing.TB, limit time.Duration, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s takes longer than %v", what, limit)
	}
}

// While the disk is full, whichever file shows it, writes are refused and reads go on.
// When there is space again, writing goes on where it was.
func TestDiskFull(t *testing.T) {
	for _, word := range []string{".log", ".sst", "MANIFEST"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			f := &faults{word: word, kinds: writes}
			cfg := smallTables(errorfs.Wrap(vfs.NewMem(), f))
			c := &chain{s: openStore(t, cfg)}
			c.grow(t, 10)
			f.set(syscall.ENOSPC)
			wantCode(t, c.growUntil(t), nodegate.InsufficientStorage)
			wantCode(t, c.s.Failed(), nodegate.InsufficientStorage)
			c.check(t)
			_, tip, _ := c.s.Tip()
			if _, ok, err := c.s.Canonical(tip.Number + 1); ok || err != nil {
				t.Errorf("a block that is not on disk is canonical: %v, %v", ok, err)
			}
			within(t, 20*time.Second, "a refused write", func() { wantCode(t, c.s.Append(c.next()), nodegate.InsufficientStorage) })
			f.with.Store(nil)
			c.recover(t)
			c.grow(t, 10)
			must(t, c.s.Failed())
			must(t, c.s.Close())
			c.s = openStore(t, cfg)
			c.check(t)
			must(t, c.s.Close())
		})
	}
}

// recover waits until blocks can be written. The one that was refused may have arrived.
func (c *chain) recover(t testing.TB) {
	t.Helper()
	last := c.next()
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := c.s.Append(last)
		if err == nil {
			c.blocks = append(c.blocks, last)
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
		wantCode(t, err, nodegate.InsufficientStorage)
	}
}

// A disk that fails ends writing. Reads go on, the process lives, closing doesn't wait,
// and the next start has every block that was acknowledged.
func TestDiskFails(t *testing.T) {
	for _, c := range []struct {
		word  string
		kinds []errorfs.OpKind
		cause error
	}{
		{".log", writes, syscall.EIO}, {".log", syncs, syscall.EIO}, {".log", syncs, syscall.ENOSPC},
		{"MANIFEST", writes, syscall.EIO}, {"MANIFEST", syncs, syscall.EIO}, {"ledger", syncs, syscall.EIO},
		{".log", []errorfs.OpKind{errorfs.OpCreate, errorfs.OpReuseForWrite}, syscall.EROFS},
	} {
		t.Run(fmt.Sprint(c.word, c.kinds, c.cause), func(t *testing.T) {
			t.Parallel()
			f := &faults{word: c.word, kinds: c.kinds}
			mem := vfs.NewCrashableMem()
			cfg := smallTables(errorfs.Wrap(mem, f))
			c0 := &chain{s: openStore(t, cfg)}
			c0.grow(t, 10)
			f.set(c.cause)
			wantCode(t, c0.growUntil(t), nodegate.Internal)
			c0.check(t)
			f.with.Store(nil) // it stays failed, whatever the disk does now
			within(t, 20*time.Second, "a refused write", func() { wantCode(t, c0.s.Append(c0.next()), nodegate.Internal) })
			within(t, 20*time.Second, "a refused prune", func() {
				_, err := c0.s.Prune(5)
				wantCode(t, err, nodegate.Internal)
			})
			wantCode(t, c0.s.Failed(), nodegate.Internal)
			c0.check(t)
			c0.s.Bytes()
			within(t, 5*time.Second, "closing", func() {
				if c0.s.Close() == nil {
					t.Error("the store closed as if nothing was wrong")
				}
			})
			_, _, err := c0.s.ByHash([32]byte{})
			wantCode(t, err, nodegate.Internal)
			cfg.files = mem.CrashClone(vfs.CrashCloneCfg{})
			c0.s = openStore(t, cfg)
			c0.check(t)
			must(t, c0.s.Close())
		})
	}
}

// Tables that can't be written hold up writing for as long as that is so.
func TestTablesFail(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	f := &faults{word: ".sst", kinds: append(writes[:len(writes):len(writes)], syncs...)}
	cfg := smallTables(errorfs.Wrap(vfs.NewMem(), f))
	c := &chain{s: openStore(t, cfg)}
	c.grow(t, 10)
	f.set(syscall.EIO)
	wantCode(t, c.growUntil(t), nodegate.Internal)
	c.check(t)
	tries := f.hits.Load()
	time.Sleep(10 * retryPause)
	if more := f.hits.Load() - tries; more > 40 {
		t.Errorf("%d tries within %v: it keeps a core busy", more, 10*retryPause)
	}
	f.with.Store(nil)
	last := c.next()
	for end := time.Now().Add(20 * time.Second); c.s.Append(last) != nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
	}
	c.blocks = append(c.blocks, last)
	c.grow(t, 5)
	c.check(t)
	must(t, c.s.Close())
}

// What can't be read is an error, never a block that isn't there.
func TestReadFails(t *testing.T) {
	t.Parallel()
	f := &faults{word: ".sst", kinds: reads}
	cfg := testConfig(errorfs.Wrap(vfs.NewMem(), f))
	cfg.Memory = 0
	c := &chain{s: openStore(t, cfg)}
	c.grow(t, 100)
	must(t, c.s.db.pebble.Flush())
	must(t, c.s.Close())
	c.s = openStore(t, cfg)
	f.set(syscall.EIO)
	failed := 0
	for _, b := range c.blocks {
		at, ok, err := c.s.ByHash(b.Hash)
		if err == nil && !ok {
			t.Fatalf("block %d isn't there", b.Number)
		}
		if err != nil { // it doesn't say where the block is
			at = Place{Number: b.Number, Hash: b.Hash}
		}
		if _, err := c.s.Head(at); errors.Is(err, nodegate.NotFound) {
			t.Fatalf("head of block %d isn't there", b.Number)
		} else if err != nil {
			failed++
		}
		if _, _, ok, err := c.s.Find(b.Hashes[0]); err == nil && !ok {
			t.Fatalf("transaction of block %d isn't there", b.Number)
		}
		if _, ok, err := c.s.Canonical(b.Number); err == nil && !ok {
			t.Fatalf("pointer to block %d isn't there", b.Number)
		}
	}
	if failed == 0 {
		t.Error("nothing failed")
	}
	f.with.Store(nil)
	c.check(t)
	must(t, c.s.Close())
}

// A disk that doesn't work when the folder is opened is no reason to empty it, or to wait.
func TestOpenFails(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
		for _, kinds := range [][]errorfs.OpKind{reads, writes, syncs} {
			t.Run(fmt.Sprint(cause, kinds), func(t *testing.T) {
				t.Parallel()
				f := &faults{kinds: kinds}
				mem := vfs.NewCrashableMem()
				cfg := testConfig(errorfs.Wrap(mem, f))
				c := &chain{s: openStore(t, cfg)}
				c.grow(t, 20)
				must(t, c.s.Close())
				f.set(cause)
				within(t, 5*time.Second, "opening", func() {
					if s, err := Open(cfg); err == nil {
						t.Error("opened", s.Close())
					} else if !errors.Is(err, cause) {
						t.Errorf("got %v", err)
					}
				})
				cfg.files = mem.CrashClone(vfs.CrashCloneCfg{}) // after a restart
				c.s = openStore(t, cfg)
				c.check(t)
				must(t, c.s.Close())
			})
		}
	}
}

// A folder whose opening waited for space can be opened when there is some.
func TestOpenFull(t *testing.T) {
	t.Parallel()
	f := &faults{kinds: writes}
	cfg := testConfig(errorfs.Wrap(vfs.NewMem(), f))
	c := &chain{s: openStore(t, cfg)}
	c.grow(t, 20)
	must(t, c.s.Close())
	f.word = ".sst"
	f.set(syscall.ENOSPC)
	_, err := Open(cfg)
	wantCode(t, err, nodegate.InsufficientStorage)
	f.with.Store(nil)
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if c.s, err = Open(cfg); err == nil || time.Now().After(end) {
			break
		}
	}
	must(t, err)
	c.check(t)
	must(t, c.s.Close())
}

// Below the reserve nothing is written, but pruning makes space.
func TestReserve(t *testing.T) {
	cfg := testConfig(vfs.NewMem())
	c := &chain{s: openStore(t, cfg)}
	c.grow(t, 100)
	must(t, c.s.Close())
	cfg.Guard = disk.NewGuard(t.TempDir(), 1<<60)
	c.s = openStore(t, cfg)
	wantCode(t, c.s.Append(c.next()), nodegate.InsufficientStorage)
	wantCode(t, c.s.Put(c.next()), nodegate.InsufficientStorage)
	if n, err := c.s.Prune(51); n != 50 || err != nil {
		t.Errorf("pruned %d, %v", n, err)
	}
	c.blocks = c.blocks[50:]
	c.check(t)
	must(t, c.s.Close())
}

// A folder of another chain, genesis, stack or format is emptied, and says so.
func TestForeign(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"chain id": func(c *Config) { c.ChainID++ },
		"genesis":  func(c *Config) { c.Genesis[31]++ },
		"stack":    func(c *Config) { c.Stack = "op" },
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			cfg := testConfig(nil)
			cfg.Dir, cfg.Log = filepath.Join(t.TempDir(), "a", "ledger"), logger(&log)
			c := &chain{s: openStore(t, cfg)}
			c.grow(t, 100)
			must(t, c.s.Close())
			other := cfg
			change(&other)
			s := openStore(t, other)
			if _, _, ok := s.Tip(); ok || strings.Count(log.String(), "\n") != 1 || !strings.Contains(log.String(), "emptied") {
				t.Errorf("kept %v, log %s", ok, log.String())
			}
			if _, ok, err := s.ByHash(c.blocks[0].Hash); ok || err != nil {
				t.Errorf("a foreign block: %v, %v", ok, err)
			}
			must(t, s.Append(testBlock(9, [32]byte{}, 9, nil)))
			must(t, s.Close())
			c.s = openStore(t, other)
			if _, tip, ok := c.s.Tip(); !ok || tip.Number != 9 {
				t.Errorf("the new chain is gone: %v", tip)
			}
			must(t, c.s.Close())
		})
	}
}

// A folder that is no database is emptied; one that another process uses is not.
func TestUnusableFolder(t *testing.T) {
	cfg := testConfig(nil)
	cfg.Dir = t.TempDir()
	for name, text := range map[string]string{"marker.manifest.000001.MANIFEST-000001": "", "MANIFEST-000001": "garbage", "000004.log": "x", "OPTIONS-000003": "?"} {
		must(t, os.WriteFile(filepath.Join(cfg.Dir, name), []byte(text), 0o600))
	}
	must(t, os.MkdirAll(filepath.Join(cfg.Dir, "folder", "inside"), 0o700))
	c := &chain{s: openStore(t, cfg)}
	c.grow(t, 3)
	_, err := Open(cfg)
	wantCode(t, err, nodegate.BadConfig)
	c.check(t)
	must(t, c.s.Close())
	must(t, c.s.Close()) // again
	wantCode(t, c.s.Append(c.next()), nodegate.Internal)
	c.s = openStore(t, cfg)
	c.check(t)
	must(t, c.s.Close())
	if _, err := os.Stat(filepath.Join(cfg.Dir, "folder")); err == nil {
		t.Error("the folder was not emptied")
	}
}

// A wipe that is cut off is finished by the next start: what is left of the old database
// is never read.
func TestWipeCutOff(t *testing.T) {
	for n := range 12 {
		mem := vfs.NewMem()
		cfg := testConfig(mem)
		c := &chain{s: openStore(t, cfg)}
		c.grow(t, 60)
		must(t, c.s.Close())
		left := n
		cut := errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind == errorfs.OpRemoveAll || op.Kind == errorfs.OpRemove {
				if left--; left < 0 {
					return syscall.EIO
				}
			}
			return nil
		})
		other := cfg
		other.Genesis[0]++
		other.files = errorfs.Wrap(mem, cut)
		if s, err := Open(other); err == nil {
			must(t, s.Close())
		}
		s := openStore(t, cfg) // as the old chain
		if _, _, ok := s.Tip(); ok {
			t.Errorf("after %d removals the old chain is back", n)
		}
		must(t, s.Close())
	}
}
