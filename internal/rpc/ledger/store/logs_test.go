package store

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
	"pgregory.net/rapid"
)

// testLog is a log as receipts encode it.
type testLog struct {
	Address [20]byte
	Topics  [][32]byte
	Data    []byte
}

// testReceipt is the row of a receipt whose logs follow from a seed. A few rows can't be read.
func testReceipt(tx [32]byte, seed uint64, index int) []byte {
	text := fmt.Appendf(nil, "receipt of %x in %d", tx, seed)
	if seed%17 == 0 {
		return text
	}
	logs := []testLog{}
	for i := range (seed + uint64(index)) % 4 {
		n := seed*31 + uint64(index)*7 + i
		l := testLog{Address: [20]byte{19: byte(n % 5)}, Topics: [][32]byte{}, Data: text}
		for j := range n % 5 {
			l.Topics = append(l.Topics, [32]byte{31: byte((n + j) % 6)})
		}
		logs = append(logs, l)
	}
	row, err := rlp.EncodeToBytes([]any{[]byte{1}, uint64(21000), logs})
	if err != nil {
		panic(err)
	}
	return row
}

// lists reads lists of the index, each once.
type lists struct {
	v     *Snapshot
	known map[string][]logindex.Posting
}

func (l *lists) of(section uint64, key *logindex.Key) ([]logindex.Posting, error) {
	name := holesKey(section)
	if key != nil {
		name = listKey(section, *key)
	}
	if list, ok := l.known[string(name)]; ok {
		return list, nil
	}
	raw, err := l.v.list(nil, name)
	if err != nil {
		return nil, err
	}
	list, ok := new(logindex.Search).Section([][]byte{raw}, nil)
	if !ok {
		return nil, fmt.Errorf("wrong: list %x can't be read", name)
	}
	l.known[string(name)] = list
	return list, nil
}

// has fails unless a list leads to a transaction.
func (l *lists) has(number uint64, key *logindex.Key, tx int) error {
	list, err := l.of(logindex.Section(number), key)
	if err != nil {
		return err
	}
	for _, p := range list {
		if uint64(p.Block) == number%logindex.SectionBlocks {
			if p.Txs != nil && !slices.Contains(p.Txs, uint32(tx)) {
				return fmt.Errorf("wrong: transaction %d of block %d is not in the index for %x", tx, number, key)
			}
			return nil
		}
	}
	return fmt.Errorf("wrong: block %d is not in the index for %x", number, key)
}

// checkLogs fails if the index misses a log of the chain, or a block whose logs are unknown.
func (m *chainModel) checkLogs(s *Store) error {
	v, err := s.Snapshot()
	if err != nil {
		return err
	}
	first, last, ok := v.Span()
	if ok != m.begun || ok && (first != m.first || last != m.tip) {
		err = fmt.Errorf("wrong: snapshot of %d to %d, %v", first, last, ok)
	}
	l := &lists{v, map[string][]logindex.Posting{}}
	for n, b := range m.canonical {
		if err == nil {
			err = m.checkListed(l, n, b)
		}
	}
	return errors.Join(err, v.Close())
}

func (m *chainModel) checkListed(l *lists, n uint64, b *Block) error {
	hole := m.marks[n].Hole || b.Kept || len(b.Receipts) != len(b.Txs)
	for i := 0; i < len(b.Receipts) && !hole; i++ {
		logs := form.LogsOf(b.Receipts[i].Data)
		for logs.Next() {
			key := logindex.AddressKey(logs.Address)
			err := l.has(n, &key, i)
			for j := 0; j < logs.Topics() && err == nil; j++ {
				key = logindex.TopicKey(j, logs.Topic(j))
				err = l.has(n, &key, i)
			}
			// A block that is a hole for another receipt's sake needs no lists.
			if err != nil && l.has(n, nil, 0) != nil {
				return err
			}
		}
		hole = !logs.OK()
	}
	if hole {
		return l.has(n, nil, 0)
	}
	return nil
}

// Lists of sections whose blocks are all pruned are gone, and others stay.
func TestPruneLists(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	m := newChainModel()
	parent := [32]byte{}
	for n := uint64(logindex.SectionBlocks - 100); n < logindex.SectionBlocks+200; n++ {
		b := testBlock(n, parent, n, [][32]byte{testHash("tx", n)})
		must(t, s.Append(b))
		m.put(b)
		m.move([]*Block{b})
		parent = b.Hash
	}
	count := func() (sections [2]int) {
		must(t, s.db.scan([]byte{keyLogs}, []byte{keyLogs + 1}, func(key, _ []byte) error {
			sections[numberOf(key)]++
			return nil
		}))
		return sections
	}
	for _, below := range []uint64{logindex.SectionBlocks - 1, logindex.SectionBlocks, logindex.SectionBlocks + 50} {
		_, err := s.Prune(below)
		must(t, err)
		m.prune(below)
		must(t, m.checkLogs(s))
		got := count()
		if got[1] == 0 || (got[0] == 0) != (below >= logindex.SectionBlocks) {
			t.Errorf("pruned below %d, there are %v lists", below, got)
		}
	}
	must(t, s.Reset())
	if got := count(); got != [2]int{} {
		t.Errorf("after a reset there are %v lists", got)
	}
}

