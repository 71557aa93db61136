package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/proven"
	"github.com/nodegate/nodegate/test/full"
)

// wanting is a chain as a pool of nodes: it gives out only what is wanted.
type wanting struct {
	*Node
	rounds, lists atomic.Int64
	// lie changes what the first node says of a method, if it is set.
	lie func(name string, result []byte) []byte
}

func (n *wanting) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	trace := nodegate.TraceFrom(ctx)
	trace.Node = "node"
	switch {
	case strings.HasSuffix(name, "AccessList"):
		n.lists.Add(1)
	case strings.HasSuffix(name, "Proof"), strings.HasSuffix(name, "Code"):
		n.rounds.Add(1)
	}
	result, err := n.Node.Call(ctx, name, params)
	if err != nil {
		return nil, err
	}
	if n.lie != nil {
		if told := n.lie(name, result); trace.Want == nil || trace.Want.Holds(told) == nil {
			return told, nil
		}
	}
	if trace.Want != nil {
		if err := trace.Want.Holds(result); err != nil {
			return nil, &nodegate.Error{Code: nodegate.NoNode, Err: err}
		}
	}
	return result, nil
}

// overProofs executes calls on a chain over what it proves.
func overProofs(t *testing.T, n *Node) (*proven.Node, *wanting) {
	t.Helper()
	source := &wanting{Node: n}
	return proven.New(source, proven.Config{Values: true, Source: source, Machine: machineOf(t, n, lane.New(2, 2), 20*time.Second), Bytes: 16 << 20}), source
}

