package logindex

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
	"pgregory.net/rapid"
)

// testLog is a log as receipts encode it.
type testLog struct {
	Address [20]byte
	Topics  [][32]byte
	Data    []byte
}

func rowOf(t rapid.TB, logs []testLog) []byte {
	row, err := rlp.EncodeToBytes([]any{[]byte{1}, uint64(21000), append([]testLog{}, logs...)})
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// model is an index in maps: for each key the transactions of each block.
type model map[Key]map[uint16]map[uint32]bool

func (m model) add(key Key, block uint16, tx uint32) {
	if m[key] == nil {
		m[key] = map[uint16]map[uint32]bool{}
	}
	if m[key][block] == nil {
		m[key][block] = map[uint32]bool{}
	}
	m[key][block][tx] = true
}

func logs(rt *rapid.T) (list []testLog) {
	for range rapid.IntRange(0, 3).Draw(rt, "logs") {
		l := testLog{Address: [20]byte{rapid.ByteRange(0, 3).Draw(rt, "address")}, Topics: [][32]byte{}}
		for range rapid.IntRange(0, 4).Draw(rt, "topics") {
			l.Topics = append(l.Topics, [32]byte{rapid.ByteRange(0, 3).Draw(rt, "topic")})
		}
		list = append(list, l)
	}
	return list
}

// A search finds every transaction that has what is looked for, whatever order blocks were
// written in, and nothing else but transactions of blocks that have too many to list them.
func TestSearch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		stored, m := map[Key][]byte{}, model{}
		var b Block
		for range rapid.IntRange(1, 30).Draw(rt, "blocks") {
			number := uint64(rapid.IntRange(0, 12).Draw(rt, "number")) + 5*SectionBlocks
			wide := rapid.Bool().Draw(rt, "wide")
			for i := range rapid.IntRange(0, 6).Draw(rt, "transactions") {
				tx := i
				if wide {
					tx *= 40_000
				}
				addTo(rt, &b, m, number, tx)
			}
			if rapid.IntRange(0, 9).Draw(rt, "common") == 0 {
				for tx := range maxListed + 3 {
					row := []testLog{{Address: [20]byte{1}}}
					if !b.Add(tx, rowOf(rt, row)) {
						rt.Fatal("a row can't be read")
					}
					m.add(AddressKey(row[0].Address[:]), uint16(number%SectionBlocks), uint32(tx))
				}
			}
			b.Each(number, func(key Key, entry []byte) { stored[key] = append(stored[key], entry...) })
		}
		if len(stored) != len(m) {
			rt.Fatalf("%d lists, want %d", len(stored), len(m))
		}
		var s Search
		for range 5 {
			checkSearch(rt, &s, stored, m)
		}
	})
}

func addTo(rt *rapid.T, b *Block, m model, number uint64, tx int) {
	list := logs(rt)
	if !b.Add(tx, rowOf(rt, list)) {
		rt.Fatal("a row can't be read")
	}
	for _, l := range list {
		m.add(AddressKey(l.Address[:]), uint16(number%SectionBlocks), uint32(tx))
		for i, topic := range l.Topics {
			m.add(TopicKey(i, topic[:]), uint16(number%SectionBlocks), uint32(tx))
		}
	}
}

// checkSearch looks for one of some values in each of some positions.
func checkSearch(rt *rapid.T, s *Search, stored map[Key][]byte, m model) {
	var lists [][]byte
	var wanted [][]Key
	for i := range rapid.IntRange(1, 3).Draw(rt, "criteria") {
		var raw []byte
		var keys []Key
		for range rapid.IntRange(1, 3).Draw(rt, "values") {
			value := [32]byte{rapid.ByteRange(0, 4).Draw(rt, "value")}
			key := AddressKey(value[:20])
			if i > 0 {
				key = TopicKey(i-1, value[:])
			}
			raw, keys = append(raw, stored[key]...), append(keys, key)
		}
		lists, wanted = append(lists, raw), append(wanted, keys)
	}
	var always []byte
	if rapid.Bool().Draw(rt, "holes") {
		always = append(Hole(3), Hole(7+SectionBlocks)...)
	}
	list, ok := s.Section(lists, always)
	if !ok {
		rt.Fatal("a list can't be read")
	}
	if !slices.IsSortedFunc(list, func(a, b Posting) int { return cmp.Or(cmp.Compare(a.Block, b.Block), -1) }) {
		rt.Fatalf("not in order: %v", list)
	}
	checkFound(rt, list, wanted, m, always != nil)
}

