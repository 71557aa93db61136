package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/test/full"
)

// snapshots is a file system that is copied at every sync, as a power cut would leave it.
type snapshots struct {
	vfs.FS
	disk *vfs.MemFS

	mu    sync.Mutex
	rng   *rand.Rand
	done  int // writes that were acknowledged
	taken []snapshot
}

// snapshot is a disk after a power cut.
type snapshot struct {
	disk *vfs.MemFS
	done int
	why  string
}

// wanted tells whether a snapshot is taken, which is by chance: often where tables change,
// seldom while an empty database is created.
func (s *snapshots) wanted(why string) bool {
	switch {
	case underRace && s.rng.IntN(20) != 0:
		return false
	case s.done == 0:
		return s.rng.IntN(50) == 0
	case strings.Contains(why, ".sst"), strings.Contains(why, "MANIFEST"):
		return s.rng.IntN(2) == 0
	}
	return s.rng.IntN(25) == 0
}

func (s *snapshots) take(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.wanted(why) {
		return
	}
	// What was not synced may have reached the disk all the same, in part.
	percent := []int{0, 0, 30, 70, 100}[s.rng.IntN(5)]
	clone := s.disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: percent, RNG: s.rng})
	s.taken = append(s.taken, snapshot{clone, s.done, fmt.Sprint(why, " ", percent, "%")})
}

func (s *snapshots) wrap(name string, f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, err
	}
	return snapshotFile{f, s, s.PathBase(name)}, nil
}

func (s *snapshots) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.Create(name, c)
	return s.wrap(name, f, err)
}

func (s *snapshots) OpenDir(name string) (vfs.File, error) {
	f, err := s.FS.OpenDir(name)
	return s.wrap(name, f, err)
}

func (s *snapshots) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := s.FS.ReuseForWrite(from, to, c)
	return s.wrap(to, f, err)
}

type snapshotFile struct {
	vfs.File
	fs   *snapshots
	name string
}

func (f snapshotFile) Sync() error {
	f.fs.take("before the sync of " + f.name)
	err := f.File.Sync()
	f.fs.take("after the sync of " + f.name)
	return err
}

func (f snapshotFile) SyncData() error { return f.Sync() }

// A power cut at any sync leaves the chain as it was before or after the write that was
// in progress: all blocks, pointers and lookups of it, and nothing else.
func TestPowerCuts(t *testing.T) {
	full.Slow(t)
	if underRace && testing.Short() {
		t.Skip("one goroutine, for minutes: make full")
	}
	kinds := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		disk := vfs.NewCrashableMem()
		fs := &snapshots{FS: disk, disk: disk, rng: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "luck"), 1))}
		cfg := testConfig(fs)
		s, err := Open(cfg)
		if err != nil {
			rt.Fatal(err)
		}
		m := &machine{chainModel: newChainModel(), s: s, cfg: cfg}
		history := []*chainModel{m.chainModel}
		m.op = func(op func() error, next *chainModel) {
			history = append(history, next)
			if err := op(); err != nil {
				rt.Fatal(err)
			}
			fs.mu.Lock()
			fs.done++
			fs.mu.Unlock()
		}
		actions := m.actions(func(*rapid.T) {})
		for range rapid.IntRange(5, 25).Draw(rt, "steps") {
			name := rapid.SampledFrom([]string{"append", "grow", "reorg", "reorg", "back", "jump", "prune", "prune sides", "replace", "mark", "tables", "reopen"}).Draw(rt, "action")
			if m.ready(name) {
				actions[name](rt)
			}
		}
		if err := m.s.Close(); err != nil {
			rt.Fatal(err)
		}
		fs.take("closed")
		for _, snap := range fs.taken {
			kinds[strings.Join(strings.FieldsFunc(snap.why, func(r rune) bool { return r >= '0' && r <= '9' }), "#")]++
			if err := afterCrash(snap, cfg, history); err != nil {
				rt.Fatalf("%s, %d writes done: %v", snap.why, snap.done, err)
			}
		}
	})
	t.Log(kinds)
}

// ready tells whether an action can be done, for those who can't skip it.
func (m *machine) ready(name string) bool {
	switch name {
	case "append", "tables", "reopen":
		return true
	case "grow":
		return len(m.canonical) <= 64
	case "reorg":
		return m.begun && m.tip > m.first
	case "back":
		return len(m.sides(1<<62)) > 0
	case "replace":
		return len(m.blocks) > 0
	}
	return m.begun
}

// afterCrash opens what a power cut left.
func afterCrash(snap snapshot, cfg Config, history []*chainModel) error {
	var log strings.Builder // says why a folder is emptied, which must not be
	cfg.files, cfg.Log = snap.disk, logger(&log)
	s, err := Open(cfg)
	if err != nil || log.Len() > 0 {
		return fmt.Errorf("open: %w, %s", err, log.String())
	}
	err = history[snap.done].matches(s)
	if err != nil && snap.done+1 < len(history) {
		if other := history[snap.done+1].matches(s); other != nil {
			err = fmt.Errorf("neither before (%w) nor after (%w)", err, other)
		} else {
			err = nil
		}
	}
	if err == nil { // it goes on from there
		number, parent := uint64(7), [32]byte{}
		if _, tip, ok := s.Tip(); ok {
			number, parent = tip.Number+1, tip.Hash
		}
		err = s.Append(testBlock(number, parent, 1<<40, nil))
	}
	return errors.Join(err, s.Close())
}

func (m *chainModel) matches(s *Store) error { return errors.Join(m.check(s), m.checkLeft(s)) }