// machineOf executes by the rules of a chain.
func machineOf(t *testing.T, n *Node, lanes *lane.Lanes, timeout time.Duration) *native.Machine {
	t.Helper()
	config := n.engine.eth.BlockChain().Config()
	genesis, err := json.Marshal(map[string]any{"config": config})
	if err != nil {
		t.Fatal(err)
	}
	m, err := native.NewMachine(config.ChainID.Uint64(), genesis, native.Config{CallTimeout: timeout, Lanes: lanes})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// executions are calls and estimates of a corpus. Calls get their gas as the layer above
// gives it to them.
func executions(all []request, most int) (list []request) {
	for _, r := range all {
		switch {
		case r.method == "eth_call" && !strings.Contains(r.params, `"gas":`):
			r.params = strings.Replace(r.params, "[{", `[{"gas":"0x2faf080",`, 1)
			r.params = strings.Replace(r.params, ",}", "}", 1)
			list = append(list, r)
		case r.method == "eth_call", r.method == "eth_estimateGas":
			list = append(list, r)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list[:min(len(list), most)]
}

// overridden are calls with overrides of every kind, of accounts and of the block.
func (p *pools) overridden() (list []request) {
	demo, rich, absent := lower(devchain.DemoAddress()), lower(devchain.Accounts()[0].Address), lower(common.HexToAddress("0xdead1"))
	word := func(n int64) string { return common.BigToHash(big.NewInt(n)).Hex() }
	value, setValue := hexutil.Encode(packDemo("value")), hexutil.Encode(packDemo("setValue", big.NewInt(9)))
	reads := `0x60005460005260206000f3` // the first slot
	shapes := []callShape{
		{to: demo, gas: "0x2faf080", input: value}, {from: rich, to: demo, gas: "0x2faf080", input: setValue}, {to: absent, gas: "0x2faf080", input: "0x00"},
		{from: absent, to: demo, gas: "0x2faf080", value: "0x5"}, {from: rich, to: absent, gas: "0x2faf080", value: "0x1"}, {from: rich, gas: "0x2faf080", input: "0x60016000556000ff"},
	}
	for _, code := range creations()[11:24] {
		shapes = append(shapes, callShape{gas: "0x2faf080", input: code})
	}
	states := []string{
		`{}`, "null", `{"` + demo + `":{}}`, `{"` + demo + `":{"stateDiff":{"` + word(0) + `":"` + word(77) + `"}}}`, `{"` + demo + `":{"state":{"` + word(0) + `":"` + word(78) + `"}}}`,
		`{"` + demo + `":{"state":{}}}`, `{"` + absent + `":{"code":"` + reads + `"}}`, `{"` + absent + `":{"code":"` + reads + `","stateDiff":{"` + word(0) + `":"` + word(5) + `"}}}`,
		`{"` + absent + `":{"balance":"0x10"},"` + rich + `":{"balance":"0x0","nonce":"0x1000"}}`, `{"` + demo + `":{"code":"0x"}}`, `{"` + demo + `":{"code":"0xef0100` + absent[2:] + `"},"` + absent + `":{"code":"` + reads + `"}}`,
		`{"` + demo + `":{"code":"0x5a60005260206000f3"}}`, `{"` + rich + `":{"nonce":"0xffffffffffffffff"}}`, `{"` + strings.ToUpper(demo[2:]) + `":{"balance":"0x1"}}`,
	}
	blocks := []string{
		"", `,{}`, `,{"number":"0x1000"}`, `,{"number":"0x2"}`, `,{"time":"0x7fffffff"}`, `,{"gasLimit":"0x30d40"}`, `,{"feeRecipient":"` + absent + `"}`, `,{"prevRandao":"` + word(9) + `"}`,
		`,{"baseFeePerGas":"0x5"}`, `,{"blobBaseFee":"0x7"}`, `,{"difficulty":"0x9"}`, `,{"number":"0x3","time":"0x1","gasLimit":"0x1c9c380","blobBaseFee":"0x1"}`,
	}
	last := fmt.Sprintf(`"%#x"`, p.blocks[len(p.blocks)-1].NumberU64())
	for _, ref := range []string{last, fmt.Sprintf(`"%#x"`, p.blocks[len(p.blocks)/2].NumberU64())} {
		for _, s := range shapes {
			for i, state := range states {
				for j, block := range blocks {
					if (i+j)%3 == 0 || i == 1 || j == 0 {
						list = append(list, s.both(ref+","+state+block)...)
					}
				}
			}
		}
	}
	return list
}

// priced are calls with prices, a nonce, a chain and lists.
func (p *pools) priced(chainID uint64) (list []request) {
	demo, rich := lower(devchain.DemoAddress()), lower(devchain.Accounts()[0].Address)
	balance := "0x73" + rich[2:] + "3160005260206000f3" // of the sender, which pays for the gas
	shapes := []string{
		`"to":"` + demo + `","input":"` + hexutil.Encode(packDemo("value")) + `"`, `"from":"` + rich + `","to":"` + demo + `","input":"` + hexutil.Encode(packDemo("setValue", big.NewInt(9))) + `"`,
		`"from":"` + rich + `","to":"0x00000000000000000000000000000000dead1dea","value":"0x1"`, `"from":"` + rich + `","input":"` + balance + `"`, `"from":"` + rich + `","input":"0x4860005260206000f3"`,
		`"from":"` + rich + `","input":"0x3a60005260206000f3"`, `"from":"0x00000000000000000000000000000000dead1dea","to":"` + demo + `","value":"0x1"`, `"from":"` + rich + `","value":"0x` + strings.Repeat("f", 60) + `"`,
	}
	extras := []string{
		`"gasPrice":"0x0"`, `"gasPrice":"0x1"`, `"gasPrice":"0x174876e800"`, `"gasPrice":"0x` + strings.Repeat("f", 64) + `"`, `"maxFeePerGas":"0x174876e800","maxPriorityFeePerGas":"0x3b9aca00"`,
		`"maxFeePerGas":"0x174876e800"`, `"maxPriorityFeePerGas":"0x1"`, `"maxFeePerGas":"0x1","maxPriorityFeePerGas":"0x2"`, `"maxFeePerGas":"0x0","maxPriorityFeePerGas":"0x0"`,
		`"gasPrice":"0x1","maxFeePerGas":"0x1"`, `"nonce":"0x0"`, `"nonce":"0xffffffffffffffff"`, fmt.Sprintf(`"chainId":"%#x"`, chainID), `"chainId":"0x99"`, `"accessList":[]`,
		`"accessList":[{"address":"` + demo + `","storageKeys":["0x` + strings.Repeat("0", 64) + `"]},{"address":"` + rich + `","storageKeys":[]}]`,
		`"maxFeePerGas":"0x174876e800","accessList":[{"address":"` + demo + `","storageKeys":[]}],"nonce":"0x7"`, `"authorizationList":[]`, `"blobVersionedHashes":[]`,
	}
	for _, b := range []*types.Block{p.blocks[len(p.blocks)-1], p.blocks[len(p.blocks)/2], p.blocks[1]} {
		for _, gas := range []string{"", `,"gas":"0x186a0"`, `,"gas":"0x2faf080"`} {
			for _, s := range shapes {
				for i, extra := range extras {
					params := fmt.Sprintf(`[{%s%s,%s},"%#x"]`, s, gas, extra, b.NumberU64())
					if i%4 == 0 {
						params = strings.TrimSuffix(params, "]") + `,null,{"baseFeePerGas":"0x174876e7ff"}]`
					}
					list = append(list, request{"eth_call", params}, request{"eth_estimateGas", params})
				}
			}
		}
	}
	return list
}

// genericOf are the answers of go-ethereum's own API. They are made before anything else: an
// access list that the chain makes can't be stopped, and would keep them waiting.
func genericOf(t *testing.T, n *Node, list []request) (wants []outcome) {
	t.Helper()
	for _, r := range list {
		wants = append(wants, outcomeOf(n.generic(t.Context(), r.method, r.raw())))
	}
	return wants
}

// sameOverProofs compares calls that are executed over proofs with go-ethereum's own API, and
// returns how many were.
func sameOverProofs(t *testing.T, n *Node, list []request) map[string]int {
	t.Helper()
	p, source := overProofs(t, n)
	executed, problems := map[string]int{}, 0
	wants := genericOf(t, n, list)
	for i, r := range list {
		var trace nodegate.Trace
		got := outcomeOf(p.Call(nodegate.WithTrace(t.Context(), &trace), r.method, r.raw()))
		if trace.Verified != nodegate.LevelRoots || wants[i].code == nodegate.Timeout {
			continue // it isn't executed here, there is no such block, or nothing to compare with in time
		}
		executed[r.method]++
		if got != wants[i] {
			if problems++; problems <= 20 {
				t.Error(clip(fmt.Sprintf("%s\nexecuted: %s\nwant:     %s", r, got, wants[i])))
			}
		}
	}
	t.Logf("of %d: %v executed, %d differ; %d proofs and codes, %d access lists", len(list), executed, problems, source.rounds.Load(), source.lists.Load())
	return executed
}

// fewChains leaves one chain in short runs: what runs at the same time is the same in all.
func fewChains() []sharedChain {
	if testing.Short() {
		return sharedChains[:1]
	}
	return sharedChains
}

// TestExecutedOverProofs: calls and estimates that are executed here over proven state have
// the bytes, or the error, of go-ethereum's own API.
func TestExecutedOverProofs(t *testing.T) {
	full.Slow(t)
	for _, c := range fewChains() {
		t.Run(c.name, func(t *testing.T) {
			n := shared(t, c.open)
			executed := sameOverProofs(t, n, executions(newPools(n).everything(), 2000))
			if executed["eth_call"] < 500 || executed["eth_estimateGas"] < 350 {
				t.Errorf("too few were executed: %v", executed)
			}
		})
	}
}

// TestOverridesOverProofs: the same with overrides of accounts and of the block.
func TestOverridesOverProofs(t *testing.T) {
	full.Slow(t)
	for _, c := range fewChains() {
		t.Run(c.name, func(t *testing.T) {
			n := shared(t, c.open)
			executed := sameOverProofs(t, n, executions(newPools(n).overridden(), 1000))
			if executed["eth_call"] < 300 || executed["eth_estimateGas"] < 300 {
				t.Errorf("too few were executed: %v", executed)
			}
		})
	}
}

// TestPricesOverProofs: the same with calls that pay for their gas, or have lists.
func TestPricesOverProofs(t *testing.T) {
	full.Slow(t)
	for _, c := range fewChains() {
		t.Run(c.name, func(t *testing.T) {
			n := shared(t, c.open)
			executed := sameOverProofs(t, n, executions(newPools(n).priced(n.engine.eth.BlockChain().Config().ChainID.Uint64()), 1500))
			if executed["eth_call"] < 300 || executed["eth_estimateGas"] < 300 {
				t.Errorf("too few were executed: %v", executed)
			}
		})
	}
}

// TestExecutedOverLies: nodes that lie about accounts, slots, code and what a call reads don't
// change what comes of it.
func TestExecutedOverLies(t *testing.T) {
	n := shared(t, sharedDevnet)
	list := executions(newPools(n).everything(), 150)
	wants := genericOf(t, n, list)
	strangers := make([]string, 100)
	for i := range strangers {
		strangers[i] = fmt.Sprintf(`{"address":"0x%040x","storageKeys":["0x%064x"]}`, i+1, i)
	}
	value := regexp.MustCompile(`"(balance|nonce|value)":"0x[0-9a-f]+"`)
	for name, lie := range map[string]func(name string, result []byte) []byte{
		"proofs": func(name string, result []byte) []byte {
			if strings.HasSuffix(name, "Proof") {
				return value.ReplaceAll(result, []byte(`"$1":"0x5eed"`))
			}
			return result
		},
		"code": func(name string, result []byte) []byte {
			if strings.HasSuffix(name, "Code") {
				return []byte(`"0x00"`)
			}
			return result
		},
		"no list": func(name string, result []byte) []byte {
			if strings.HasSuffix(name, "AccessList") {
				return []byte(`{"accessList":"none"}`)
			}
			return result
		},
		"a false list": func(name string, result []byte) []byte {
			if strings.HasSuffix(name, "AccessList") {
				return []byte(`{"accessList":[` + strings.Join(strangers, ",") + `]}`)
			}
			return result
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, source := overProofs(t, n)
			source.lie = lie
			for i, r := range list {
				var trace nodegate.Trace
				got := outcomeOf(p.Call(nodegate.WithTrace(t.Context(), &trace), r.method, r.raw()))
				if trace.Verified == nodegate.LevelRoots && wants[i].code != nodegate.Timeout && got != wants[i] {
					t.Errorf("%s\nexecuted: %s\nwant:     %s", r, got, wants[i])
				}
			}
		})
	}
}
