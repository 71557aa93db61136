package store

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// copyFiles copies a folder in memory, with a change to one file.
func copyFiles(t testing.TB, from vfs.FS, dir, name string, change func([]byte) []byte) *vfs.MemFS {
	t.Helper()
	to := vfs.NewMem()
	must(t, to.MkdirAll(dir, 0o700))
	names, err := from.List(dir)
	must(t, err)
	for _, n := range names {
		data := readFile(t, from, from.PathJoin(dir, n))
		if n == name {
			data = change(data)
		}
		f, err := to.Create(to.PathJoin(dir, n), vfs.WriteCategoryUnspecified)
		must(t, err)
		if len(data) > 0 {
			_, err = f.Write(data)
			must(t, err)
		}
		must(t, f.Close())
	}
	return to
}

func readFile(t testing.TB, fs vfs.FS, path string) []byte {
	t.Helper()
	f, err := fs.Open(path)
	must(t, err)
	data, err := io.ReadAll(f)
	must(t, errors.Join(err, f.Close()))
	return data
}

// filled is a store with several tables, a log and a reorg, closed.
func filled(t testing.TB) (vfs.FS, Config, *machineHistory) {
	t.Helper()
	mem := vfs.NewMem()
	cfg := testConfig(mem)
	cfg.tableBlock = 4 << 10
	s := openStore(t, cfg)
	history := &machineHistory{chainModel: newChainModel()}
	step := func(change func(*chainModel)) {
		history.past = append(history.past, history.chainModel.clone())
		change(history.chainModel)
	}
	parent, rng := [32]byte{}, rand.NewChaCha8([32]byte{1})
	for n := range uint64(40) {
		b := testBlock(n, parent, n+1, [][32]byte{testHash("tx", 3*n), testHash("tx", 3*n+1), testHash("tx", 3*n+2)})
		pad := make([]byte, 3000) // so that tables have several blocks
		_, _ = rng.Read(pad)      // never fails
		b.Header = append(b.Header, pad...)
		must(t, s.Append(b))
		step(func(m *chainModel) { m.put(b); m.move([]*Block{b}) })
		parent = b.Hash
		if n%10 == 7 {
			must(t, s.db.pebble.Flush())
		}
		if n == 20 {
			must(t, s.db.pebble.Compact(t.Context(), []byte{0}, []byte{255}, false))
		}
	}
	side := testBlock(39, history.canonical[38].Hash, 500, [][32]byte{testHash("tx", 3*39+1)})
	must(t, s.Put(side))
	step(func(m *chainModel) { m.put(side) })
	at, _, err := s.ByHash(side.Hash)
	must(t, err)
	must(t, s.Move([]Place{at}))
	step(func(m *chainModel) { m.move([]*Block{side}) })
	must(t, s.Close())
	return mem, cfg, history
}

// machineHistory is a model with all that it was before.
type machineHistory struct {
	*chainModel
	past []*chainModel
}

// judgeDamage compares a store that was damaged with what it should hold. Everything is
// right, or an error; or the store is empty; or, where the log was cut, it is at an older
// tip and right there.
func (h *machineHistory) judgeDamage(s *Store) (verdict string, err error) {
	_, tip, ok := s.Tip()
	if !ok {
		return "emptied", nil
	}
	for _, m := range slices.Backward(append(h.past, h.chainModel)) {
		if !m.begun || m.canonical[m.tip].Hash != tip.Hash {
			continue
		}
		err = m.check(s)
		switch {
		case err == nil && m == h.chainModel:
			return "whole", nil
		case err == nil:
			return "older", nil
		case errors.Is(err, nodegate.Damaged):
			return "found", m.eachIsRight(s)
		}
	}
	return "", fmt.Errorf("wrong at %d: %w", tip.Number, err)
}

