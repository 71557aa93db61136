package chain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// badFS is a file system whose files fail.
type badFS struct {
	vfs.FS
	err error
}

func (fs badFS) Create(string, vfs.DiskWriteCategory) (vfs.File, error) {
	return badFile{err: fs.err}, nil
}

func (fs badFS) Open(string, ...vfs.OpenOption) (vfs.File, error) { return badFile{err: fs.err}, nil }

type badFile struct {
	vfs.File
	err error
}

func (f badFile) Write([]byte) (int, error)         { return 0, f.err }
func (f badFile) SyncData() error                   { return f.err }
func (f badFile) ReadAt([]byte, int64) (int, error) { return 0, f.err }

// ends tells whether something returns. It has little time where it shouldn't, and much
// where it should.
func ends(do func(), should bool) bool {
	limit := 100 * time.Millisecond
	if should {
		limit = patience
	}
	done := make(chan struct{})
	go func() { do(); close(done) }()
	select {
	case <-done:
		return true
	case <-time.After(limit):
		return false
	}
}

// A failed write to a file that the database can't do without stops the network and
// never returns; one to any other file, or of a folder that is not served, is returned.
func TestFailedWrites(t *testing.T) {
	full.Slow(t)
	for _, c := range []struct {
		file          string
		err           error
		served        bool
		returns, stop bool
	}{
		{"000012.log", syscall.EIO, true, false, true},
		{"000012.log", syscall.ENOSPC, true, false, true},
		{"MANIFEST-000001", syscall.EIO, true, false, true},
		{"000012.sst", syscall.ENOSPC, true, true, false},
		{"000012.log", syscall.EIO, false, true, false},
	} {
		cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
		n := openTemp(t, cfg)
		dir := cfg.Dir
		if !c.served {
			dir = t.TempDir()
		}
		f, err := watchedFS{badFS{err: c.err}}.Create(filepath.Join(dir, nodeName, "chaindata", c.file), "")
		mustDo(t, err)
		if got := ends(func() { _, _ = f.Write([]byte("x")) }, c.returns); got != c.returns {
			t.Errorf("%v: a write returned: %v", c, got)
		}
		if got := ends(func() { _ = f.SyncData() }, c.returns); got != c.returns {
			t.Errorf("%v: a sync returned: %v", c, got)
		}
		if got := n.Ready() != nil; got != c.stop {
			t.Errorf("%v: the network stopped: %v", c, got)
		}
	}
}

// What can't be read is not what is not there.
func TestFailedRead(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n := openTemp(t, cfg)
	f, err := watchedFS{badFS{err: syscall.EIO}}.Open(filepath.Join(cfg.Dir, nodeName, "chaindata", "000012.sst"))
	mustDo(t, err)
	if _, err := f.ReadAt(make([]byte, 1), 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a read: %v", err)
	}
	_, err = n.Call(t.Context(), "eth_blockNumber", []byte("[]"))
	wantCode(t, err, nodegate.NoNode)
}

// A network whose disk hangs with a lock held answers every call with an error, at once,
// and can be closed. Others are not touched.
func TestStoppedNetwork(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	other := openTemp(t, presetConfig(devchain.Rollup(), filepath.Join(t.TempDir(), "chain")))
	p := n.engine.producer
	_, err := p.change() // whoever changes the chain never comes back
	mustDo(t, err)
	p.durable.Store(nil)
	s := newSender(n, 0)
	requests := []request{{"eth_blockNumber", "[]"}, {"eth_getBlockReceipts", `["latest"]`}, {sendMethod, string(rawParams(s.setValue(1)))}, {"evm_mine", "[]"}, {"eth_call", `[{},"latest"]`}}
	answers := make(chan error, len(requests))
	for _, r := range requests {
		go func() {
			_, err := n.Call(t.Context(), r.method, []byte(r.params))
			answers <- err
		}()
	}
	time.Sleep(20 * time.Millisecond)
	faults.stop("can't write "+n.engine.dir+"/chain/x", syscall.EIO)
	for range requests {
		select {
		case err := <-answers:
			if err != nil {
				wantCode(t, err, nodegate.NoNode)
			}
		case <-time.After(patience):
			t.Fatal("a call hangs")
		}
	}
	for _, r := range requests {
		_, err := n.Call(t.Context(), r.method, []byte(r.params))
		wantCode(t, err, nodegate.NoNode)
	}
	if err := other.Ready(); err != nil {
		t.Errorf("the other network: %v", err)
	}
	call(t, other, "eth_blockNumber", "[]")
}

