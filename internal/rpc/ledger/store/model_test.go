package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
	"github.com/nodegate/nodegate/test/full"
	"pgregory.net/rapid"
)

// chainModel is what a store should hold, in maps.
type chainModel struct {
	blocks    map[[32]byte]*Block // all that are stored
	canonical map[uint64]*Block
	marks     map[uint64]Mark // where they were changed: level, votes, hole
	first     uint64
	tip       uint64
	low       uint64
	begun     bool
}

func newChainModel() *chainModel {
	return &chainModel{blocks: map[[32]byte]*Block{}, canonical: map[uint64]*Block{}, marks: map[uint64]Mark{}}
}

func (m *chainModel) clone() *chainModel {
	c := *m
	c.blocks, c.canonical, c.marks = maps.Clone(m.blocks), maps.Clone(m.canonical), maps.Clone(m.marks)
	return &c
}

func (m *chainModel) put(b *Block) {
	m.blocks[b.Hash] = b
	if m.begun {
		m.low = min(m.low, b.Number)
	}
}

// move makes a branch the chain.
func (m *chainModel) move(branch []*Block) {
	begin, tip := branch[0].Number, branch[len(branch)-1].Number
	joins := m.begun && begin > m.first && begin <= m.tip+1
	for n := range m.canonical {
		if n >= begin || !joins {
			delete(m.canonical, n)
			delete(m.marks, n)
		}
	}
	for _, b := range branch {
		m.canonical[b.Number] = b
		delete(m.marks, b.Number)
	}
	if !joins {
		m.first = begin
	}
	if !m.begun {
		m.low = begin
	}
	m.low, m.tip, m.begun = min(m.low, begin), tip, true
}

func (m *chainModel) prune(below uint64) {
	if !m.begun || m.low >= min(below, m.tip) {
		return
	}
	below = min(below, m.tip)
	for hash, b := range m.blocks {
		if b.Number >= m.low && b.Number < below {
			delete(m.blocks, hash)
		}
	}
	for n := range m.canonical {
		if n < below {
			delete(m.canonical, n)
			delete(m.marks, n)
		}
	}
	m.first, m.low = max(m.first, below), below
}

// sides are the blocks below a height that are not canonical.
func (m *chainModel) sides(below uint64) (list []*Block) {
	for _, b := range m.blocks {
		if b.Number < below && m.canonical[b.Number] != b {
			list = append(list, b)
		}
	}
	slices.SortFunc(list, func(a, b *Block) int {
		if a.Number != b.Number {
			return int(a.Number) - int(b.Number)
		}
		return bytes.Compare(a.Hash[:], b.Hash[:])
	})
	return list
}

// check compares a store with the model. Every difference begins with "wrong".
func (m *chainModel) check(s *Store) error {
	first, tip, ok := s.Tip()
	if ok != m.begun || ok && (first.Number != m.first || tip.Number != m.tip || first.Hash != m.canonical[m.first].Hash || tip.Hash != m.canonical[m.tip].Hash) {
		return fmt.Errorf("wrong: from %v to %v, %v, want %d to %d, %v", first, tip, ok, m.first, m.tip, m.begun)
	}
	for _, b := range m.blocks {
		if err := checkBlock(s, b); err != nil {
			return fmt.Errorf("block %d, %x: %w", b.Number, b.Hash[:4], err)
		}
	}
	for n := max(m.low, 2) - 2; n <= m.tip+2; n++ {
		if err := m.checkMark(s, n); err != nil {
			return err
		}
	}
	return errors.Join(m.checkFind(s), m.checkLogs(s))
}

