package txjournal

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

func rawOf(i int) []byte { return bytes.Repeat([]byte(fmt.Sprintf("tx%d.", i)), 1+i%50) }

func hashOf(i int) Hash { return sha256.Sum256(rawOf(i)) }

func markOf(i int) Mark { return Mark{Number: uint64(i), Hash: hashOf(1000 + i)} }

func open(t *testing.T, path string) (*Journal, State) {
	t.Helper()
	j, s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = j.Close() })
	return j, s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func checkTxs(t *testing.T, s State, want ...int) {
	t.Helper()
	if len(s.Txs) != len(want) {
		t.Fatalf("%d transactions, want %d", len(s.Txs), len(want))
	}
	for k, i := range want {
		if s.Txs[k].Hash != hashOf(i) || !bytes.Equal(s.Txs[k].Raw, rawOf(i)) {
			t.Fatalf("transaction %d is another one", i)
		}
	}
}

func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	for i := range 3 {
		must(t, j.Add(hashOf(i), rawOf(i)))
	}
	size := j.size
	must(t, j.Add(hashOf(1), rawOf(1)))
	if j.size != size {
		t.Error("a known transaction was written again")
	}
	must(t, j.Head(markOf(7)))
	must(t, j.Close())
	_, s := open(t, path)
	checkTxs(t, s, 0, 1, 2)
	if s.Head == nil || *s.Head != markOf(7) {
		t.Errorf("the head is %v", s.Head)
	}
}

// countingFile counts syncs, and lets many senders come before the first returns.
type countingFile struct {
	file
	syncs   int
	entered chan struct{}
	release chan struct{}
}

func (f *countingFile) Sync() error {
	if f.syncs++; f.syncs == 1 {
		close(f.entered)
		<-f.release
	}
	return f.file.Sync()
}

func TestManySendersShareASync(t *testing.T) {
	const senders = 50
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	f := &countingFile{file: j.file, entered: make(chan struct{}), release: make(chan struct{})}
	j.file = f
	var wait sync.WaitGroup
	add := func(i int) {
		wait.Go(func() {
			if err := j.Add(hashOf(i), rawOf(i)); err != nil {
				t.Error(err)
			}
		})
	}
	add(0)
	<-f.entered
	for i := 1; i <= senders; i++ {
		add(i)
	}
	for waiting := 0; waiting < senders; {
		j.mu.Lock()
		waiting = len(j.next.txs)
		j.mu.Unlock()
	}
	close(f.release)
	wait.Wait()
	if f.syncs != 2 {
		t.Errorf("%d syncs for 1 + %d senders", f.syncs, senders)
	}
	must(t, j.Close())
	if _, s := open(t, path); len(s.Txs) != senders+1 {
		t.Errorf("%d transactions are there", len(s.Txs))
	}
}

// A power cut may leave any part of what was not synced yet.
func TestTornTail(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	must(t, j.Add(hashOf(0), rawOf(0)))
	synced := j.synced
	must(t, j.append(appendMark(nil, kindHead, j.synced, markOf(1))))
	for i := 1; i < 4; i++ {
		must(t, j.append(appendRecord(nil, kindTx, j.synced, slices.Concat(hashOfSlice(i), rawOf(i)))))
	}
	must(t, j.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	for at := synced; at < int64(len(whole)); at += 7 {
		torn := slices.Clone(whole)
		clear(torn[at:min(at+40, int64(len(torn)))]) // a page in between that was never written
		for _, data := range [][]byte{torn, whole[:at]} {
			must(t, os.WriteFile(path, data, 0o600))
			j, s, err := Open(path)
			if err != nil {
				t.Fatalf("at %d: %v", at, err)
			}
			if len(s.Txs) < 1 || s.Txs[0].Hash != hashOf(0) {
				t.Fatalf("at %d: what was synced is gone", at)
			}
			must(t, j.Add(hashOf(9), rawOf(9)))
			must(t, j.Close())
			j, s, err = Open(path)
			if err != nil || s.Txs[len(s.Txs)-1].Hash != hashOf(9) {
				t.Fatalf("at %d: %v, %d transactions", at, err, len(s.Txs))
			}
			must(t, j.Close())
		}
	}
}

func hashOfSlice(i int) []byte { h := hashOf(i); return h[:] }

// What was synced and is not whole any more is reported, and the file stays as it is.
func TestDamage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	for i := range 5 {
		must(t, j.Add(hashOf(i), rawOf(i)))
	}
	last := j.txs[4].at
	must(t, j.Close())
	whole, err := os.ReadFile(path)
	must(t, err)
	for at := int64(0); at < last; at += 3 {
		bad := slices.Clone(whole)
		bad[at] ^= 0x10
		must(t, os.WriteFile(path, bad, 0o600))
		if _, _, err := Open(path); !errors.Is(err, ErrDamaged) {
			t.Fatalf("a flipped bit at %d of %d: %v", at, len(whole), err)
		}
		if now, _ := os.ReadFile(path); !bytes.Equal(now, bad) {
			t.Fatal("the damaged file was changed")
		}
	}
}

