package chain

import (
	"context"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

var (
	_ nodegate.Node = (*Node)(nil)
	_ nodegate.Feed = (*Node)(nil)
)

// Heads and gas limits of the built-in chains.
var presetHeads = []struct {
	preset devchain.Preset
	want   nodegate.Head
}{
	{devchain.Devnet(), nodegate.Head{Number: 10, GasLimit: 60_000_000, Safe: 10, Finalized: 10, Fork: 1}},
	{devchain.Rollup(), nodegate.Head{Number: 140, GasLimit: 2_000_000_000, Safe: 140, Finalized: 140, Fork: 1}},
}

func TestOpenPresets(t *testing.T) {
	for _, c := range presetHeads {
		for _, place := range []string{"memory", "folder"} {
			t.Run(c.preset.Name+" in "+place, func(t *testing.T) {
				dir := ""
				if place == "folder" {
					dir = filepath.Join(t.TempDir(), "chain")
				}
				n := openTemp(t, presetConfig(c.preset, dir))
				if got, err := n.Head(t.Context()); err != nil || got != c.want {
					t.Errorf("Head() = %+v, %v; want %+v", got, err, c.want)
				}
				checkNine(t, n)
			})
		}
	}
}

// checkNine asks each method once natively and once by go-ethereum. The ninth is
// the rollup's, which is not the chain's to answer.
func checkNine(t *testing.T, n *Node) {
	t.Helper()
	for _, r := range nineRequests(n) {
		got, err := n.Call(t.Context(), r.method, []byte(r.params))
		if err != nil {
			t.Errorf("%s: %v", r, err)
			continue
		}
		if _, handled, _ := n.native.Answer(t.Context(), r.method, []byte(r.params)); !handled {
			t.Errorf("%s is not answered natively", r)
		}
		if want, err := n.generic(t.Context(), r.method, []byte(r.params)); err != nil || string(want) != string(got) {
			t.Errorf("%s: Call says %s, go-ethereum %s (%v)", r, got, want, err)
		}
	}
	_, err := n.Call(t.Context(), "layer2_estimateGas", []byte(`[{}]`))
	wantCode(t, err, nodegate.MethodNotFound)
}

// nineRequests is one plain request of each method that the chain answers.
func nineRequests(n *Node) []request {
	block := n.engine.eth.BlockChain().GetBlockByNumber(2)
	tx := block.Transactions()[1]
	demo := lower(devchain.DemoAddress())
	value := callShape{to: demo, gas: "0x2faf080", input: fmt.Sprintf("%#x", packDemo("value"))}
	return []request{
		{"eth_getStorageAt", `["` + demo + `","0x0","latest"]`},
		{"eth_getProof", `["` + demo + `",["0x0"],"latest"]`},
		{"eth_getTransactionByHash", `["` + tx.Hash().Hex() + `"]`},
		{"eth_getTransactionByBlockHashAndIndex", `["` + block.Hash().Hex() + `","0x1"]`},
		{"eth_getTransactionReceipt", `["` + tx.Hash().Hex() + `"]`},
		{"eth_getBlockReceipts", `["0x2"]`},
		{"eth_call", `[` + value.String() + `,"latest"]`},
		{"eth_estimateGas", `[` + value.String() + `,"latest"]`},
	}
}

func TestGenericOnly(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.GenericOnly = true
	n := openTemp(t, cfg)
	full := shared(t, sharedDevnet)
	if n.native != nil {
		t.Fatal("there is a native path")
	}
	for _, r := range nineRequests(n) {
		if got, want := call(t, n, r.method, r.params), call(t, full, r.method, r.params); got != want {
			t.Errorf("%s: %s, want %s", r, got, want)
		}
	}
}

// What wallets and libraries call beside the nine.
func TestBeyondTheNine(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, c := range []struct{ method, params, want string }{
		{"eth_chainId", "[]", `"0x539"`},
		{"eth_blockNumber", "", `"0xa"`},
		{"net_version", "[]", `"1337"`},
		{"net_listening", "[]", "true"},
		{"eth_syncing", "[]", "false"},
		{"eth_getBalance", `["` + lower(devchain.Accounts()[0].Address) + `","latest"]`, `"0x21e19e0c9bab2400000"`},
		{"eth_getTransactionCount", `["` + lower(devchain.Accounts()[0].Address) + `","latest"]`, `"0x0"`},
		{"eth_getBlockTransactionCountByNumber", `["0x2"]`, `"0x3"`},
		{"eth_getBlockByHash", `["0x` + strings.Repeat("00", 32) + `",false]`, "null"},
		{"web3_sha3", `["0x68656c6c6f20776f726c64"]`, `"0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad"`},
	} {
		if got := call(t, n, c.method, c.params); got != c.want {
			t.Errorf("%s %s = %s, want %s", c.method, c.params, got, c.want)
		}
	}
}

func TestCallErrors(t *testing.T) {
	n := shared(t, sharedDevnet)
	demo := lower(devchain.DemoAddress())
	for _, c := range []struct {
		method, params string
		code           nodegate.Code
		msg            string
	}{
		{"eth_nope", "[]", nodegate.MethodNotFound, "the method eth_nope does not exist/is not available"},
		{"admin_nope", "[]", nodegate.MethodNotFound, "the method admin_nope does not exist/is not available"},
		{"eth_getStorageAt", "{}", nodegate.InvalidParams, "non-array args"},
		{"eth_getStorageAt", "[]", nodegate.InvalidParams, "missing value for required argument 0"},
		{"eth_getStorageAt", `["` + demo + `","0x0","0xfff"]`, nodegate.ExecutionFailed, "header not found"},
		{"eth_getStorageAt", `["` + demo + `","0x0","0x` + strings.Repeat("12", 32) + `"]`, nodegate.ExecutionFailed, "header for hash not found"},
		{"eth_getTransactionReceipt", `["0x12"]`, nodegate.InvalidParams, "invalid argument 0: hex string has length 2, want 64 for common.Hash"},
		{"eth_getBlockReceipts", `["latest","latest"]`, nodegate.InvalidParams, "too many arguments, want at most 1"},
	} {
		_, err := n.Call(t.Context(), c.method, []byte(c.params))
		if e := wantCode(t, err, c.code); e.Msg != c.msg {
			t.Errorf("%s %s: %q, want %q", c.method, c.params, e.Msg, c.msg)
		}
	}
}

func TestRevertErrors(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, c := range []struct{ function, msg, data string }{
		{"failWithReason", "execution reverted: demo: always fails", "0x08c379a0"},
		{"failWithPanic", "execution reverted: assert(false)", "0x4e487b71"},
		{"failWithCustomError", "execution reverted", "0x"},
	} {
		s := callShape{to: lower(devchain.DemoAddress()), gas: "0x2faf080", input: fmt.Sprintf("%#x", packDemo(c.function))}
		for _, method := range []string{"eth_call", "eth_estimateGas"} {
			_, err := n.Call(t.Context(), method, []byte(`[`+s.String()+`,"latest"]`))
			e := wantCode(t, err, nodegate.Reverted)
			if e.Msg != c.msg || !strings.HasPrefix(string(e.Data), `"`+c.data) {
				t.Errorf("%s %s: %q with data %s", method, c.function, e.Msg, e.Data)
			}
		}
	}
}

// A call that outlives its caller or its limit is a timeout on both paths.
func TestCallTimeouts(t *testing.T) {
	cfg := presetConfig(devchain.Rollup(), "")
	cfg.CallTimeout = 100 * time.Millisecond
	n := openTemp(t, cfg)
	s := callShape{to: lower(devchain.DemoAddress()), gas: "0x4a817c800", input: spins}
	plain := []byte(`[` + s.String() + `,"latest"]`)
	_, err := n.Call(t.Context(), "eth_call", plain)
	if e := wantCode(t, err, nodegate.Timeout); e.Msg != "request timed out" {
		t.Errorf("native: %q", e.Msg)
	}
	_, err = n.generic(t.Context(), "eth_call", plain)
	if e := wantCode(t, err, nodegate.Timeout); e.Msg != "request timed out" {
		t.Errorf("generic: %q", e.Msg)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = n.generic(ctx, "eth_call", plain)
	wantCode(t, err, nodegate.Timeout)
}

// A call has a short time at first and then starts again, on both paths. Where the
// two meet, the answer is still the right one: not a timeout, and not what a stopped
// execution looks like.
func TestNearTheLightLimit(t *testing.T) {
	n := shared(t, sharedDevnet)
	most := roundsNear(t, n, lane.LightLimit)
	var callers sync.WaitGroup
	for i := range int64(6) { // together they come near the limit from all sides
		callers.Go(func() {
			for j := range int64(12) {
				params := loopParams(most * (6*j + i + 20) / 100)
				want, _, wantErr := n.native.Answer(context.Background(), "eth_estimateGas", params)
				got, err := n.generic(context.Background(), "eth_estimateGas", params)
				if outcomeOf(got, err) != outcomeOf(want, wantErr) {
					t.Errorf("%s: %s, want %s", params, outcomeOf(got, err), outcomeOf(want, wantErr))
				}
			}
		})
	}
	callers.Wait()
}

func loopParams(rounds int64) []byte {
	c := callShape{to: lower(devchain.DemoAddress()), input: fmt.Sprintf("%#x", packDemo("loop", big.NewInt(rounds)))}
	return []byte(`[` + c.String() + `,"latest"]`)
}

// roundsNear finds how many rounds of the demo's loop take about that long to estimate.
func roundsNear(t *testing.T, n *Node, limit time.Duration) int64 {
	t.Helper()
	for rounds := int64(500); rounds < 100_000; rounds += rounds / 4 {
		start := time.Now()
		if _, err := n.generic(t.Context(), "eth_estimateGas", loopParams(rounds)); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) > limit {
			return rounds
		}
	}
	return 100_000
}

func TestReopen(t *testing.T) {
	for _, c := range presetHeads {
		cfg := presetConfig(c.preset, filepath.Join(t.TempDir(), "chain"))
		before := answersOf(t, cfg)
		cfg.Chain = []byte("not read again")
		if after := answersOf(t, cfg); before != after {
			t.Errorf("%s: answers before and after reopening differ:\n%s\n%s", c.preset.Name, before, after)
		}
	}
}

// answersOf opens a chain, asks, and closes it.
func answersOf(t *testing.T, cfg Config) string {
	t.Helper()
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer closeNode(t, n)
	var all strings.Builder
	for _, r := range append(nineRequests(n), request{"eth_getBlockByNumber", `["latest",true]`}, request{"eth_getBlockByNumber", `["safe",false]`}, request{"eth_getBlockByNumber", `["finalized",false]`}) {
		all.WriteString(call(t, n, r.method, r.params))
	}
	return all.String()
}

// A genesis alone is a chain too.
func TestOpenWithoutChainFile(t *testing.T) {
	n := openTemp(t, chainConfig(devchain.Devnet().Genesis(), nil, t.TempDir()))
	if got := head(t, n); got != 0 {
		t.Fatalf("head is %d", got)
	}
	hash := send(t, n, types.MustSignNewTx(devchain.Accounts()[0].PrivateKey, types.LatestSigner(devchain.Devnet().Genesis().Config), &types.LegacyTx{
		Gas: 21_000, GasPrice: devchain.Devnet().Genesis().BaseFee, To: &devchain.Accounts()[1].Address,
	}))
	if r := mined(t, n, hash); r.BlockNumber != 1 {
		t.Errorf("mined in block %d", r.BlockNumber)
	}
}

func TestOpenTwice(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	first := openTemp(t, cfg)
	_, err := Open(cfg)
	e := wantCode(t, err, nodegate.BadConfig)
	if !strings.Contains(e.Msg, "another nodegate") {
		t.Errorf("the message doesn't help: %q", e.Msg)
	}
	if !imported(cfg.Dir) {
		t.Error("the second open removed the first one's data")
	}
	checkNine(t, first)
}

func TestOpenWhereNothingCanBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open(presetConfig(devchain.Devnet(), filepath.Join(file, "chain")))
	wantCode(t, err, nodegate.BadConfig)
}

// An archive gate: a genesis that can't continue after the merge is refused, and
// nothing is left behind.
func TestOpenBeforeTheMerge(t *testing.T) {
	g := devchain.Devnet().Genesis()
	g.Config.TerminalTotalDifficulty = nil
	g.Config.ShanghaiTime, g.Config.CancunTime, g.Config.PragueTime, g.Config.OsakaTime = nil, nil, nil, nil
	dir := filepath.Join(t.TempDir(), "chain")
	_, err := Open(chainConfig(g, nil, dir))
	wantCode(t, err, nodegate.BadConfig)
	if _, err := os.Stat(dir); err == nil {
		t.Error("a folder was left behind")
	}
}
