package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestRandomHistory: whatever the chain does, and however slow and unreliable its nodes are,
// nothing is answered by number or by transaction that isn't on the chain at that moment.
func TestRandomHistory(t *testing.T) {
	full.Slow(t)
	answered, seeds := 0, uint64(rounds(full.Rounds(12, 5), 2))
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := rand.New(rand.NewPCG(seed, 1))
				c := newChain()
				c.grow(30)
				node := newRig(t, c, dir, 40)
				node.Start()
				for range 150 {
					if r.IntN(25) == 0 {
						node.Close()
						node = newRig(t, c, dir, 40)
						node.Start()
					}
					c.change(r)
					time.Sleep(time.Duration(r.IntN(400)) * time.Millisecond)
					answered += node.probe(r)
				}
				c.set(func(c *chain) { c.lie, c.away, c.delay, c.failReceipts = nil, false, 0, nil })
				time.Sleep(10 * time.Minute) // also to pass over what can't be proven
				node.settle()
				node.check(c.at(c.head.Number), true)
				node.Close()
			})
		})
	}
	if answered < 40*int(seeds) {
		t.Errorf("only %d probes were answered: the test shows little", answered)
	}
}

// change does something to the chain, or to its nodes.
func (c *chain) change(r *rand.Rand) {
	switch r.IntN(14) {
	case 0, 1, 2, 3, 4, 5:
		c.grow(1 + r.IntN(3))
	case 6, 7: // never below what is final
		back := 1 + r.IntN(min(6, max(1, int(c.head.Number-c.head.Finalized))))
		c.reorg(back, back+r.IntN(3), int64(r.Uint32()))
	case 8:
		c.set(func(c *chain) { c.head.Fork++ })
	case 9:
		c.set(func(c *chain) { c.delay = time.Duration(r.IntN(200)) * time.Millisecond })
	case 10:
		c.set(func(c *chain) { c.away = r.IntN(3) == 0 })
	case 11:
		c.set(func(c *chain) {
			c.failReceipts = []error{nil, &nodegate.Error{Code: nodegate.Timeout}, &nodegate.Error{Code: nodegate.MethodNotFound}}[r.IntN(3)]
		})
	case 12:
		c.set(func(c *chain) {
			c.lie = nil
			if r.IntN(2) == 0 {
				c.lie = func(kind string, o map[string]any) {
					inTx(kind, o, "from", "0x00000000000000000000000000000000000000ff")
				}
			}
		})
	case 13: // the chain is recreated
		if r.IntN(4) == 0 {
			c.reorg(int(c.head.Number), int(c.head.Number)+1, int64(r.Uint32()))
			c.set(func(c *chain) {
				c.head.Lost++
				c.head.Finalized = 0
			})
		}
	}
}

// probe asks for some blocks and receipts, several at a time, and compares what the ledger
// answers with the chain. It returns how often it did.
func (r *rig) probe(random *rand.Rand) (answered int) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 6 {
		n := r.chain.head.Number - min(r.chain.head.Number, random.Uint64N(8))
		m := r.chain.at(n)
		call, params := "eth_getBlockByNumber", fmt.Sprintf(`["%#x",true]`, n)
		if txs := m.Transactions(); len(txs) > 0 && random.IntN(2) == 0 {
			call, params = "eth_getTransactionReceipt", `["`+txs[0].Hash().Hex()+`"]`
		}
		all.Go(func() {
			result, err := r.Call(context.Background(), call, []byte(params))
			if err != nil || string(result) == passed {
				return
			}
			var got struct{ Hash, BlockHash, From string }
			if err := json.Unmarshal(result, &got); err != nil {
				r.t.Error(err)
			}
			if want := m.Hash().Hex(); got.Hash != want && got.BlockHash != want {
				r.t.Errorf("%s %s is of block %s%s, want %s", call, params, got.Hash, got.BlockHash, want)
			}
			mu.Lock()
			answered++
			mu.Unlock()
		})
	}
	all.Wait()
	return answered
}
