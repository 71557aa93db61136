package blockstore

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/cockroachdb/pebble/vfs/errorfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// failingFiles is the file system of an index whose writes fail while an error is set,
// in files whose name holds a word.
type failingFiles struct {
	word string
	with atomic.Pointer[error]
}

func (f *failingFiles) MaybeError(op errorfs.Op, path string) error {
	if err := f.with.Load(); err != nil && strings.Contains(path, f.word) && op.OpKind() == errorfs.OpKindWrite {
		return *err
	}
	return nil
}

func (f *failingFiles) String() string { return "failing" }

// The index can't write its files: uploads are refused with the reason, reads go on,
// nothing acknowledged is lost, and it works again by itself.
func TestIndexCannotFlush(t *testing.T) {
	full.Slow(t)
	for _, c := range []struct {
		word  string
		cause error
	}{{".sst", syscall.ENOSPC}, {".sst", syscall.EIO}, {"MANIFEST", syscall.ENOSPC}} {
		cause := c.cause
		t.Run(fmt.Sprint(c.word, cause), func(t *testing.T) {
			fault := &failingFiles{word: c.word}
			cfg := testConfig(t)
			cfg.index = errorfs.Wrap(vfs.NewMem(), fault)
			s := open(t, cfg)
			addAcked(t, s, "before")
			fault.with.Store(&cause)
			s.index.flushSoon()
			want := nodegate.Internal
			if cause == syscall.ENOSPC {
				want = nodegate.InsufficientStorage
			}
			refusal := waitFor(t, func() error { return s.Room() })
			wantCode(t, refusal, want)
			_, err := addTree(s, "acc", "refused")
			wantCode(t, err, want)
			checkTree(t, s, "acc", "before")
			if ready := s.Ready(); (ready != nil) != (cause == syscall.EIO) {
				t.Errorf("ready: %v", ready)
			}
			root, _ := tree("before")
			unpin(t, s, "acc", root) // which makes room, goes on
			must(t, s.Undo(t.Context(), "acc", root.String()))
			fault.with.Store(nil)
			for end := time.Now().Add(10 * time.Second); s.Room() != nil && time.Now().Before(end); time.Sleep(time.Millisecond) {
			}
			addAcked(t, s, "after")
			s = reopen(t, s)
			checkTree(t, s, "acc", "before")
			checkTree(t, s, "acc", "after")
		})
	}
}

func addAcked(t *testing.T, s *Store, name string) {
	t.Helper()
	if _, err := addTree(s, "acc", name); err != nil {
		t.Fatal(err)
	}
}

func waitFor(t *testing.T, failed func() error) error {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if err := failed(); err != nil {
			return err
		}
	}
	t.Fatal("nothing failed")
	return nil
}

// An error of the manifest's disk is final: writes stop, reads go on, the process
// lives, and the next start has all that was acknowledged.
func TestIndexManifestFails(t *testing.T) {
	cause := error(syscall.EIO)
	fault := &failingFiles{word: "MANIFEST"}
	cfg := testConfig(t)
	cfg.index = errorfs.Wrap(vfs.NewMem(), fault)
	s := open(t, cfg)
	var acked []string
	for i := range 5 {
		acked = append(acked, fmt.Sprint("n", i))
		addAcked(t, s, acked[i])
	}
	fault.with.Store(&cause)
	s.index.flushSoon()
	waitFor(t, s.Ready)
	_, err := addTree(s, "acc", "refused")
	wantCode(t, err, nodegate.Internal)
	b := s.Begin("acc", 0)
	root, _ := tree("n1")
	b.Unpin(root.String())
	wantCode(t, b.Commit(t.Context()), nodegate.Internal)
	for _, name := range acked {
		checkTree(t, s, "acc", name)
	}
	if err := s.Close(); err == nil {
		t.Error("the store closed as if nothing was wrong")
	}
	cfg.index = vfs.NewMem() // the old one belongs to a process that has ended
	s = open(t, cfg)
	for _, name := range acked {
		checkTree(t, s, "acc", name)
	}
	addAcked(t, s, "after")
}
