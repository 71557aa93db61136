package cache_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// constant answers everything at once.
type constant struct {
	head   nodegate.Head
	answer []byte
}

func (c *constant) Call(context.Context, string, []byte) ([]byte, error) { return c.answer, nil }
func (c *constant) Head(context.Context) (nodegate.Head, error)          { return c.head, nil }

// receiptOf has the size of a common receipt, in a block.
func receiptOf(number uint64) []byte {
	return fmt.Appendf(nil, `{"blockHash":"0x%064x","blockNumber":"0x%x","logsBloom":"0x%s"}`, 1, number, strings.Repeat("0", 1380))
}

// BenchmarkHit is an answer from memory: final, near the head, and by many at once.
func BenchmarkHit(b *testing.B) {
	params := []byte(fmt.Sprintf(`["0x%064x"]`, 7))
	for _, c := range []struct {
		name  string
		block uint64
	}{{"final", 1}, {"near", 95}} {
		node := &constant{head: nodegate.Head{Number: 100, Finalized: 90, Fork: 1}, answer: receiptOf(c.block)}
		cached := cache.New(node, cache.Config{Bytes: 64 << 20})
		var trace nodegate.Trace
		ctx := nodegate.WithTrace(context.Background(), &trace)
		run := func() {
			if _, err := cached.Call(ctx, "eth_getTransactionReceipt", params); err != nil {
				b.Fatal(err)
			}
		}
		run()
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				run()
			}
			if trace.Cache != nodegate.CacheHit {
				b.Fatal(trace)
			}
		})
		b.Run(c.name+"/parallel", func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				var trace nodegate.Trace
				ctx := nodegate.WithTrace(context.Background(), &trace)
				for pb.Next() {
					if _, err := cached.Call(ctx, "eth_getTransactionReceipt", params); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// BenchmarkMiss is what the cache adds to a call that it can't answer.
func BenchmarkMiss(b *testing.B) {
	node := &constant{head: nodegate.Head{Number: 100, Finalized: 90, Fork: 1}, answer: receiptOf(1)}
	cached := cache.New(node, cache.Config{Bytes: 64 << 20})
	params := []byte(fmt.Sprintf(`["0x%064x"]`, 7))
	ctx := nodegate.WithTrace(context.Background(), new(nodegate.Trace))
	b.ReportAllocs()
	for i := range b.N {
		copy(params[4:], fmt.Sprintf("%016x", i))
		if _, err := cached.Call(ctx, "eth_getTransactionReceipt", params); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEmbedded compares a hit with the embedded chain's own answer to the same
// question, asked again and again. Front sends through its cache what is a hundred times slower.
func BenchmarkEmbedded(b *testing.B) {
	node := openChain(b)
	head, err := node.Head(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	cached := cache.New(node, cache.Config{Bytes: 64 << 20})
	front := cache.NewFront(node, cache.Config{Bytes: 64 << 20})
	demo, number := strings.ToLower(devchain.DemoAddress().Hex()), fmt.Sprintf("%#x", head.Number)
	tx := call(b, node, "eth_getBlockByNumber", `["0x2",false]`)
	tx = tx[strings.Index(tx, `"transactions":["`)+len(`"transactions":["`):][:66]
	block := call(b, node, "eth_getBlockByNumber", `["latest",false]`)
	block = block[strings.Index(block, `"hash":"`)+len(`"hash":"`):][:66]
	for _, c := range []struct{ method, params string }{
		{"eth_getStorageAt", fmt.Sprintf(`["%s","0x%064x","%s"]`, demo, 0, number)},
		{"eth_getProof", fmt.Sprintf(`["%s",["0x0"],"%s"]`, demo, number)},
		{"eth_getTransactionByHash", `["` + tx + `"]`},
		{"eth_getTransactionByBlockHashAndIndex", `["` + block + `","0x0"]`},
		{"eth_getTransactionReceipt", `["` + tx + `"]`},
		{"eth_getBlockReceipts", `["` + number + `"]`},
		{"eth_call", fmt.Sprintf(`[{"from":"0x%040x","to":"%s","gas":"0x2faf080","input":"0x70a08231000000000000000000000000f39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"%s"]`, 1, demo, number)},
		{"eth_estimateGas", fmt.Sprintf(`[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"%s","input":"0xa9059cbb%064x%064x"},"%s"]`, demo, 1, 1, number)},
		{"eth_chainId", `[]`},
		{"eth_getBalance", fmt.Sprintf(`["%s","latest"]`, demo)},
		{"eth_getCode", fmt.Sprintf(`["%s","latest"]`, demo)},
		{"eth_getTransactionCount", fmt.Sprintf(`["%s","latest"]`, demo)},
		{"eth_getBlockByNumber", `["latest",false]`},
		{"eth_getBlockByHash", `["` + block + `",true]`},
		{"eth_getHeaderByNumber", `["latest"]`},
		{"eth_getBlockTransactionCountByNumber", `["latest"]`},
		{"eth_getBlockTransactionCountByHash", `["` + block + `"]`},
		{"eth_getTransactionByBlockNumberAndIndex", `["latest","0x0"]`},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"latest"}]`},
		{"eth_feeHistory", `["0x4","latest",[25,75]]`},
		{"eth_gasPrice", `[]`},
		{"eth_maxPriorityFeePerGas", `[]`},
		{"eth_blobBaseFee", `[]`},
		{"net_version", `[]`},
	} {
		for _, of := range []struct {
			name string
			node nodegate.Node
		}{{"chain", node}, {"cache", cached}, {"front", front}} {
			b.Run(c.method+"/"+of.name, func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					if _, err := of.node.Call(context.Background(), c.method, []byte(c.params)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