func TestCompact(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	for i := range 20 {
		must(t, j.Add(hashOf(i), rawOf(i)))
	}
	before := j.size
	must(t, j.Compact(markOf(3), func(h Hash) bool { return h == hashOf(4) || h == hashOf(17) }))
	must(t, j.Add(hashOf(30), rawOf(30)))
	must(t, j.Add(hashOf(5), rawOf(5))) // forgotten, so it is written again
	if j.size >= before {
		t.Errorf("%d bytes before, %d after", before, j.size)
	}
	must(t, j.Compact(markOf(4), func(h Hash) bool { return h != hashOf(4) }))
	must(t, j.Close())
	_, s := open(t, path)
	checkTxs(t, s, 17, 30, 5)
	if *s.Head != markOf(4) {
		t.Errorf("the head is %v", s.Head)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestRewind(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	must(t, j.Add(hashOf(0), rawOf(0)))
	must(t, j.Head(markOf(8)))
	must(t, j.Rewind(markOf(5)))
	must(t, j.Close())
	j, s := open(t, path) // killed before the chain was set back, or right after
	checkTxs(t, s, 0)
	if *s.Rewind != markOf(5) || *s.Head != markOf(8) || s.Before != 1 {
		t.Errorf("%+v", s)
	}
	must(t, j.Head(markOf(5)))
	must(t, j.Add(hashOf(1), rawOf(1)))
	must(t, j.Close())
	_, s = open(t, path)
	checkTxs(t, s, 1)
	if s.Rewind != nil || *s.Head != markOf(5) {
		t.Errorf("%+v", s)
	}
}

// failingFile fails what it is told to.
type failingFile struct {
	file
	write, sync error
}

func (f *failingFile) WriteAt(b []byte, at int64) (int, error) {
	if f.write != nil {
		n, _ := f.file.WriteAt(b[:len(b)/2], at)
		return n, f.write
	}
	return f.file.WriteAt(b, at)
}

func (f *failingFile) Sync() error {
	if f.sync != nil {
		return f.sync
	}
	return f.file.Sync()
}

func TestFailures(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j, _ := open(t, path)
	f := &failingFile{file: j.file}
	j.file = f
	must(t, j.Add(hashOf(0), rawOf(0)))
	f.write = syscall.ENOSPC
	if err := j.Add(hashOf(1), rawOf(1)); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("a full disk: %v", err)
	}
	f.write = nil
	must(t, j.Add(hashOf(2), rawOf(2))) // goes on when there is space again
	f.sync = syscall.EIO
	if err := j.Add(hashOf(3), rawOf(3)); !errors.Is(err, ErrFailed) || !errors.Is(err, syscall.EIO) {
		t.Fatalf("a failed sync: %v", err)
	}
	f.sync = nil
	if err := j.Add(hashOf(4), rawOf(4)); !errors.Is(err, ErrFailed) {
		t.Fatalf("after a failed sync: %v", err)
	}
	if err := errors.Join(j.Head(markOf(1))); !errors.Is(err, ErrFailed) {
		t.Fatalf("a head after a failed sync: %v", err)
	}
	_, s, err := Open(path)
	must(t, err)
	if len(s.Txs) < 2 || s.Txs[0].Hash != hashOf(0) || s.Txs[1].Hash != hashOf(2) {
		t.Errorf("%d transactions are there", len(s.Txs))
	}
}

func TestNilJournal(t *testing.T) {
	var j *Journal
	if j.Due() {
		t.Error("a journal of nothing is due")
	}
	must(t, errors.Join(j.Add(hashOf(0), rawOf(0)), j.Head(markOf(1)), j.Rewind(markOf(1)), j.Compact(markOf(1), nil), j.Close()))
}