func (m *chainModel) checkMark(s *Store, n uint64) error {
	mark, ok, err := s.Canonical(n)
	if err != nil {
		return err
	}
	b := m.canonical[n]
	if ok != (b != nil) {
		return fmt.Errorf("wrong: canonical %d is %v", n, ok)
	}
	if !ok {
		return nil
	}
	want := Mark{Level: b.Level, Hole: len(b.Receipts) != len(b.Txs)}
	if changed, ok := m.marks[n]; ok {
		want = changed
	}
	if want.Place, _, err = s.ByHash(b.Hash); err != nil || mark != want {
		return fmt.Errorf("wrong: mark %+v, want %+v, %w", mark, want, err)
	}
	return nil
}

// collision begins the hashes of several transactions.
const collision = "collides"

// checkFind looks for each transaction. One whose hash begins like another's may be
// missed, also after the other one is gone, but is never found at a wrong place.
func (m *chainModel) checkFind(s *Store) error {
	type spot struct {
		number uint64
		index  int
	}
	where, all := map[[32]byte]spot{}, map[[32]byte]bool{}
	for _, b := range m.blocks {
		for i, tx := range b.Hashes {
			if all[tx] = true; m.canonical[b.Number] == b {
				where[tx] = spot{b.Number, i}
			}
		}
	}
	for tx := range all {
		at, i, ok, err := s.Find(tx)
		if err != nil {
			return err
		}
		want, exists := where[tx]
		switch {
		case ok && (!exists || at.Number != want.number || i != want.index || at.Hash != m.canonical[at.Number].Hash):
			return fmt.Errorf("wrong: %x found at %d, %d, want %v, %v", tx[:10], at.Number, i, want, exists)
		case !ok && exists && string(tx[:8]) != collision:
			return fmt.Errorf("wrong: %x not found, it is at %v", tx[:10], want)
		}
	}
	return nil
}

// checkLeft fails on rows of blocks that were removed.
func (m *chainModel) checkLeft(s *Store) error {
	at := map[[9]byte]bool{} // number, branch
	count, heads := map[byte]int{}, 0
	for _, b := range m.blocks {
		p, _, err := s.ByHash(b.Hash)
		if err != nil {
			return err
		}
		at[[9]byte(appendPlace(nil, p.Number, p.Branch))] = true
	}
	err := s.db.scan([]byte{0}, []byte{255}, func(key, value []byte) error {
		count[key[0]]++
		if p, ok := partOf(key); ok && p == partHead {
			heads++
		}
		switch key[0] {
		case keyMark:
			if m.canonical[numberOf(key)] == nil {
				return fmt.Errorf("wrong: a pointer is left at %d", numberOf(key))
			}
		case keyBlock, keyOrphan:
			if !at[[9]byte(key[1:10])] {
				return fmt.Errorf("wrong: a row %q is left at %x", key[0], key[1:])
			}
		case keyLogs, keyHoles:
			if m.begun && numberOf(key) < logindex.Section(m.low) {
				return fmt.Errorf("wrong: a list of section %d is left below %d", numberOf(key), m.low)
			}
		case keyLookup:
			n, i, _ := decodeLookup(value)
			for _, b := range m.blocks {
				if b.Number == n && i < len(b.Hashes) && bytes.Equal(b.Hashes[i][:8], key[1:]) {
					return nil
				}
			}
			return fmt.Errorf("wrong: a lookup is left, to %d, %d", n, i)
		}
		return nil
	})
	if err == nil && (count[keyHash] != len(m.blocks) || heads != len(m.blocks)) {
		return fmt.Errorf("wrong: %d hashes and %d heads of %d blocks", count[keyHash], heads, len(m.blocks))
	}
	return err
}

// machine applies random operations to a store and to its model.
type machine struct {
	*chainModel
	s    *Store
	cfg  Config
	seed uint64
	op   func(op func() error, next *chainModel) // runs one write
}

