package ledger

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// startBench is a ledger with the blocks of a chain.
func startBench(b testing.TB) (*Node, *chain) {
	c := newChain()
	c.grow(100)
	r := newRig(nil, c, b.TempDir(), 1000)
	r.Start()
	b.Cleanup(func() {
		r.Stop()
		if err := r.store.Close(); err != nil {
			b.Error(err)
		}
	})
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if v := r.view.Load(); v != nil && v.last == 100 {
			return r.Node, c
		}
		if time.Now().After(end) {
			b.Fatal("the ledger doesn't reach the head")
		}
	}
}

// hit is a lookup that the ledger answers.
func hit(b testing.TB, n *Node, name string, params []byte) func() {
	trace := new(nodegate.Trace)
	ctx := nodegate.WithTrace(b.Context(), trace)
	return func() {
		if _, err := n.Call(ctx, name, params); err != nil || trace.Cache != nodegate.CacheLedger {
			b.Fatalf("%s: %+v, %v", name, trace, err)
		}
	}
}

// lookups are what is measured, of a block with three transactions and six logs.
func lookups(c *chain) map[string][]string {
	m := c.at(99)
	tx := `["` + m.Transactions()[1].Hash().Hex() + `"]`
	return map[string][]string{
		"transaction": {"eth_getTransactionByHash", tx}, "receipt": {"eth_getTransactionReceipt", tx},
		"block": {"eth_getBlockByNumber", `["0x63",true]`}, "receipts": {"eth_getBlockReceipts", `["0x63"]`},
	}
}

// TestAllocations bounds what a lookup allocates that reads its block: garbage is most of what
// it costs.
func TestAllocations(t *testing.T) {
	if underRace {
		return
	}
	n, c := startBench(t)
	n.kept = kept{}
	for name, most := range map[string]float64{"transaction": 16, "receipt": 18, "block": 20, "receipts": 34} {
		l := lookups(c)[name]
		if got := testing.AllocsPerRun(200, hit(t, n, l[0], []byte(l[1]))); got > most {
			t.Errorf("%s: %v allocations, want at most %v", name, got, most)
		} else {
			t.Logf("%s: %v allocations", name, got)
		}
	}
}

// TestKeptAllocations bounds what one allocates whose answer is kept.
func TestKeptAllocations(t *testing.T) {
	if underRace {
		return
	}
	n, c := startBench(t)
	for name, l := range lookups(c) {
		if got := testing.AllocsPerRun(200, hit(t, n, l[0], []byte(l[1]))); got > 3 {
			t.Errorf("%s: %v allocations, want at most 3", name, got)
		}
	}
}

// BenchmarkHit measures lookups that read their block, and those whose answers are kept.
func BenchmarkHit(b *testing.B) {
	n, c := startBench(b)
	answers := n.kept
	for where, k := range map[string]kept{"read": {}, "kept": answers} {
		n.kept = k
		for name, l := range lookups(c) {
			call := hit(b, n, l[0], []byte(l[1]))
			b.Run(where+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					call()
				}
			})
		}
	}
}