// A block that was put aside before its section was pruned is found when it becomes canonical.
func TestListsOfOldSides(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	old := testBlock(5, [32]byte{}, 9, [][32]byte{testHash("tx", 1), testHash("tx", 2)})
	must(t, s.Put(old))
	parent := [32]byte{}
	for n := uint64(4000); n < 4200; n++ {
		b := testBlock(n, parent, n, nil)
		must(t, s.Append(b))
		parent = b.Hash
	}
	_, err := s.Prune(4150)
	must(t, err)
	at, _, err := s.ByHash(old.Hash)
	must(t, err)
	must(t, s.Move([]Place{at}))
	m := newChainModel()
	m.put(old)
	m.move([]*Block{old})
	must(t, m.checkLogs(s))
}

// What is written later doesn't show, and what is pruned stays.
func TestSnapshot(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	v, err := s.Snapshot()
	must(t, err)
	if _, _, ok := v.Span(); ok {
		t.Error("an empty store has a span")
	}
	must(t, v.Close())
	var chain []*Block
	parent := [32]byte{}
	for n := uint64(1); n <= 20; n++ {
		b := testBlock(n, parent, n, [][32]byte{testHash("tx", n)})
		must(t, s.Append(b))
		chain, parent = append(chain, b), b.Hash
	}
	if v, err = s.Snapshot(); err != nil {
		t.Fatal(err)
	}
	side := testBlock(15, chain[13].Hash, 1000, nil)
	must(t, s.Put(side))
	at, _, err := s.ByHash(side.Hash)
	must(t, err)
	must(t, s.Move([]Place{at}))
	_, err = s.Prune(12)
	must(t, err)
	_, err = s.PruneSides(100)
	must(t, err)
	if first, last, _ := v.Span(); first != 1 || last != 20 {
		t.Errorf("span %d to %d", first, last)
	}
	for _, b := range chain {
		mark, ok, err := v.Canonical(b.Number)
		if err != nil || !ok || mark.Hash != b.Hash {
			t.Fatal(b.Number, mark, ok, err)
		}
		h, err := v.Head(mark.Place)
		must(t, err)
		n := 0
		must(t, v.Receipts(mark.Place, func(int, Receipt) bool { n++; return true }))
		if n != len(b.Receipts) || h.Hash != b.Hash {
			t.Errorf("block %d has %d receipts", b.Number, n)
		}
	}
	if _, ok, _ := v.Canonical(21); ok {
		t.Error("a block above the tip is canonical")
	}
	must(t, v.Close())
}

// A store that closes ends the use of snapshots, and waits for them.
func TestSnapshotClose(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	must(t, s.Append(testBlock(1, [32]byte{}, 2, [][32]byte{testHash("tx", 1)})))
	v, err := s.Snapshot()
	must(t, err)
	done := make(chan error)
	go func() { done <- s.Close() }()
	for err == nil {
		_, err = v.Holes(nil, 0)
	}
	if !errors.Is(err, nodegate.Internal) {
		t.Error(err)
	}
	must(t, v.Close())
	must(t, <-done)
	if _, err := s.Snapshot(); err == nil {
		t.Error("a closed store has a snapshot")
	}
}

// The lists of holes are found in any order of sections, where they are few.
func TestHolesOfSections(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	must(t, s.Append(testBlock(1, [32]byte{}, 2, nil)))
	rapid.Check(t, func(rt *rapid.T) {
		with := rapid.MapOf(rapid.Uint64Range(0, 20), rapid.SliceOfN(rapid.Uint64Range(0, 4095), 1, 3)).Draw(rt, "holes")
		c := &change{db: s.db, batch: s.db.pebble.NewBatch()}
		c.delRange(holesKey(0), holesKey(1<<40))
		for section, blocks := range with {
			for _, b := range blocks {
				c.hole(section*logindex.SectionBlocks + b)
			}
		}
		must(t, errors.Join(c.err, c.batch.Commit(pebble.NoSync)))
		v, err := s.Snapshot()
		must(t, err)
		defer v.Close()
		for _, section := range rapid.SliceOfN(rapid.Uint64Range(0, 22), 1, 30).Draw(rt, "sections") {
			var want []byte
			for _, b := range with[section] {
				want = append(want, logindex.Hole(section*logindex.SectionBlocks+b)...)
			}
			got, err := v.Holes([]byte("before"), section)
			must(t, err)
			if string(got) != "before"+string(want) {
				rt.Fatalf("holes of section %d: %x, want %x", section, got, want)
			}
		}
	})
}

// However operands are grouped and merged, the value is all of them in order.
func TestMerger(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOfN(rapid.SliceOfN(rapid.Byte(), 0, 4), 1, 12).Draw(rt, "parts")
		var want []byte
		for _, p := range parts {
			want = append(want, p...)
		}
		if got := mergeParts(rt, parts); string(got) != string(want) {
			rt.Fatalf("got %x, want %x", got, want)
		}
	})
}

func mergeParts(rt *rapid.T, parts [][]byte) []byte {
	if len(parts) == 1 {
		return parts[0]
	}
	var groups [][]byte
	for len(parts) > 0 {
		n := rapid.IntRange(1, max(1, len(parts)-1)).Draw(rt, "group")
		groups = append(groups, mergeParts(rt, parts[:n]))
		parts = parts[n:]
	}
	older := rapid.Bool().Draw(rt, "older")
	if older {
		slices.Reverse(groups)
	}
	room := slices.Clone(groups[0])
	m, err := merger.Merge(nil, room)
	clear(room)
	for _, g := range groups[1:] {
		room := slices.Clone(g)
		if older {
			err = errors.Join(err, m.MergeOlder(room))
		} else {
			err = errors.Join(err, m.MergeNewer(room))
		}
		clear(room) // the caller keeps its memory
	}
	out, _, last := m.Finish(true)
	if err := errors.Join(err, last); err != nil {
		rt.Fatal(err)
	}
	return out
}