// txs draws hashes of transactions: new ones, ones that begin alike, and ones of blocks
// that the new block will replace.
func (m *machine) txs(rt *rapid.T, borrow []*Block) (list [][32]byte) {
	var old [][32]byte
	for _, b := range borrow {
		old = append(old, b.Hashes...)
	}
	for range rapid.IntRange(0, 3).Draw(rt, "transactions") {
		m.seed++
		tx := testHash("tx", m.seed)
		switch kind := rapid.IntRange(0, 5).Draw(rt, "kind"); {
		case kind == 0:
			copy(tx[:8], collision)
		case kind < 3 && len(old) > 0:
			if again := rapid.SampledFrom(old).Draw(rt, "again"); !slices.Contains(list, again) {
				tx = again
			}
		}
		list = append(list, tx)
	}
	return list
}

// branch makes blocks upward from a parent. What is borrowed from the replaced blocks is
// borrowed once.
func (m *machine) branch(rt *rapid.T, number uint64, parent [32]byte, length int, replaced []*Block) (list []*Block) {
	used := map[[32]byte]bool{}
	for range length {
		m.seed++
		var txs [][32]byte
		for _, tx := range m.txs(rt, replaced) {
			if !used[tx] {
				txs = append(txs, tx)
			}
			used[tx] = true
		}
		b := testBlock(number, parent, m.seed, txs)
		list = append(list, b)
		number, parent = number+1, b.Hash
	}
	return list
}

func (m *machine) run(op func() error, change func(*chainModel)) {
	next := m.clone()
	change(next)
	m.op(op, next)
	m.chainModel = next
}

func (m *machine) append(rt *rapid.T) { m.appendSome(rt, rapid.IntRange(1, 8).Draw(rt, "blocks")) }

// grow makes room for deep reorgs.
func (m *machine) grow(rt *rapid.T) {
	if len(m.canonical) > 64 {
		rt.Skip("the chain is long enough")
	}
	m.appendSome(rt, rapid.IntRange(32, 80).Draw(rt, "blocks"))
}

func (m *machine) appendSome(rt *rapid.T, count int) {
	for range count {
		// Some chains cross a border of sections of the log index.
		number, parent := uint64(rapid.SampledFrom([]int{0, logindex.SectionBlocks - 60}).Draw(rt, "base")+rapid.IntRange(0, 100).Draw(rt, "begin")), [32]byte{}
		if m.begun {
			number, parent = m.tip+1, m.canonical[m.tip].Hash
		}
		b := m.branch(rt, number, parent, 1, nil)[0]
		m.run(func() error { return m.s.Append(b) }, func(next *chainModel) {
			next.put(b)
			next.move([]*Block{b})
		})
	}
}

// prepend adds blocks before the first one, some of which are stored already.
func (m *machine) prepend(rt *rapid.T) {
	for range rapid.IntRange(1, 8).Draw(rt, "blocks") {
		if !m.begun || m.first == 0 {
			rt.Skip("there is nothing before it")
		}
		m.seed++
		hash, number := m.canonical[m.first].Parent, m.first-1
		b := m.blocks[hash]
		if b == nil {
			b = testBlock(number, testHash("below", m.seed), m.seed, m.txs(rt, nil))
			b.Hash = hash
		} else if b.Number != number {
			rt.Skip("a chain began with the same parent at another height")
		}
		m.run(func() error { return m.s.Prepend(b) }, func(next *chainModel) {
			next.put(b)
			next.canonical[number], next.first = b, number
			delete(next.marks, number)
		})
	}
}

// putAndMove stores a branch beside the chain and moves to it.
func (m *machine) putAndMove(branch []*Block) {
	for _, b := range branch {
		m.run(func() error { return m.s.Put(b) }, func(next *chainModel) { next.put(b) })
	}
	m.run(func() error { return m.s.Move(m.places(branch)) }, func(next *chainModel) { next.move(branch) })
}

func (m *machine) places(branch []*Block) (list []Place) {
	for _, b := range branch {
		at, _, err := m.s.ByHash(b.Hash)
		if err != nil {
			panic(err)
		}
		list = append(list, at)
	}
	return list
}

