package logquery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// plainBlock is a block with one transaction and one log of an address.
func plainBlock(number uint64, parent common.Hash, name byte) *store.Block {
	hash := common.Hash{name, 30: byte(number >> 8), 31: byte(number)}
	l := &types.Log{Address: common.Address{1}, Topics: []common.Hash{{2}}, Data: []byte{name}}
	row, err := rlp.EncodeToBytes([]any{[]byte{1}, uint64(1), []*types.Log{l}})
	if err != nil {
		panic(err)
	}
	return &store.Block{
		Number: number, Parent: parent, Hash: hash, Header: []byte("header"), Txs: []store.Row{{Data: []byte("tx")}}, Hashes: [][32]byte{hash},
		Receipts: []store.Receipt{{Row: store.Row{Data: row}}},
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fill appends blocks of a name, from a height up to another.
func fill(t testing.TB, s *store.Store, from, to uint64, name byte) {
	parent := common.Hash{}
	if _, tip, ok := s.Tip(); ok {
		parent = tip.Hash
	}
	for n := from; n <= to; n++ {
		b := plainBlock(n, parent, name)
		must(t, s.Append(b))
		parent = b.Hash
	}
}

func query(t testing.TB, s *store.Store, from, to uint64, limits Limits) Result {
	t.Helper()
	f, ok := Parse(fmt.Appendf(nil, `[{"fromBlock":"0x%x","toBlock":"0x%x","address":"%s"}]`, from, to, common.Address{1}))
	if !ok {
		t.Fatal("refused")
	}
	v, err := s.Snapshot()
	must(t, err)
	defer func() { must(t, v.Close()) }()
	r, err := Run(t.Context(), v, f, limits)
	must(t, err)
	return r
}

func TestSpan(t *testing.T) {
	s := openStore(t)
	if r := query(t, s, 0, 0, Limits{}); r.Stop != Outside {
		t.Errorf("an empty store says %+v", r)
	}
	fill(t, s, 10, 20, 'a')
	for _, c := range []struct {
		from, to uint64
		stop     Stop
		at       uint64
		count    int
	}{
		{10, 20, Complete, 0, 11}, {15, 15, Complete, 0, 1}, {9, 12, Outside, 9, 0}, {1, 2, Outside, 1, 0}, {10, 21, Outside, 21, 0}, {30, 40, Outside, 30, 0},
	} {
		if r := query(t, s, c.from, c.to, Limits{}); r.Stop != c.stop || r.At != c.at || r.Count != c.count {
			t.Errorf("%d to %d: got %d at %d, %d logs, want %d at %d, %d", c.from, c.to, r.Stop, r.At, r.Count, c.stop, c.at, c.count)
		}
	}
}

func TestLimits(t *testing.T) {
	s := openStore(t)
	fill(t, s, 1, 20, 'a')
	all := query(t, s, 1, 20, Limits{})
	one := len(query(t, s, 1, 1, Limits{}).Logs)
	for _, c := range []struct {
		limits Limits
		stop   Stop
		count  int
	}{
		{Limits{Logs: 5}, Full, 5}, {Limits{Logs: 20}, Full, 20}, {Limits{Logs: 21}, Complete, 20}, {Limits{Bytes: 3 * one}, Full, 4}, {Limits{Bytes: len(all.Logs) + 1}, Complete, 20},
		{Limits{Logs: 2, Bytes: 3 * one}, Full, 2},
	} {
		r := query(t, s, 1, 20, c.limits)
		if r.Stop != c.stop || r.Count != c.count || c.stop == Full && r.At != uint64(c.count) {
			t.Errorf("%+v: got %d logs, %d at %d, want %d, %d", c.limits, r.Count, r.Stop, r.At, c.count, c.stop)
		}
		if !strings.HasPrefix(string(all.Logs), strings.TrimSuffix(string(r.Logs), "]")) {
			t.Errorf("%+v: got %s", c.limits, r.Logs)
		}
	}
}

func TestCanceled(t *testing.T) {
	s := openStore(t)
	fill(t, s, 1, 3, 'a')
	v, err := s.Snapshot()
	must(t, err)
	defer func() { must(t, v.Close()) }()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, v, &Filter{From: 1, To: 3}, Limits{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if r, err := Run(t.Context(), v, &Filter{Hash: &[32]byte{9}}, Limits{}); err != nil || r.Stop != Outside {
		t.Errorf("an unknown block says %+v, %v", r, err)
	}
}

// A reorg while queries run: each sees one branch or the other, whole.
func TestReorgWhileSearching(t *testing.T) {
	s := openStore(t)
	fill(t, s, 1, 10, 'a')
	_, tip, _ := s.Tip()
	branches := map[byte][]store.Place{}
	for _, name := range []byte{'b', 'c'} {
		parent := common.Hash(tip.Hash)
		for n := uint64(11); n <= 40; n++ {
			b := plainBlock(n, parent, name)
			must(t, s.Put(b))
			at, _, err := s.ByHash(b.Hash)
			must(t, err)
			branches[name], parent = append(branches[name], at), b.Hash
		}
	}
	must(t, s.Move(branches['b']))
	want := map[string]bool{}
	want[string(query(t, s, 1, 40, Limits{}).Logs)] = true
	must(t, s.Move(branches['c']))
	want[string(query(t, s, 1, 40, Limits{}).Logs)] = true
	if len(want) != 2 {
		t.Fatal("both branches have the same logs")
	}
	done := make(chan error)
	go func() {
		var err error
		for i := range 60 {
			err = errors.Join(err, s.Move(branches[[]byte("bc")[i%2]]))
		}
		done <- err
	}()
	seen := map[string]int{}
	for running := true; running; {
		select {
		case err := <-done:
			must(t, err)
			running = false
		default:
		}
		// While a batch is not on disk, its heights are not shown.
		if r := query(t, s, 1, 40, Limits{}); r.Stop != Outside {
			if seen[string(r.Logs)]++; !want[string(r.Logs)] || r.Stop != Complete {
				t.Fatalf("a mix: %v %s", r.Stop, r.Logs)
			}
		} else if r.At != 11 {
			t.Fatalf("outside at %d", r.At)
		}
	}
	counts := []int{}
	for _, n := range seen {
		counts = append(counts, n)
	}
	slices.Sort(counts)
	t.Log(counts)
}

// TestPartial: a block with logs that are not stored is a hole, also after it was made
// canonical again, and by its hash.
func TestPartial(t *testing.T) {
	s := openStore(t)
	fill(t, s, 1, 3, 'a')
	_, parent, _ := s.Tip()
	b := plainBlock(4, parent.Hash, 'a')
	b.Partial = true
	must(t, s.Append(b))
	fill(t, s, 5, 6, 'a')
	partial := func(when string) {
		t.Helper()
		if r := query(t, s, 1, 6, Limits{}); r.Stop != Hole || r.At != 4 || r.Count != 3 {
			t.Errorf("%s: stopped for %d at %d with %d logs", when, r.Stop, r.At, r.Count)
		}
	}
	partial("appended")
	at := func(hash [32]byte) store.Place {
		t.Helper()
		place, ok, err := s.ByHash(hash)
		if !ok || err != nil {
			t.Fatalf("%x is not stored: %v", hash, err)
		}
		return place
	}
	_, tip, _ := s.Tip()
	five := at(plainBlock(5, b.Hash, 'a').Hash)
	side := plainBlock(4, parent.Hash, 'b')
	must(t, s.Put(side))
	must(t, s.Move([]store.Place{at(side.Hash)}))
	if r := query(t, s, 1, 4, Limits{}); r.Stop != Complete || r.Count != 4 {
		t.Errorf("the other branch: stopped for %d with %d logs", r.Stop, r.Count)
	}
	must(t, s.Move([]store.Place{at(b.Hash), five, tip}))
	partial("moved")
	v, err := s.Snapshot()
	must(t, err)
	defer func() { must(t, v.Close()) }()
	if r, err := Run(t.Context(), v, &Filter{Hash: &b.Hash}, Limits{}); err != nil || r.Stop != Hole {
		t.Errorf("by its hash: %+v, %v", r, err)
	}
}

// TestPace: it is called for every block, and a query ends soon after its context.
func TestPace(t *testing.T) {
	s := openStore(t)
	fill(t, s, 1, 40, 'a')
	v, err := s.Snapshot()
	must(t, err)
	defer func() { must(t, v.Close()) }()
	for _, params := range []string{`[{"fromBlock":"0x1","toBlock":"0x28"}]`, fmt.Sprintf(`[{"fromBlock":"0x1","toBlock":"0x28","address":"%s"}]`, common.Address{1})} {
		f, ok := Parse([]byte(params))
		if !ok {
			t.Fatal("refused")
		}
		steps := 0
		if r, err := Run(t.Context(), v, f, Limits{Pace: func() { steps++ }}); err != nil || r.Count != 40 || steps < 40 {
			t.Errorf("%s: %d steps for %d logs, %v", params, steps, r.Count, err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		steps = 0
		_, err := Run(ctx, v, f, Limits{Pace: func() {
			if steps++; steps == 7 {
				cancel()
			}
		}})
		if !errors.Is(err, context.Canceled) || steps != 7 {
			t.Errorf("%s: ends after %d steps with %v", params, steps, err)
		}
	}
}

// TestHold: an answer reserves its memory as it grows, a small one none. A search for which
// there is none ends with that error.
func TestHold(t *testing.T) {
	s := openStore(t)
	fill(t, s, 1, 600, 'a')
	held := int64(0)
	hold := func(bytes int64) error { held += bytes; return nil }
	if r := query(t, s, 1, 100, Limits{Hold: hold}); r.Count != 100 || held != 0 {
		t.Errorf("%d bytes took %d", len(r.Logs), held)
	}
	r := query(t, s, 1, 600, Limits{Hold: hold})
	if r.Count != 600 || held < int64(len(r.Logs)) || held > 4*int64(len(r.Logs)) {
		t.Errorf("%d bytes took %d", len(r.Logs), held)
	}
	if plain := query(t, s, 1, 600, Limits{}); string(plain.Logs) != string(r.Logs) {
		t.Error("the answer is another one")
	}
	f, _ := Parse([]byte(`[{"fromBlock":"0x1","toBlock":"0x258"}]`))
	v, err := s.Snapshot()
	must(t, err)
	defer func() { must(t, v.Close()) }()
	none := &nodegate.Error{Code: nodegate.AccountBusy}
	if _, err := Run(t.Context(), v, f, Limits{Hold: func(int64) error { return none }}); !errors.Is(err, nodegate.AccountBusy) {
		t.Errorf("without memory: %v", err)
	}
}