func checkFound(rt *rapid.T, list []Posting, wanted [][]Key, m model, holes bool) {
	for block := range uint16(13) {
		at, found := slices.BinarySearchFunc(list, block, func(p Posting, b uint16) int { return cmp.Compare(p.Block, b) })
		if holes && (block == 3 || block == 7) {
			if !found || list[at].Txs != nil {
				rt.Fatalf("hole %d is not found", block)
			}
			continue
		}
		var want []uint32
		for tx := range uint32(6) {
			for _, factor := range []uint32{1, 40_000} {
				if m.matches(wanted, block, tx*factor) && !slices.Contains(want, tx*factor) {
					want = append(want, tx*factor)
				}
			}
		}
		slices.Sort(want)
		for _, tx := range want {
			if !found || list[at].Txs != nil && !slices.Contains(list[at].Txs, tx) {
				rt.Fatalf("transaction %d of block %d is not found in %v", tx, block, list)
			}
		}
		if found && list[at].Txs != nil && !slices.IsSorted(list[at].Txs) {
			rt.Fatalf("transactions are not in order: %v", list[at])
		}
		if found && list[at].Txs != nil {
			for _, tx := range list[at].Txs {
				if !m.mayMatch(wanted, block, tx) {
					rt.Fatalf("transaction %d of block %d is found, %v", tx, block, list)
				}
			}
		}
	}
}

// matches tells whether a transaction has one value of each list.
func (m model) matches(wanted [][]Key, block uint16, tx uint32) bool {
	for _, keys := range wanted {
		if !slices.ContainsFunc(keys, func(k Key) bool { return m[k][block][tx] }) {
			return false
		}
	}
	return true
}

// mayMatch is matches for a search that doesn't know the transactions of common values.
func (m model) mayMatch(wanted [][]Key, block uint16, tx uint32) bool {
	for _, keys := range wanted {
		if !slices.ContainsFunc(keys, func(k Key) bool { return m[k][block][tx] || len(m[k][block]) > maxListed }) {
			return false
		}
	}
	return true
}

// An address is not found as a topic, nor a topic at another position.
func TestKeys(t *testing.T) {
	seen := map[Key]string{}
	add := func(key Key, name string) {
		if other, ok := seen[key]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		seen[key] = name
	}
	for n := range 1000 {
		var value [32]byte
		binary.BigEndian.PutUint16(value[12:], uint16(n))
		add(AddressKey(value[12:]), fmt.Sprint("address ", n))
		for i := range MaxTopics {
			add(TopicKey(i, value[:]), fmt.Sprint("topic ", i, n))
		}
	}
}

// Rows that can't be read are refused, and don't disturb the next block.
func TestBadRow(t *testing.T) {
	var b Block
	if !b.Add(0, rowOf(t, []testLog{{}})) || b.Add(1, []byte("no row")) {
		t.Fatal("read what can't be read, or the other way round")
	}
	b.Reset()
	b.Each(1, func(key Key, _ []byte) { t.Errorf("%x is left", key) })
}

// No bytes make a search fail otherwise than by saying so, and what it reads is in order.
func FuzzSearch(f *testing.F) {
	f.Add([]byte{0, 0x11, 5, 0, 0x20}, []byte{0, 0x11, 5}, []byte{0, 0})
	f.Add([]byte{0, 0x20, 0, 0x11, 5}, []byte{0, 0x11}, []byte{1})
	f.Add([]byte{0, 1, 0xff, 0xff, 0xff, 0xff, 0x0f}, []byte{}, []byte{})
	f.Fuzz(func(t *testing.T, a, b, always []byte) {
		var s Search
		list, ok := s.Section([][]byte{a, b}, always)
		if !ok {
			return
		}
		for i, p := range list {
			if p.Block >= SectionBlocks || i > 0 && p.Block <= list[i-1].Block || p.Txs != nil && (len(p.Txs) == 0 || !slices.IsSorted(p.Txs)) {
				t.Fatalf("%v", list)
			}
		}
	})
}