func (m *machine) reorg(rt *rapid.T) {
	if !m.begun || m.tip == m.first {
		rt.Skip("there is nothing to replace")
	}
	depth := rapid.IntRange(1, int(min(64, m.tip-m.first))).Draw(rt, "depth")
	fork := m.tip - uint64(depth)
	var replaced []*Block
	for n := fork + 1; n <= m.tip; n++ {
		replaced = append(replaced, m.canonical[n])
	}
	length := max(1, depth+rapid.IntRange(-1, 2).Draw(rt, "longer"))
	m.putAndMove(m.branch(rt, fork+1, m.canonical[fork].Hash, length, replaced))
}

// back moves to a branch that was stored before.
func (m *machine) back(rt *rapid.T) {
	sides := m.sides(1 << 62)
	if len(sides) == 0 {
		rt.Skip("there is no other branch")
	}
	b := rapid.SampledFrom(sides).Draw(rt, "tip")
	branch := []*Block{b}
	for m.canonical[b.Number-1] == nil || m.canonical[b.Number-1].Hash != b.Parent {
		below := m.blocks[b.Parent]
		if below == nil || b.Number == 0 {
			break
		}
		b = below
		branch = append(branch, b)
	}
	slices.Reverse(branch)
	if begin := branch[0]; m.begun && begin.Number > m.first && begin.Number <= m.tip+1 && m.canonical[begin.Number-1].Hash != begin.Parent {
		if err := m.s.Move(m.places(branch)); !errors.Is(err, nodegate.Conflict) {
			rt.Fatalf("a branch without its root: %v", err)
		}
		return
	}
	m.run(func() error { return m.s.Move(m.places(branch)) }, func(next *chainModel) { next.move(branch) })
}

// jump begins the chain again somewhere else.
func (m *machine) jump(rt *rapid.T) {
	if !m.begun {
		rt.Skip("nothing is stored")
	}
	number := m.tip + uint64(rapid.IntRange(2, 200).Draw(rt, "gap"))
	if rapid.Bool().Draw(rt, "below") {
		number = m.first - min(m.first, uint64(rapid.IntRange(0, 20).Draw(rt, "lower")))
	}
	m.putAndMove(m.branch(rt, number, testHash("unknown", m.seed), rapid.IntRange(1, 10).Draw(rt, "length"), nil))
}

func (m *machine) pruneTo(rt *rapid.T) {
	if !m.begun {
		rt.Skip("nothing is stored")
	}
	below := m.low + uint64(rapid.IntRange(0, 64).Draw(rt, "heights"))
	m.run(func() error { _, err := m.s.Prune(below); return err }, func(next *chainModel) { next.prune(below) })
}

func (m *machine) pruneSides(rt *rapid.T) {
	if !m.begun {
		rt.Skip("nothing is stored")
	}
	below := m.low + uint64(rapid.IntRange(0, int(m.tip-m.low)+2).Draw(rt, "heights"))
	// More than one batch is removed batch by batch: a power cut between two of them
	// leaves the rest.
	for sides := m.sides(below); len(sides) > pruneHeights; sides = m.sides(below) {
		slices.SortFunc(sides, func(a, b *Block) int {
			at := m.places([]*Block{a, b})
			return cmp.Or(cmp.Compare(at[0].Number, at[1].Number), cmp.Compare(at[0].Branch, at[1].Branch))
		})
		m.removeSides(sides[:pruneHeights], func() (int, error) { return m.s.pruneSidesSome(below) })
	}
	m.removeSides(m.sides(below), func() (int, error) { return m.s.PruneSides(below) })
}

// removeSides runs a write that removes some blocks beside the chain.
func (m *machine) removeSides(sides []*Block, remove func() (int, error)) {
	m.run(func() error {
		n, err := remove()
		if err == nil && n != len(sides) {
			err = fmt.Errorf("removed %d, want %d", n, len(sides))
		}
		return err
	}, func(next *chainModel) {
		for _, b := range sides {
			delete(next.blocks, b.Hash)
		}
	})
}