// eachIsRight reads all rows, also behind the first damaged one.
func (m *chainModel) eachIsRight(s *Store) error {
	for _, b := range m.blocks {
		if err := checkBlock(s, b); err != nil && !errors.Is(err, nodegate.Damaged) {
			return err
		}
		if err := m.checkMark(s, b.Number); err != nil && !errors.Is(err, nodegate.Damaged) {
			return err
		}
		for i, tx := range b.Hashes {
			at, index, ok, err := s.Find(tx)
			if err != nil && !errors.Is(err, nodegate.Damaged) {
				return err
			}
			canonical := m.canonical[b.Number] == b
			if err == nil && (canonical != ok && canonical || ok && canonical && (at.Hash != b.Hash || index != i)) {
				return fmt.Errorf("wrong: transaction %d of block %d is at %v, %v", i, b.Number, at, ok)
			}
		}
	}
	return nil
}

// ofEachKind leaves one file of each kind where the race detector is to be quick: the others
// run the same code.
func ofEachKind(names []string) (list []string) {
	seen := map[string]bool{}
	for _, name := range names {
		if kind := filepath.Ext(name); !seen[kind] || !underRace || !testing.Short() {
			seen[kind], list = true, append(list, name)
		}
	}
	return list
}

// A flipped bit anywhere is found, or does no harm. It never gives a wrong row, and never
// ends the process.
func TestFlippedBits(t *testing.T) {
	full.Slow(t)
	mem, cfg, history := filled(t)
	names, err := mem.List(cfg.Dir)
	must(t, err)
	verdicts := map[string]int{}
	rng := rand.New(rand.NewPCG(1, 2))
	flips := full.Rounds(60, 24)
	switch {
	case underRace && testing.Short():
		flips = 3 // one goroutine; what it shares with Pebble's is the same each time
	case testing.Short() || underRace:
		flips = 12
	}
	for _, name := range ofEachKind(names) {
		size := len(readFile(t, mem, mem.PathJoin(cfg.Dir, name)))
		for i := range min(flips, size) {
			at, bit := rng.IntN(size), byte(1)<<rng.IntN(8)
			if i < 10 { // the ends are special
				at = []int{size / 2, 0, size - 1, 8, size - 8, size - 16, size - 30, 1, size - 40, size - 53}[i] % size
				at = max(at, 0)
			}
			c := cfg
			c.files = copyFiles(t, mem, cfg.Dir, name, func(b []byte) []byte { b[at] ^= bit; return b })
			s, err := Open(c)
			if err != nil {
				t.Fatalf("%s, byte %d of %d: %v", name, at, size, err)
			}
			verdict, err := history.judgeDamage(s)
			if err != nil {
				t.Fatalf("%s, byte %d of %d: %v", name, at, size, err)
			}
			verdicts[filepath.Ext(name)+" "+verdict]++
			_ = s.Close() // may have something to say about the damage
		}
	}
	t.Log(verdicts)
	if verdicts[".sst found"] == 0 || verdicts[".sst emptied"]+verdicts[".sst found"] < verdicts[".sst whole"] {
		t.Errorf("damage to tables stayed hidden: %v", verdicts)
	}
}

// Files that lack, or are cut, do no more harm.
func TestMissingFiles(t *testing.T) {
	mem, cfg, history := filled(t)
	names, err := mem.List(cfg.Dir)
	must(t, err)
	for _, name := range ofEachKind(names) {
		for _, part := range []int{0, 2, 3} {
			c := cfg
			fs := copyFiles(t, mem, cfg.Dir, name, func(b []byte) []byte { return b[:len(b)*part/4] })
			if c.files = fs; part == 3 {
				must(t, fs.Remove(fs.PathJoin(cfg.Dir, name)))
			}
			s, err := Open(c)
			if err != nil {
				t.Fatalf("%s, %d: %v", name, part, err)
			}
			if verdict, err := history.judgeDamage(s); err != nil {
				t.Fatalf("%s, %d: %s, %v", name, part, verdict, err)
			}
			_ = s.Close() // may have something to say about the damage
		}
	}
}

