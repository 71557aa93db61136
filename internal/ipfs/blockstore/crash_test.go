package blockstore

import (
	"bufio"
	"context"
	"errors"
	commandline "flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// These make a copy of the test binary add blocks until it is killed.
const (
	prefixVariable = "NODEGATE_TEST_ROLE"
	folderVariable = "NODEGATE_TEST_FOLDER"
)

func TestMain(m *testing.M) {
	if prefix := os.Getenv(prefixVariable); prefix != "" {
		roleAdd(prefix, os.Getenv(folderVariable))
		return
	}
	// The command line is read later, and has the last word.
	if err := commandline.Set("rapid.checks", fmt.Sprint(full.Rounds(100, 25))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// roleAdd adds and pins from four goroutines and prints what is acknowledged.
// Beside that it collects.
func roleAdd(prefix, dir string) {
	s, err := Open(context.Background(), Config{Dir: dir, SegmentBytes: 256 << 10, Links: links, ScrubRate: -1, Undo: -1})
	if err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	go func() {
		for {
			if _, err := s.Collect(context.Background(), false); err != nil {
				fmt.Println("error:", err)
			}
		}
	}()
	var wait sync.WaitGroup
	for w := range 4 {
		wait.Go(func() {
			for i := 0; ; i++ {
				name := fmt.Sprintf("%s-%d-%d", prefix, w, i)
				if _, err := addTree(s, "acc", name); err != nil {
					fmt.Println("error:", err)
					return
				}
				fmt.Println(name)
			}
		})
	}
	wait.Wait()
	os.Exit(1)
}

// addTree stores a node with three leaves that a name gives, and pins it. Beside
// it, the batch leaves a block that nothing keeps.
func addTree(s *Store, account, name string) (cid.Cid, error) {
	b := s.Begin(account, 0)
	defer b.Abort()
	root, nodes := tree(name)
	for c, data := range nodes {
		if err := b.Put(context.Background(), c, data); err != nil {
			return cid.Undef, err
		}
	}
	waste := []byte("waste of " + name)
	hash, _ := multihash.Sum(waste, multihash.SHA2_256, -1)
	if err := b.Put(context.Background(), cid.NewCidV1(cid.Raw, hash), waste); err != nil {
		return cid.Undef, err
	}
	b.Pin(nodegate.Pin{CID: root.String(), Name: name, Size: 9000, Recursive: true})
	return root, b.Commit(context.Background())
}

// tree makes the blocks of addTree.
func tree(name string) (root cid.Cid, nodes map[cid.Cid][]byte) {
	nodes = map[cid.Cid][]byte{}
	var list []byte
	put := func(codec uint64, data []byte) cid.Cid {
		hash, _ := multihash.Sum(data, multihash.SHA2_256, -1)
		c := cid.NewCidV1(codec, hash)
		nodes[c] = data
		return c
	}
	for i := range 3 {
		leaf := append([]byte(fmt.Sprint(name, "/", i)), make([]byte, 3000)...)
		list = fmt.Appendln(list, put(cid.Raw, leaf))
	}
	return put(cid.DagProtobuf, list), nodes
}

// checkTree checks that an acknowledged tree is there, whole and pinned.
func checkTree(t *testing.T, s *Store, account, name string) {
	t.Helper()
	root, nodes := tree(name)
	for c, data := range nodes {
		wantBlock(t, s, c, data)
	}
	if p, err := s.PinOf(t.Context(), account, root.String()); err != nil || p.Name != name {
		t.Fatalf("the pin of %s: %+v, %v", name, p, err)
	}
}

// A process is killed in the instant of an acknowledgement, again and again on the
// same folder, while it adds, pins, collects and compacts. Nothing acknowledged is
// lost.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	var all []string
	for round := range fewer(3, full.Rounds(10, 5)) {
		all = append(all, killAfter(t, fmt.Sprint("r", round), dir, 20+rand.IntN(200))...)
		s := open(t, Config{Dir: dir, SegmentBytes: 256 << 10, Links: links, ScrubRate: -1, Undo: -1})
		for _, name := range all {
			checkTree(t, s, "acc", name)
		}
		if round%3 == 2 {
			s = loseIndex(t, s)
			for _, name := range all {
				checkTree(t, s, "acc", name)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// killAfter reads n acknowledgements of a process, kills it, and returns all that
// it gave until then.
func killAfter(t *testing.T, prefix, dir string, n int) (names []string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), prefixVariable+"="+prefix, folderVariable+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		names = append(names, lines.Text())
		if len(names) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait() // it was killed
	if len(names) < n {
		t.Fatalf("the process ended by itself: %q", names[max(len(names)-1, 0):])
	}
	return names
}

// The power goes while several goroutines add, unpin and collect. Of what was not
// synced, any part may be on the disk. Nothing acknowledged is lost, and nothing
// that was taken off comes back.
func TestPowerCut(t *testing.T) {
	full.Slow(t)
	for seed := range uint64(fewer(4, full.Rounds(50, 16))) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			files := vfs.NewStrictMem()
			cfg := testConfig(t)
			mkdirSynced(t, files, filepath.Join(cfg.Dir, "index"))
			cfg.SegmentBytes, cfg.Undo, cfg.index = 64<<10<<(seed%2*2), -1, files
			disk := newFaultyDisk()
			acked := map[string]bool{} // name -> pinned
			for round := range 3 {
				cfg.disk = disk
				s := open(t, cfg)
				for name, pinned := range acked {
					if root, _ := tree(name); pinned {
						checkTree(t, s, "acc", name)
					} else if _, err := s.PinOf(t.Context(), "acc", root.String()); err == nil {
						t.Fatalf("%s was unpinned and is back", name)
					}
				}
				powerCutRound(t, s, disk, files, fmt.Sprint("r", round), r, acked)
				disk = disk.afterCrash(r)
			}
		})
	}
}

// abortTree leaves blocks that nobody will ask for.
func abortTree(s *Store, name string) {
	b := s.Begin("acc", 0)
	defer b.Abort()
	_, nodes := tree(name)
	for c, data := range nodes {
		_ = b.Put(context.Background(), c, data) // the power may have gone
	}
}

// mkdirSynced makes a folder that stays after a crash.
func mkdirSynced(t *testing.T, files *vfs.MemFS, dir string) {
	t.Helper()
	if err := files.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for ; ; dir = filepath.Dir(dir) {
		f, err := files.OpenDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			t.Fatal(err)
		}
		if dir == filepath.Dir(dir) {
			return
		}
	}
}

// powerCutRound works on a store until the power goes.
func powerCutRound(t *testing.T, s *Store, disk *faultyDisk, files *vfs.MemFS, prefix string, r *rand.Rand, acked map[string]bool) {
	t.Helper()
	var mu sync.Mutex
	var wait sync.WaitGroup
	left := 10 + r.IntN(60)
	alone, workers := r.IntN(2) == 0, 3
	if alone {
		workers = 1
	}
	worker := func(w int, unpins bool) {
		for i := 0; ; i++ {
			name := fmt.Sprintf("%s-%d-%d", prefix, w, i)
			root, err := addTree(s, "acc", name)
			mu.Lock()
			if err == nil {
				acked[name] = true
			}
			if left--; left == 0 {
				disk.cut() // first: the index is never behind by more than the log knows
				files.SetIgnoreSyncs(true)
			}
			mu.Unlock()
			if err != nil {
				return
			}
			if i%4 == 1 {
				abortTree(s, name+"-aborted")
				if i%8 == 1 {
					_ = s.reclaimer.reclaim() // the power may have gone
				}
				if alone && i%8 == 5 {
					_, _ = s.Collect(context.Background(), false) // nobody writes: the aborted end is cut off
				}
			}
			if unpins && i%3 == 0 {
				b := s.Begin("acc", 0)
				b.Unpin(root.String())
				err := b.Commit(context.Background())
				mu.Lock()
				if delete(acked, name); err == nil {
					acked[name] = false
				}
				mu.Unlock()
			}
		}
	}
	for w := range workers {
		wait.Go(func() { worker(w, w == 0) })
	}
	if !alone && r.IntN(2) == 0 {
		wait.Go(func() {
			for err := error(nil); err == nil && !disk.isCut(); { // fails when the power goes, if it writes
				if _, err = s.Collect(context.Background(), false); err == nil {
					err = s.log.failure()
				}
			}
		})
	}
	if r.IntN(2) == 0 {
		_ = s.index.db.Flush() // some of the index is on the disk
	}
	wait.Wait()
	_ = s.Close() // as a process that does not know yet
	files.ResetToSyncedState()
	files.SetIgnoreSyncs(false)
}

// fewer is how often a short run does what others do more often.
func fewer(short, all int) int {
	if testing.Short() {
		return short
	}
	return all
}