func (m *machine) replaceOne(rt *rapid.T) {
	list := slices.SortedFunc(maps.Values(m.blocks), func(a, b *Block) int { return bytes.Compare(a.Hash[:], b.Hash[:]) })
	if len(list) == 0 {
		rt.Skip("nothing is stored")
	}
	old := rapid.SampledFrom(list).Draw(rt, "block")
	b := *old
	b.Header = append(slices.Clone(b.Header), " again"...)
	m.run(func() error { return m.s.Replace(&b) }, func(next *chainModel) {
		next.blocks[b.Hash] = &b
		if next.canonical[b.Number] == old {
			next.canonical[b.Number] = &b
			if was, ok := next.marks[b.Number]; ok {
				next.marks[b.Number] = Mark{Level: b.Level, Agreed: was.Agreed, Hole: len(b.Receipts) != len(b.Txs)}
			}
		}
	})
}

func (m *machine) mark(rt *rapid.T) {
	if !m.begun {
		rt.Skip("nothing is stored")
	}
	n := rapid.Uint64Range(m.first, m.tip).Draw(rt, "number")
	mark, ok, err := m.s.Canonical(n)
	if err != nil || !ok {
		rt.Fatal(n, ok, err)
	}
	mark.Agreed, mark.Hole = rapid.Byte().Draw(rt, "agreed"), rapid.Bool().Draw(rt, "hole")
	m.run(func() error { return m.s.SetMark(mark) }, func(next *chainModel) { next.marks[n] = mark })
}

func (m *machine) reset(rt *rapid.T) {
	if rapid.IntRange(0, 9).Draw(rt, "really") != 0 {
		rt.Skip("rarely")
	}
	m.run(func() error { return m.s.Reset() }, func(next *chainModel) { *next = *newChainModel() })
}

func (m *machine) reopen(rt *rapid.T) {
	if err := m.s.Close(); err != nil {
		rt.Fatal(err)
	}
	s, err := Open(m.cfg)
	if err != nil {
		rt.Fatal(err)
	}
	m.s = s
}

// tables writes the memtable to tables, and merges them, so that reads come from there.
func (m *machine) tables(rt *rapid.T) {
	err := m.s.db.pebble.Flush()
	if rapid.Bool().Draw(rt, "merge") && err == nil {
		err = m.s.db.pebble.Compact(rt.Context(), []byte{0}, []byte{255}, false)
	}
	if err != nil {
		rt.Fatal(err)
	}
}

func (m *machine) actions(check func(*rapid.T)) map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"append": m.append, "prepend": m.prepend, "grow": m.grow, "reorg": m.reorg, "back": m.back, "jump": m.jump, "prune": m.pruneTo,
		"prune sides": m.pruneSides, "replace": m.replaceOne, "mark": m.mark, "reset": m.reset, "reopen": m.reopen,
		"tables": m.tables, "": check,
	}
}

// Any sequence of appends, reorgs, prunes and restarts leaves what the model says.
func TestModel(t *testing.T) {
	full.Slow(t)
	if underRace && testing.Short() {
		t.Skip("one goroutine, for minutes: make full")
	}
	rapid.Check(t, func(rt *rapid.T) {
		cfg := testConfig(vfs.NewMem())
		s, err := Open(cfg)
		if err != nil {
			rt.Fatal(err)
		}
		m := &machine{chainModel: newChainModel(), s: s, cfg: cfg}
		m.op = func(op func() error, _ *chainModel) {
			if err := op(); err != nil {
				rt.Fatal(err)
			}
		}
		defer func() { _ = m.s.Close() }()
		steps := 0
		rt.Repeat(m.actions(func(rt *rapid.T) {
			if steps++; steps%3 != 0 {
				return
			}
			if err := errors.Join(m.check(m.s), m.checkLeft(m.s)); err != nil {
				rt.Fatal(err)
			}
		}))
	})
}