// Damage that shows while tables are merged ends writing, and the next start begins with
// an empty folder. Damage that only a reader sees is the reader's.
func TestDamage(t *testing.T) {
	mem, cfg, history := filled(t)
	names, err := mem.List(cfg.Dir)
	must(t, err)
	largest := slices.MaxFunc(names, func(a, b string) int { return tableSize(t, mem, cfg, a) - tableSize(t, mem, cfg, b) })
	var log strings.Builder
	cfg.Log = logger(&log)
	var s *Store
	for part := 1; ; part++ { // look for a place that isn't read when the folder is opened
		log.Reset()
		cfg.files = copyFiles(t, mem, cfg.Dir, largest, func(b []byte) []byte { b[len(b)*part/16] ^= 1; return b })
		s = openStore(t, cfg)
		if _, _, ok := s.Tip(); ok {
			break
		}
		must(t, s.Close())
	}
	hurt := 0
	for _, b := range history.blocks {
		if err := checkBlock(s, b); errors.Is(err, nodegate.Damaged) {
			hurt++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if hurt == 0 || hurt == len(history.blocks) || !strings.Contains(log.String(), "damaged") {
		t.Errorf("%d of %d blocks are damaged, log %s", hurt, len(history.blocks), log.String())
	}
	must(t, s.Failed()) // a reader's trouble is no reason to stop
	reported := log.Len()
	for _, b := range history.blocks {
		_ = checkBlock(s, b) // as before
	}
	if log.Len() != reported {
		t.Error("damaged blocks of tables are read again and again")
	}
	if err := s.db.pebble.Compact(t.Context(), []byte{0}, []byte{255}, false); err == nil {
		t.Fatal("damaged tables were merged")
	}
	wantCode(t, s.Failed(), nodegate.Internal)
	wantCode(t, s.Append(testBlock(40, history.canonical[39].Hash, 600, nil)), nodegate.Internal)
	if _, ok, err := s.Canonical(39); !ok || err != nil {
		t.Errorf("the tip can't be read: %v, %v", ok, err)
	}
	if s.Close() == nil {
		t.Error("closed as if nothing was wrong")
	}
	s = openStore(t, cfg)
	if _, _, ok := s.Tip(); ok {
		t.Error("the damaged database is still in use")
	}
	must(t, s.Append(testBlock(1, [32]byte{}, 1, nil)))
	must(t, s.Close())
}

// A block with damaged rows can be replaced as long as it is known where it is: nothing of the
// old rows is read for that.
func TestReplaceDamaged(t *testing.T) {
	full.Slow(t)
	mem, cfg, history := filled(t)
	names, err := mem.List(cfg.Dir)
	must(t, err)
	largest := slices.MaxFunc(names, func(a, b string) int { return tableSize(t, mem, cfg, a) - tableSize(t, mem, cfg, b) })
	replaced := 0
	for part := 1; part < 64; part++ {
		cfg.files = copyFiles(t, mem, cfg.Dir, largest, func(b []byte) []byte { b[len(b)*part/64] ^= 1; return b })
		s := openStore(t, cfg)
		if _, _, ok := s.Tip(); ok && replaceDamaged(t, s, history) {
			replaced++
		}
		_ = s.Close() // may have something to say about the damage
	}
	if replaced < 10 {
		t.Errorf("%d blocks were replaced", replaced)
	}
}

// replaceDamaged replaces the first block with damaged rows of which it is known where it is.
func replaceDamaged(t *testing.T, s *Store, history *machineHistory) bool {
	t.Helper()
	for _, b := range history.blocks {
		at, ok, err := s.ByHash(b.Hash)
		m, isCanonical, lost := s.Canonical(b.Number)
		if err != nil || lost != nil || !ok || !isCanonical || m.Place != at || !errors.Is(checkBlock(s, b), nodegate.Damaged) {
			continue
		}
		must(t, s.Replace(b))
		now, _, err := s.ByHash(b.Hash)
		must(t, err)
		if m, _, err := s.Canonical(b.Number); err != nil || m.Place != now || now == at {
			t.Errorf("block %d is at %v, was at %v, and %v is canonical: %v", b.Number, now, at, m.Place, err)
		}
		if h, err := s.Head(now); err != nil || !bytes.Equal(h.Header, b.Header) {
			t.Errorf("the header of block %d: %v", b.Number, err)
		}
		return true
	}
	return false
}

func tableSize(t testing.TB, fs vfs.FS, cfg Config, name string) int {
	if filepath.Ext(name) != ".sst" {
		return 0
	}
	return len(readFile(t, fs, fs.PathJoin(cfg.Dir, name)))
}
