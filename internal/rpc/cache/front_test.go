package cache_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// counting is a chain that counts what it is asked.
type counting struct {
	*chain.Node
	asked map[string]int
}

func (c *counting) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	c.asked[name]++
	return c.Node.Call(ctx, name, params)
}

// TestFrontPaths: what pays is asked once, all else every time.
func TestFrontPaths(t *testing.T) {
	node := &counting{openChain(t), map[string]int{}}
	front := cache.NewFront(node, cache.Config{Bytes: 1 << 20})
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	for _, c := range []struct {
		name, params string
		asked        int
	}{
		{"eth_getBalance", `["` + demo + `","latest"]`, 1},
		{"eth_getBalance", `["` + demo + `","pending"]`, 3},
		{"eth_getProof", `["` + demo + `",[],"latest"]`, 3},
		{"eth_getBlockByNumber", `["safe",false]`, 1},
		{"eth_getBlockByNumber", `["0xffffff",false]`, 3}, // null is never kept
		{"eth_gasPrice", `[]`, 1},
		{"eth_getStorageAt", `["` + demo + `","0x0","latest"]`, 3},
		{"eth_call", `[{"to":"` + demo + `"},"latest"]`, 3},
		{"eth_chainId", `[]`, 3},
		{"eth_blockNumber", `[]`, 3},
	} {
		clear(node.asked)
		for range 3 {
			if got, want := call(t, front, c.name, c.params), call(t, node.Node, c.name, c.params); got != want {
				t.Errorf("%s %s: %s, want %s", c.name, c.params, got, want)
			}
		}
		if node.asked[c.name] != c.asked {
			t.Errorf("%s %s: the chain was asked %d times, want %d", c.name, c.params, node.asked[c.name], c.asked)
		}
	}
	if held := front.Stats(); held.Answers == 0 || held.Bytes == 0 {
		t.Errorf("it holds %+v", held)
	}
	if err := front.Subscribe(t.Context(), []byte(`["newHeads"]`), func([]byte, nodegate.End) {}); err != nil {
		t.Errorf("no subscription: %v", err)
	}
}

// TestFrontSame: whatever is sent and taken back, whoever asks through the front gets
// what the chain itself says at that moment. The small one always lacks room.
func TestFrontSame(t *testing.T) {
	full.Slow(t)
	node := openChain(t)
	wide, small := cache.NewFront(node, cache.Config{Bytes: 4 << 20}), cache.NewFront(node, cache.Config{Bytes: 8 << 10})
	value := int64(0)
	rapid.Check(t, func(r *rapid.T) {
		snapshots := []string{call(t, node, "evm_snapshot", `[]`)}
		for range rapid.IntRange(1, 40).Draw(r, "steps") {
			switch rapid.IntRange(0, 7).Draw(r, "step") {
			case 0:
				value++
				send(t, wide, value)
			case 1:
				call(t, node, "evm_increaseTime", fmt.Sprintf(`["%#x"]`, rapid.IntRange(1, 9).Draw(r, "seconds")))
				call(t, node, "evm_mine", `[]`)
			case 2:
				snapshots = append(snapshots, call(t, node, "evm_snapshot", `[]`))
			case 3:
				last := len(snapshots) - 1
				if done := call(t, node, "evm_revert", "["+snapshots[last]+"]"); done != "true" {
					r.Fatalf("revert: %s", done)
				}
				snapshots[last] = call(t, node, "evm_snapshot", `[]`)
			default:
				name, params := frontQuestion(r, node)
				want := call(t, node, name, params)
				for _, f := range []*cache.Front{wide, wide, small} {
					if got := call(t, f, name, params); got != want {
						r.Fatalf("%s %s\n%s\nwant\n%s", name, params, got, want)
					}
				}
			}
		}
	})
}

// frontQuestion is one that pays, near the head.
func frontQuestion(r *rapid.T, node nodegate.Node) (name, params string) {
	head, err := node.Head(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	block := rapid.OneOf(
		rapid.SampledFrom([]string{"latest", "safe", "finalized", "earliest", "pending"}),
		rapid.Map(rapid.Uint64Range(head.Number-min(head.Number, 3), head.Number+1), func(n uint64) string { return fmt.Sprintf("%#x", n) }),
	)
	at, from := block.Draw(r, "block"), block.Draw(r, "from")
	who := strings.ToLower(devchain.Accounts()[0].Address.Hex())
	q := rapid.SampledFrom([][2]string{
		{"eth_getBalance", fmt.Sprintf(`["%s","%s"]`, who, at)},
		{"eth_getTransactionCount", fmt.Sprintf(`["%s","%s"]`, who, at)},
		{"eth_getCode", fmt.Sprintf(`["%s","%s"]`, strings.ToLower(devchain.DemoAddress().Hex()), at)},
		{"eth_getProof", fmt.Sprintf(`["%s",[],"%s"]`, who, at)},
		{"eth_getBlockByNumber", fmt.Sprintf(`["%s",true]`, strings.Replace(at, "pending", "latest", 1))},
		{"eth_getHeaderByNumber", fmt.Sprintf(`["%s"]`, at)},
		{"eth_getBlockTransactionCountByNumber", fmt.Sprintf(`["%s"]`, at)},
		{"eth_getTransactionByBlockNumberAndIndex", fmt.Sprintf(`["%s","0x0"]`, at)},
		{"eth_getLogs", fmt.Sprintf(`[{"fromBlock":"%s","toBlock":"%s"}]`, from, at)},
		{"eth_getLogs", fmt.Sprintf(`[{"fromBlock":"%s"}]`, from)},
		{"eth_feeHistory", fmt.Sprintf(`["0x3","%s",[50]]`, at)},
		{"eth_gasPrice", `[]`},
		{"eth_maxPriorityFeePerGas", `[]`},
		{"eth_blobBaseFee", `[]`},
	}).Draw(r, "question")
	if at == "pending" && q[0] == "eth_getHeaderByNumber" {
		return "eth_getBlockByNumber", `["latest",true]` // a pending header differs from one second to the next
	}
	return q[0], q[1]
}

// TestFrontDuringBlocks: while blocks come, whoever was told of one gets no answer from
// before it.
func TestFrontDuringBlocks(t *testing.T) {
	node := openChain(t)
	front := cache.NewFront(node, cache.Config{Bytes: 1 << 20})
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() && !t.Failed() {
				told := number(t, call(t, front, "eth_blockNumber", `[]`))
				var block struct{ Number string }
				if err := json.Unmarshal([]byte(call(t, front, "eth_getBlockByNumber", `["latest",false]`)), &block); err != nil {
					t.Error(err)
				} else if got := number(t, block.Number); got < told {
					t.Errorf("told of block %d, latest is %d", told, got)
				}
			}
		})
	}
	for range 60 {
		call(t, node, "evm_mine", `[]`)
	}
	stop.Store(true)
	readers.Wait()
}

func number(t *testing.T, text string) uint64 {
	n, err := strconv.ParseUint(strings.Trim(text, `"`), 0, 64)
	if err != nil {
		t.Error(err)
	}
	return n
}
