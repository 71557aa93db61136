package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// sample is a call and an honest answer of go-ethereum to it.
type sample struct {
	name, params string
	result       []byte
}

func (s *sample) String() string { return s.name + s.params }

// ask is the call as the pool describes it.
func (s *sample) ask() *Ask {
	a := &Ask{Row: method.Of(s.name), Params: []byte(s.params)}
	list, _ := jsonrpc.Elements(nil, a.Params)
	at := a.Row.Block
	switch {
	case at != method.None && at < len(list):
		if hexjson.IsHash(list[at]) {
			a.Hash = list[at]
		} else {
			a.Number, a.Exact = hexjson.Quantity(list[at])
		}
	case len(list) > 0 && hexjson.IsHash(list[0]):
		a.Hash = list[0]
	}
	return a
}

// samples are answers about every block of the built-in chain, which has transactions of
// all types, failed ones, contract creations and logs.
var samples = sync.OnceValue(func() []sample {
	preset := devchain.Devnet()
	n, err := chain.Open(chain.Config{
		Genesis: preset.Genesis(), Chain: preset.Chain, AnswerBytes: 64 << 20, StateBytes: 64 << 20,
		CallTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	defer n.Close()
	c := collector{node: n}
	for i := range 11 {
		c.block(i)
	}
	return c.list
})

type collector struct {
	node *chain.Node
	list []sample
}

func (c *collector) call(name, format string, args ...any) []byte {
	params := fmt.Sprintf(format, args...)
	result, err := c.node.Call(context.Background(), name, []byte(params))
	if err != nil {
		panic(name + params + ": " + err.Error())
	}
	c.list = append(c.list, sample{name, params, result})
	return result
}

// block collects all that is asked about a block.
func (c *collector) block(i int) {
	var b struct{ Hash string }
	if err := json.Unmarshal(c.call("eth_getBlockByNumber", `["0x%x",false]`, i), &b); err != nil {
		panic(err)
	}
	var txs struct {
		Transactions []struct{ Hash, From, To string }
	}
	if err := json.Unmarshal(c.call("eth_getBlockByNumber", `["0x%x",true]`, i), &txs); err != nil {
		panic(err)
	}
	c.call("eth_getBlockByHash", `["%s",true]`, b.Hash)
	c.call("eth_getHeaderByNumber", `["0x%x"]`, i)
	c.call("eth_getBlockReceipts", `["0x%x"]`, i)
	c.call("eth_getBlockReceipts", `["%s"]`, b.Hash)
	c.call("eth_getLogs", `[{"fromBlock":"0x%x","toBlock":"0x%x"}]`, i, i)
	c.call("eth_getLogs", `[{"blockHash":"%s","address":["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9"],"topics":[]}]`, b.Hash)
	c.call("eth_getProof", `["0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9",["0x0","0x1","0x7777"],"0x%x"]`, i)
	c.call("eth_getProof", `["0x%040x",["0x0"],"%s"]`, 0xabcdef, b.Hash)
	for at, tx := range txs.Transactions {
		c.call("eth_getTransactionByHash", `["%s"]`, tx.Hash)
		c.call("eth_getTransactionReceipt", `["%s"]`, tx.Hash)
		c.call("eth_getRawTransactionByHash", `["%s"]`, tx.Hash)
		c.call("eth_getTransactionByBlockHashAndIndex", `["%s","0x%x"]`, b.Hash, at)
		c.call("eth_getTransactionByBlockNumberAndIndex", `["0x%x","0x%x"]`, i, at)
		c.call("eth_getProof", `["%s",[],"0x%x"]`, tx.From, i)
	}
}

// known is a checker that has checked every header, and a way to find them by number.
func known(t testing.TB, c *Checker) (byNumber func(uint64) *Header) {
	t.Helper()
	list := map[uint64]*Header{}
	for _, s := range samples() {
		if s.name != "eth_getHeaderByNumber" {
			continue
		}
		h, f := c.Read(s.result)
		if f != nil {
			t.Fatal(s.String(), f)
		}
		list[h.Number] = h
	}
	return func(n uint64) *Header { return list[n] }
}

// TestHonest: nothing is found in the answers of an honest node, with headers in memory
// and without, and the checks are really made.
func TestHonest(t *testing.T) {
	kinds := map[string]bool{}
	for _, warm := range []bool{false, true} {
		c := New("")
		var all Kinds
		byNumber := func(uint64) *Header { return nil }
		if warm {
			byNumber = known(t, c)
		}
		for _, s := range samples() {
			a := s.ask()
			a.ByNumber = byNumber
			held, f := c.Check(a, s.result)
			if f != nil {
				t.Errorf("%s: %v\n%.2000s", s.String(), f, s.result)
			}
			all |= held
			if s.name == "eth_getTransactionByHash" {
				var tx struct{ Type string }
				_ = json.Unmarshal(s.result, &tx)
				kinds[tx.Type] = true
			}
		}
		for _, k := range []Kind{HeaderHash, TransactionHash, TransactionsRoot, WithdrawalsRoot, ReceiptsRoot, Placement, Bloom, FilterMatch, Proof} {
			if !all.Has(k) && (warm || k != Proof && k != Bloom) {
				t.Errorf("warm %v: check %d was never made", warm, k)
			}
		}
	}
	if len(kinds) != 5 {
		t.Errorf("the chain has transactions of %v only", kinds)
	}
}
