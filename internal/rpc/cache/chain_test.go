package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

func openChain(t testing.TB) *chain.Node {
	t.Helper()
	preset := devchain.Devnet()
	n, err := chain.Open(chain.Config{
		Genesis: preset.Genesis(), Chain: preset.Chain, AnswerBytes: 64 << 20, StateBytes: 64 << 20,
		CallTimeout: 20 * time.Second, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func call(t testing.TB, n nodegate.Node, name, params string) string {
	t.Helper()
	result, err := n.Call(context.Background(), name, []byte(params))
	if err != nil {
		return "error: " + err.Error()
	}
	return string(result)
}

// send puts a transfer into a block of its own.
func send(t testing.TB, n nodegate.Node, value int64) string {
	t.Helper()
	from := devchain.Accounts()[0]
	var nonce hexutil.Uint64
	if err := json.Unmarshal([]byte(call(t, n, "eth_getTransactionCount", fmt.Sprintf(`["%s","latest"]`, from.Address))), &nonce); err != nil {
		t.Fatal(err)
	}
	tx, err := types.SignNewTx(from.PrivateKey, types.LatestSignerForChainID(big.NewInt(1337)), &types.LegacyTx{
		Nonce: uint64(nonce), GasPrice: big.NewInt(100e9), Gas: 100_000, To: &common.Address{1, byte(value)}, Value: big.NewInt(value),
	})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	hash := call(t, n, "eth_sendRawTransaction", `["`+hexutil.Encode(raw)+`"]`)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if receipt := call(t, n, "eth_getTransactionReceipt", "["+hash+"]"); receipt != "null" {
			return hash
		}
	}
	t.Fatalf("%s is not mined", hash)
	return ""
}

// TestReorgs: a real chain is rolled back and grows again, many times; through the
// cache everything looks as it does without.
func TestReorgs(t *testing.T) {
	node := openChain(t)
	cached := cache.New(node, cache.Config{Bytes: 1 << 20})
	top, err := node.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	var hashes []string
	hits := 0
	for round := range 12 {
		snapshot := call(t, node, "evm_snapshot", `[]`)
		for range 1 + random.IntN(3) {
			hashes = append(hashes, send(t, node, int64(round*10+random.IntN(10)+1)))
			hits += compare(t, node, cached, top.Number, hashes)
		}
		if random.IntN(3) > 0 {
			if done := call(t, node, "evm_revert", "["+snapshot+"]"); done != "true" {
				t.Fatalf("revert: %s", done)
			}
			hits += compare(t, node, cached, top.Number, hashes)
			call(t, node, "evm_increaseTime", fmt.Sprintf(`["%#x"]`, 10+round))
			call(t, node, "evm_mine", `[]`) // another block of the same number
			hits += compare(t, node, cached, top.Number, hashes)
		}
	}
	if hits == 0 {
		t.Error("the cache was never used")
	}
	head, _ := node.Head(t.Context())
	t.Logf("%d transactions, %d hits, fork %d", len(hashes), hits, head.Fork)
}

// compare asks twice through the cache and once without.
func compare(t *testing.T, node *chain.Node, cached *cache.Cache, base uint64, hashes []string) (hits int) {
	t.Helper()
	head, err := node.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type question struct{ name, params string }
	list := []question{{"eth_gasPrice", `[]`}}
	for _, h := range hashes {
		list = append(list, question{"eth_getTransactionReceipt", "[" + h + "]"}, question{"eth_getTransactionByHash", "[" + h + "]"})
	}
	for n := base; n <= head.Number+1; n++ {
		list = append(list,
			question{"eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, n)},
			question{"eth_getBlockReceipts", fmt.Sprintf(`["%#x"]`, n)},
			question{"eth_getBalance", fmt.Sprintf(`["%s","%#x"]`, strings.ToLower(devchain.Accounts()[0].Address.Hex()), n)})
	}
	for _, q := range list {
		want := call(t, node, q.name, q.params)
		for range 2 {
			var trace nodegate.Trace
			result, err := cached.Call(nodegate.WithTrace(t.Context(), &trace), q.name, []byte(q.params))
			got := string(result)
			if err != nil {
				got = "error: " + err.Error()
			}
			if got != want {
				t.Fatalf("%s %s (%s %s)\n%s\nwant\n%s", q.name, q.params, trace.Cache, trace.Reason, got, want)
			}
			if trace.Cache == nodegate.CacheHit {
				hits++
			}
		}
	}
	return hits
}