// roleMine mines and prints each block, until it is killed.
func roleMine(dir string) {
	n, err := Open(presetConfig(devchain.Devnet(), dir))
	for i := 0; err == nil; i++ {
		if _, err = n.engine.producer.seal(); err == nil {
			fmt.Println(i)
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// Bits that flip in the middle of the chain's log make its database shorter without a
// word. The next start says which blocks are lost and changes nothing.
func TestFlippedBits(t *testing.T) {
	full.Slow(t)
	base := filepath.Join(t.TempDir(), "chain")
	cmd := child(t, "mine", base)
	out, err := cmd.StdoutPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	linesOf(out, func(line string) {
		if line == "120" {
			_ = cmd.Process.Kill()
		}
	})
	_ = cmd.Wait()
	for _, part := range []float64{0.1, 0.35, 0.6, 0.85} {
		dir := filepath.Join(t.TempDir(), "chain")
		mustDo(t, os.CopyFS(dir, os.DirFS(base)))
		flipNewestLog(t, filepath.Join(dir, nodeName, "chaindata"), part)
		before := contentsOf(t, dir)
		_, err := Open(presetConfig(devchain.Devnet(), dir))
		if e := wantCode(t, err, nodegate.BadConfig); !strings.Contains(e.Msg, "has lost blocks") {
			t.Errorf("at %.0f %%: %v", 100*part, e)
		}
		for name, data := range before {
			if now, err := os.ReadFile(name); err != nil || string(now) != data {
				t.Errorf("%s was changed: %v", name, err)
			}
		}
	}
	n := openTemp(t, presetConfig(devchain.Devnet(), base))
	if got := head(t, n); got < 130 {
		t.Errorf("without damage the head is %d", got)
	}
}

// Without the older of two logs the newest block is there and what it stands on is not.
// The folder is refused as it is, and whole with the log back in its place.
func TestMissingOlderLog(t *testing.T) {
	cfg := presetConfig(devchain.Rollup(), filepath.Join(t.TempDir(), "chain"))
	before := answersOf(t, cfg)
	logs, err := filepath.Glob(filepath.Join(cfg.Dir, nodeName, "chaindata", "*.log"))
	mustDo(t, err)
	if len(logs) < 2 {
		t.Fatalf("this database has %d logs", len(logs))
	}
	for _, name := range logs {
		mustDo(t, os.Rename(name, filepath.Join(cfg.Dir, "away")))
		_, err := Open(cfg)
		wantCode(t, err, nodegate.BadConfig)
		mustDo(t, os.Rename(filepath.Join(cfg.Dir, "away"), name))
	}
	if answersOf(t, cfg) != before {
		t.Error("the chain has changed")
	}
}

// flipNewestLog flips a bit in each of 64 bytes of the log that is written to.
func flipNewestLog(t *testing.T, dir string, part float64) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(dir, "*.log"))
	mustDo(t, err)
	if len(logs) == 0 {
		t.Fatal("this database has no log")
	}
	data, err := os.ReadFile(logs[len(logs)-1])
	mustDo(t, err)
	written := len(strings.TrimRight(string(data), "\x00")) // the rest is space for more
	for i := range 64 {
		data[int(part*float64(written))+i] ^= 4
	}
	mustDo(t, os.WriteFile(logs[len(logs)-1], data, 0o600))
}
