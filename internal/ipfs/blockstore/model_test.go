package blockstore

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/vfs"
	"github.com/ipfs/go-cid"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
	"pgregory.net/rapid"
)

// model is what a store should be, in maps.
type model struct {
	clock *testClock
	s     *Store
	pins  map[[2]string]*modelPin // by account and name of the tree
}

type modelPin struct {
	unpinned time.Time
}

const modelUndo = time.Hour

// Any sequence of adds, pins, undos, collections and restarts, with and without
// the index, leaves what the model says.
func TestModel(t *testing.T) {
	full.Slow(t)
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			rt.Fatal(err)
		}
		clock := newClock()
		m := &model{clock: clock, pins: map[[2]string]*modelPin{}}
		m.open(rt, Config{Dir: dir, SegmentBytes: 24 << 10, Undo: modelUndo, Links: links, ScrubRate: -1, CollectRate: 1 << 40, now: clock.Now, disk: newFaultyDisk(), index: vfs.NewMem()})
		defer func() { _ = m.s.Close() }()
		rt.Repeat(map[string]func(*rapid.T){
			"add":   m.add,
			"unpin": m.unpin,
			"undo":  m.undo,
			"time": func(rt *rapid.T) {
				clock.Advance(time.Duration(rapid.IntRange(1, 40).Draw(rt, "minutes")) * time.Minute)
			},
			"collect":    m.collect,
			"reopen":     func(rt *rapid.T) { m.reopen(rt, false) },
			"lose index": func(rt *rapid.T) { m.reopen(rt, true) },
			"":           m.check,
		})
	})
}

func (m *model) open(rt *rapid.T, c Config) {
	s, err := Open(context.Background(), c)
	if err != nil {
		rt.Fatal(err)
	}
	m.s = s
}

func (m *model) reopen(rt *rapid.T, lose bool) {
	if err := m.s.Close(); err != nil {
		rt.Fatal(err)
	}
	if lose {
		if err := m.s.cfg.index.RemoveAll(m.s.files.indexDir()); err != nil {
			rt.Fatal(err)
		}
	}
	m.open(rt, m.s.cfg)
}

func drawPin(rt *rapid.T) [2]string {
	return [2]string{fmt.Sprint("acc", rapid.IntRange(0, 1).Draw(rt, "account")), fmt.Sprint("tree", rapid.IntRange(0, 4).Draw(rt, "tree"))}
}

func (m *model) add(rt *rapid.T) {
	k := drawPin(rt)
	if _, err := addTree(m.s, k[0], k[1]); err != nil {
		rt.Fatal(err)
	}
	m.pins[k] = &modelPin{}
}

func (m *model) unpin(rt *rapid.T) {
	k := drawPin(rt)
	root, _ := tree(k[1])
	b := m.s.Begin(k[0], 0)
	b.Unpin(root.String())
	err := b.Commit(context.Background())
	p := m.pins[k]
	if live := p != nil && p.unpinned.IsZero(); live != (err == nil) {
		rt.Fatalf("unpin of %v: %v, pinned: %v", k, err, live)
	}
	if err == nil {
		p.unpinned = m.clock.Now()
	}
}

func (m *model) undoable(p *modelPin) bool {
	return p != nil && !p.unpinned.IsZero() && m.clock.Now().Sub(p.unpinned) < modelUndo
}

func (m *model) undo(rt *rapid.T) {
	k := drawPin(rt)
	root, _ := tree(k[1])
	err := m.s.Undo(context.Background(), k[0], root.String())
	if want := m.undoable(m.pins[k]); want != (err == nil) {
		rt.Fatalf("undo of %v: %v, want %v", k, err, want)
	}
	if err == nil {
		m.pins[k].unpinned = time.Time{}
	}
}

func (m *model) collect(rt *rapid.T) {
	r, err := m.s.Collect(context.Background(), false)
	if err != nil || len(r.Unknown) > 0 {
		rt.Fatalf("%+v, %v", r, err)
	}
	for k, p := range m.pins {
		if !p.unpinned.IsZero() && !m.undoable(p) {
			delete(m.pins, k)
		}
	}
	stored := map[string]int64{}
	for k := range m.pins {
		stored[k[0]] += 9000
	}
	for _, account := range []string{"acc0", "acc1"} {
		if got := m.s.Stored(account); got != stored[account] {
			rt.Fatalf("%s has %d stored, want %d", account, got, stored[account])
		}
	}
}

// check compares pins and blocks.
func (m *model) check(rt *rapid.T) {
	for i := range 10 {
		k := [2]string{fmt.Sprint("acc", i%2), fmt.Sprint("tree", i/2)}
		p := m.pins[k]
		root, nodes := tree(k[1])
		got, err := m.s.PinOf(context.Background(), k[0], root.String())
		if live := p != nil && p.unpinned.IsZero(); live != (err == nil) || live && got.Name != k[1] {
			rt.Fatalf("%v: %+v, %v; pinned: %v", k, got, err, live)
		}
		found := false
		_ = m.s.Unpinned(context.Background(), k[0], func(p nodegate.Pin) bool { found = found || p.CID == root.String(); return true })
		if found != m.undoable(p) {
			rt.Fatalf("%v can be undone: %v, want %v", k, found, !found)
		}
		if p != nil && (p.unpinned.IsZero() || m.undoable(p)) {
			m.checkNodes(rt, nodes)
		}
	}
}

func (m *model) checkNodes(rt *rapid.T, nodes map[cid.Cid][]byte) {
	for c, data := range nodes {
		if got, err := m.s.Get(context.Background(), c); err != nil || string(got) != string(data) {
			rt.Fatalf("%v: %v", c, err)
		}
	}
}
