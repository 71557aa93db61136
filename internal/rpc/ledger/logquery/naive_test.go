package logquery

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
	"github.com/nodegate/nodegate/test/full"
	"pgregory.net/rapid"
)

// block is a block of the naive chain: its logs as objects.
type block struct {
	stored *store.Block
	logs   []*types.Log
	hole   bool
	torn   bool // a hole that shows only at the last receipt
}

// naive is a chain that is searched log by log.
type naive struct {
	first  uint64
	blocks []*block // canonical, upward from first
	seed   uint64
	s      *store.Store
}

func openStore(t testing.TB) *store.Store {
	s, err := store.Open(store.Config{Dir: t.TempDir(), ChainID: 1, Memory: 4 << 20, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func (n *naive) hash(kind byte) common.Hash {
	n.seed++
	return common.Hash{kind, byte(n.seed >> 16), byte(n.seed >> 8), byte(n.seed)}
}

func (n *naive) tip() *block { return n.blocks[len(n.blocks)-1] }

// make builds a block on another, with random logs.
func (n *naive) make(rt *rapid.T, number uint64, parent common.Hash) *block {
	b := &block{stored: &store.Block{Number: number, Parent: parent, Hash: n.hash(1), Time: 1000 + number, Header: []byte("header"), Level: 4}}
	index := uint(0)
	for i := range rapid.SampledFrom([]int{0, 1, 2, 3, 18}).Draw(rt, "transactions") {
		tx, logs := n.hash(2), []*types.Log{}
		first := index
		for range rapid.IntRange(0, 2).Draw(rt, "logs") {
			l := &types.Log{
				Address: common.Address{19: rapid.ByteRange(0, 3).Draw(rt, "address")}, Topics: []common.Hash{}, Data: []byte{byte(index)},
				BlockNumber: number, BlockHash: b.stored.Hash, BlockTimestamp: b.stored.Time, TxHash: tx, TxIndex: uint(i), Index: index,
			}
			for range rapid.IntRange(0, 4).Draw(rt, "topics") {
				l.Topics = append(l.Topics, common.Hash{31: rapid.ByteRange(0, 3).Draw(rt, "topic")})
			}
			logs, index = append(logs, l), index+1
		}
		row, err := rlp.EncodeToBytes([]any{[]byte{1}, uint64(i), logs})
		if err != nil {
			rt.Fatal(err)
		}
		b.stored.Txs = append(b.stored.Txs, store.Row{Data: tx[:]})
		b.stored.Hashes = append(b.stored.Hashes, tx)
		b.stored.Receipts = append(b.stored.Receipts, store.Receipt{Row: store.Row{Data: row}, FirstLog: uint64(first)})
		b.logs = append(b.logs, logs...)
	}
	switch txs := len(b.stored.Txs); {
	case txs == 0:
	case rapid.IntRange(0, 15).Draw(rt, "hole") == 0:
		b.stored.Receipts, b.hole = nil, true
	case rapid.IntRange(0, 30).Draw(rt, "unreadable") == 0:
		b.stored.Receipts[txs-1].Data, b.hole, b.torn = []byte("{}"), true, true
		b.logs = slices.DeleteFunc(b.logs, func(l *types.Log) bool { return l.TxIndex == uint(txs-1) })
	case rapid.IntRange(0, 30).Draw(rt, "kept") == 0:
		b.stored.Kept, b.hole = true, true
	}
	return b
}

// search is what Run should return.
func (n *naive) search(f *Filter, limits Limits) (logs []*types.Log, stop Stop, at uint64) {
	for _, b := range n.blocks {
		if b.stored.Number < f.From || b.stored.Number > f.To {
			continue
		}
		if b.hole && !b.torn {
			return logs, Hole, b.stored.Number
		}
		before := len(logs)
		for _, l := range b.logs {
			if !wanted(f, l) {
				continue
			}
			if logs = append(logs, l); len(logs) == limits.Logs {
				return logs, Full, b.stored.Number
			}
		}
		if b.torn {
			return logs[:before], Hole, b.stored.Number
		}
	}
	return logs, Complete, 0
}

// wanted is Geth's rule.
func wanted(f *Filter, l *types.Log) bool {
	one := func(list [][]byte, value []byte) bool {
		return len(list) == 0 || slices.ContainsFunc(list, func(v []byte) bool { return string(v) == string(value) })
	}
	if !one(f.addresses, l.Address[:]) || len(f.topics) > len(l.Topics) {
		return false
	}
	for i, list := range f.topics {
		if !one(list, l.Topics[i][:]) {
			return false
		}
	}
	return true
}

// params draws a query of a range as a client would write it.
func (n *naive) params(rt *rapid.T) string {
	last := n.tip().stored.Number
	from := rapid.Uint64Range(n.first, last).Draw(rt, "from")
	parts := []string{fmt.Sprintf(`"fromBlock":"0x%x","toBlock":"0x%x"`, from, rapid.Uint64Range(from, last).Draw(rt, "to"))}
	return writeFilter(rt, parts, func(v byte) string { return common.Address{19: v}.Hex() }, func(v byte) string { return common.Hash{31: v}.Hex() })
}

// writeFilter adds addresses and topics to a query: values of 0 to 4.
func writeFilter(rt *rapid.T, parts []string, address, topic func(byte) string) string {
	list := func(name string, most int, value func(byte) string) string {
		var all []string
		for range rapid.IntRange(1, most).Draw(rt, name) {
			all = append(all, `"`+value(rapid.ByteRange(0, 4).Draw(rt, "value"))+`"`)
		}
		if len(all) == 1 {
			return all[0]
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	if rapid.Bool().Draw(rt, "by address") {
		parts = append(parts, `"address":`+list("addresses", 2, address))
	}
	if n := rapid.IntRange(0, 4).Draw(rt, "positions"); n > 0 {
		var positions []string
		for range n {
			if rapid.Bool().Draw(rt, "any") {
				positions = append(positions, "null")
				continue
			}
			positions = append(positions, list("topics", 3, topic))
		}
		parts = append(parts, `"topics":[`+strings.Join(positions, ",")+`]`)
	}
	return "[{" + strings.Join(parts, ",") + "}]"
}

func (n *naive) check(rt *rapid.T) {
	if len(n.blocks) == 0 {
		return
	}
	v, err := n.s.Snapshot()
	if err != nil {
		rt.Fatal(err)
	}
	defer func() { _ = v.Close() }()
	for range 3 {
		params := n.params(rt)
		f, ok := Parse([]byte(params))
		if !ok {
			rt.Fatalf("%s is refused", params)
		}
		limits := Limits{Logs: rapid.SampledFrom([]int{0, 1, 5}).Draw(rt, "limit")}
		got, err := Run(rt.Context(), v, f, limits)
		if err != nil {
			rt.Fatal(err)
		}
		logs, stop, at := n.search(f, limits)
		if want := encode(rt, logs); string(got.Logs) != want || got.Count != len(logs) || got.Stop != stop || got.At != at {
			rt.Fatalf("%s, at most %d: got %d, stop %d at %d, %s, want %d, %d at %d, %s", params, limits.Logs, got.Count, got.Stop, got.At, got.Logs, len(logs), stop, at, want)
		}
	}
	n.checkOne(rt, v)
}

// checkOne asks for one block by its hash.
func (n *naive) checkOne(rt *rapid.T, v *store.Snapshot) {
	b := rapid.SampledFrom(n.blocks).Draw(rt, "block")
	f, ok := Parse(fmt.Appendf(nil, `[{"blockHash":"0x%x","topics":[null]}]`, b.stored.Hash))
	if !ok {
		rt.Fatal("refused")
	}
	got, err := Run(rt.Context(), v, f, Limits{})
	if err != nil {
		rt.Fatal(err)
	}
	want, stop := []*types.Log{}, Hole
	if !b.hole {
		stop = Complete
		for _, l := range b.logs {
			if len(l.Topics) > 0 {
				want = append(want, l)
			}
		}
	}
	if got.Stop != stop || string(got.Logs) != encode(rt, want) {
		rt.Fatalf("block %d: got %s, %v, want %s, %v", b.stored.Number, got.Logs, got.Stop, encode(rt, want), stop)
	}
}

func encode(t rapid.TB, logs []*types.Log) string {
	out, err := json.Marshal(append([]*types.Log{}, logs...))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func (n *naive) append(rt *rapid.T) {
	for range rapid.IntRange(1, 6).Draw(rt, "blocks") {
		number, parent := uint64(logindex.SectionBlocks-8), common.Hash{}
		if len(n.blocks) > 0 {
			number, parent = n.tip().stored.Number+1, n.tip().stored.Hash
		}
		b := n.make(rt, number, parent)
		n.must(rt, n.s.Append(b.stored))
		if n.blocks = append(n.blocks, b); len(n.blocks) == 1 {
			n.first = number
		}
	}
}

func (n *naive) must(rt *rapid.T, err error) {
	if err != nil {
		rt.Fatal(err)
	}
}

// reorg replaces the newest blocks.
func (n *naive) reorg(rt *rapid.T) {
	if len(n.blocks) < 2 {
		rt.Skip("too short")
	}
	keep := len(n.blocks) - rapid.IntRange(1, min(6, len(n.blocks)-1)).Draw(rt, "depth")
	n.blocks = n.blocks[:keep]
	var branch []store.Place
	for range rapid.IntRange(1, 6).Draw(rt, "length") {
		b := n.make(rt, n.tip().stored.Number+1, n.tip().stored.Hash)
		n.must(rt, n.s.Put(b.stored))
		at, _, err := n.s.ByHash(b.stored.Hash)
		n.must(rt, err)
		n.blocks, branch = append(n.blocks, b), append(branch, at)
	}
	n.must(rt, n.s.Move(branch))
}

// repair brings the receipts that a block lacked.
func (n *naive) repair(rt *rapid.T) {
	if len(n.blocks) == 0 {
		rt.Skip("nothing is stored")
	}
	b := rapid.SampledFrom(n.blocks).Draw(rt, "block")
	fresh := n.make(rt, b.stored.Number, b.stored.Parent)
	fresh.stored.Hash = b.stored.Hash
	for _, l := range fresh.logs {
		l.BlockHash = b.stored.Hash
	}
	n.must(rt, n.s.Replace(fresh.stored))
	*b = *fresh
}

// tear notes that a block can't be read.
func (n *naive) tear(rt *rapid.T) {
	if len(n.blocks) == 0 {
		rt.Skip("nothing is stored")
	}
	b := rapid.SampledFrom(n.blocks).Draw(rt, "block")
	m, _, err := n.s.Canonical(b.stored.Number)
	n.must(rt, err)
	m.Hole, b.hole, b.torn = true, true, false
	n.must(rt, n.s.SetMark(m))
}

func (n *naive) prune(rt *rapid.T) {
	if len(n.blocks) < 2 {
		rt.Skip("too short")
	}
	drop := rapid.IntRange(1, len(n.blocks)-1).Draw(rt, "blocks")
	n.first += uint64(drop)
	_, err := n.s.Prune(n.first)
	n.must(rt, err)
	n.blocks = n.blocks[drop:]
}

// Whatever happened to the chain, a query gives what a search log by log gives.
func TestNaive(t *testing.T) {
	full.Slow(t)
	rapid.Check(t, func(rt *rapid.T) {
		n := &naive{s: openStore(t)}
		defer func() { _ = n.s.Close() }()
		rt.Repeat(map[string]func(*rapid.T){"append": n.append, "reorg": n.reorg, "repair": n.repair, "tear": n.tear, "prune": n.prune, "": n.check})
	})
}
