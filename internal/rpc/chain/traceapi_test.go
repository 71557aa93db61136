package chain

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	gparams "github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// parityTrace is a trace of the namespace trace or of the flatCallTracer.
type parityTrace struct {
	Action struct {
		From, To, Address, RefundAddress *common.Address
		CallType, CreationMethod         string
		Gas                              hexutil.Uint64
		Input, Init                      hexutil.Bytes
		Value, Balance                   *hexutil.Big
		Author                           *common.Address
		RewardType                       string
	}
	Result *struct {
		GasUsed      hexutil.Uint64
		Output, Code hexutil.Bytes
		Address      *common.Address
	}
	BlockHash           *common.Hash
	BlockNumber         uint64
	Error               string
	Subtraces           int
	TraceAddress        []int
	TransactionHash     *common.Hash
	TransactionPosition uint64
	Type                string
}

// text is a trace without what go-ethereum's tracer tells otherwise: the gas of the
// outermost frame, which includes the transaction's own, and the words of errors.
func (p parityTrace) text() string {
	if len(p.TraceAddress) == 0 {
		p.Action.Gas = 0
		if p.Result != nil {
			result := *p.Result
			result.GasUsed, p.Result = 0, &result
		}
	}
	if p.Error != "" {
		p.Error = "failed"
		if p.Result != nil { // Erigon names the contract that a reverted creation would have made
			result := *p.Result
			result.Address, p.Result = nil, &result
		}
	}
	b, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// flat are the traces of a block as go-ethereum's flatCallTracer has them.
func flat(t *testing.T, n *Node, number uint64) (list []parityTrace) {
	for _, tx := range callInto[[]struct{ Result []parityTrace }](t, n, "debug_traceBlockByNumber", fmt.Sprintf(`["%#x",{"tracer":"flatCallTracer"}]`, number)) {
		list = append(list, tx.Result...)
	}
	return list
}

// TestTraceBlocks: the traces of every block are those of go-ethereum's flatCallTracer, and
// trace_transaction, trace_filter and the replays tell the same.
func TestTraceBlocks(t *testing.T) {
	full.Slow(t)
	for name, open := range map[string]func() (*Node, error){"devnet": sharedDevnet, "rollup": sharedRollup, "conformance": sharedCompat} {
		t.Run(name, func(t *testing.T) {
			n := shared(t, open)
			total := 0
			for number := uint64(1); number <= head(t, n); number++ {
				got := callInto[[]parityTrace](t, n, "trace_block", fmt.Sprintf(`["%#x"]`, number))
				got = slices.DeleteFunc(got, func(p parityTrace) bool { return p.Type == "reward" })
				want := flat(t, n, number)
				if len(got) != len(want) {
					t.Errorf("block %d has %d traces, want %d", number, len(got), len(want))
					continue
				}
				for i := range got {
					if got[i].text() != want[i].text() {
						t.Errorf("block %d, trace %d:\n%s, want\n%s", number, i, got[i].text(), want[i].text())
					}
				}
				total += len(got)
				tellTheSame(t, n, number, got)
			}
			if total < 10 {
				t.Errorf("only %d traces", total)
			}
		})
	}
}

// tellTheSame compares the methods of the namespace with trace_block.
func tellTheSame(t *testing.T, n *Node, number uint64, want []parityTrace) {
	t.Helper()
	byTx := map[common.Hash][]parityTrace{}
	for _, p := range want {
		byTx[*p.TransactionHash] = append(byTx[*p.TransactionHash], p)
	}
	var replayed []parityTrace
	for i, r := range callInto[[]struct {
		Trace           []parityTrace
		TransactionHash *common.Hash
	}](t, n, "trace_replayBlockTransactions", fmt.Sprintf(`["%#x",["trace"]]`, number)) {
		for j := range r.Trace {
			r.Trace[j].BlockHash, r.Trace[j].BlockNumber = want[0].BlockHash, number
			r.Trace[j].TransactionHash, r.Trace[j].TransactionPosition = r.TransactionHash, uint64(i)
		}
		replayed = append(replayed, r.Trace...)
	}
	if a, b := asJSON(replayed), asJSON(want); a != b {
		t.Errorf("block %d is replayed as\n%s, want\n%s", number, a, b)
	}
	filtered := callInto[[]parityTrace](t, n, "trace_filter", fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"%#x","count":%d}]`, number, number, len(want)))
	if a, b := asJSON(filtered), asJSON(want); a != b {
		t.Errorf("block %d is filtered as\n%s, want\n%s", number, a, b)
	}
	for hash, list := range byTx {
		if a, b := asJSON(callInto[[]parityTrace](t, n, "trace_transaction", `["`+hash.Hex()+`"]`)), asJSON(list); a != b {
			t.Errorf("%s is traced as\n%s, want\n%s", hash, a, b)
		}
		for i := range list {
			got := callInto[*parityTrace](t, n, "trace_get", fmt.Sprintf(`["%s",["%#x"]]`, hash, i))
			if i+1 < len(list) && asJSON(got) != asJSON(list[i+1]) || i+1 >= len(list) && got != nil {
				t.Errorf("%s: trace %d is %s", hash, i, asJSON(got))
			}
		}
	}
}

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	if string(b) == "null" {
		return "[]"
	}
	return string(b)
}

// TestRewards: before the merge the block's own trace is the reward, which the miner got
// beyond the fees.
func TestRewards(t *testing.T) {
	n := shared(t, sharedCompat)
	bc, seen := n.engine.eth.BlockChain(), 0
	for number := uint64(1); number <= head(t, n); number++ {
		block := bc.GetBlockByNumber(number)
		traces := callInto[[]parityTrace](t, n, "trace_block", fmt.Sprintf(`["%#x"]`, number))
		var rewards []parityTrace
		for _, p := range traces {
			if p.Type == "reward" {
				rewards = append(rewards, p)
			}
		}
		if block.Difficulty().Sign() == 0 {
			if len(rewards) > 0 {
				t.Errorf("block %d after the merge has %d rewards", number, len(rewards))
			}
			continue
		}
		seen++
		if len(rewards) != 1+len(block.Uncles()) || rewards[0].Action.RewardType != "block" || *rewards[0].Action.Author != block.Coinbase() {
			t.Fatalf("block %d has the rewards %s", number, asJSON(rewards))
		}
		want := new(big.Int).Sub(balanceAt(t, n, block.Coinbase(), number), balanceAt(t, n, block.Coinbase(), number-1))
		want.Sub(want, earned(block, bc.GetReceiptsByHash(block.Hash())))
		got := new(big.Int)
		for _, r := range rewards {
			if *r.Action.Author == block.Coinbase() { // of uncles too
				got.Add(got, r.Action.Value.ToInt())
			}
		}
		if got.Cmp(want) != 0 {
			t.Errorf("block %d: the reward is %d, want %d", number, got, want)
		}
	}
	if seen == 0 {
		t.Error("no block is from before the merge")
	}
}

func balanceAt(t *testing.T, n *Node, a common.Address, number uint64) *big.Int {
	t.Helper()
	b := callInto[hexutil.Big](t, n, "eth_getBalance", fmt.Sprintf(`["%s","%#x"]`, a, number))
	return b.ToInt()
}

// earned are the tips of a block.
func earned(block *types.Block, receipts types.Receipts) *big.Int {
	sum := new(big.Int)
	for i, tx := range block.Transactions() {
		tip, err := tx.EffectiveGasTip(block.BaseFee())
		if err == nil {
			sum.Add(sum, tip.Mul(tip, new(big.Int).SetUint64(receipts[i].GasUsed)))
		}
	}
	return sum
}

// TestTraceTexts holds answers to the letter.
func TestTraceTexts(t *testing.T) {
	n := shared(t, sharedDevnet)
	const (
		place = `"blockHash":"0x3d264a6f6eca7682268924d4b65c0fd4acc50c84f488b89871f13688d07694f2","blockNumber":3,`
		rest  = `"subtraces":0,"traceAddress":[],"transactionHash":"%s","transactionPosition":%d,"type":"call"}`
		none  = "0x0000000000000000000000000000000000000000000000000000000000000001"
		value = `{"to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","data":"0x3fa4f245"}`
	)
	out := "0xadd57c85614671c26996d2ae934273ba39ae56a5c69e1890210941c6f15f6b60"
	panicked := "0x6b4571adcd8f5c179fa141a93a11a40d181c22da766eddf101f2fa5c64243afe"
	action := func(input string) string {
		return `{"action":{"from":"0xbcd4042de499d14e55001ccbb24a551f3b954096","callType":"call","gas":"0x13458","input":"` + input + `","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","value":"0x0"},`
	}
	for _, c := range []struct{ method, params, want string }{
		{"trace_transaction", `["` + out + `"]`, `[` + action("0xf0acd7d5") + place + `"error":"out of gas","result":null,` + fmt.Sprintf(rest, out, 2) + `]`},
		{"trace_transaction", `["` + panicked + `",true,{"tracerConfig":{"includePrecompiles":true}}]`, `[` + action("0x14418cd8") + place +
			`"error":"Reverted","result":{"gasUsed":"0xc8","output":"0x4e487b710000000000000000000000000000000000000000000000000000000000000001"},` + fmt.Sprintf(rest, panicked, 1) + `]`},
		{"trace_transaction", `["` + none + `"]`, "null"},
		{"trace_replayTransaction", `["` + none + `",["trace"]]`, "null"},
		{"trace_get", `["` + none + `",["0x0"]]`, "null"},
		{"trace_get", `["` + out + `",["0x0","0x0"]]`, "null"},
		{"trace_block", `["earliest"]`, "[]"},
		{"trace_block", `["0x4"]`, "[]"},
		{"trace_filter", `[{"fromAddress":["` + anyone + `"]}]`, "[]"},
		{"trace_filter", `[{"fromBlock":"0x5","toBlock":"0xfff","toAddress":["0x000000000000000000000000000000000000beef"],"after":2}]`, "[]"},
		{"trace_replayTransaction", `["` + out + `",[]]`, `{"output":"0x","stateDiff":null,"trace":[],"vmTrace":null,"transactionHash":"` + out + `"}`},
		{"trace_call", `[` + value + `,[]]`, `{"output":"0x000000000000000000000000000000000000000000000000000000000000002a","stateDiff":null,"trace":[],"vmTrace":null}`},
		{"trace_call", `[` + value + `,["trace"],"0x1"]`, `{"output":"0x` + strings.Repeat("0", 64) + `","stateDiff":null,"trace":[{"action":{"from":"0x0000000000000000000000000000000000000000","callType":"call","gas":"0x2fa9e38","input":"0x3fa4f245","to":"0xfbfbfddd6e35da57b7b0f9a2c10e34be70b3a4e9","value":"0x0"},"result":{"gasUsed":"0x92d","output":"0x` + strings.Repeat("0", 64) + `"},"subtraces":0,"traceAddress":[],"type":"call"}],"vmTrace":null}`},
		{"trace_callMany", `[[]]`, "[]"},
	} {
		if got := call(t, n, c.method, c.params); got != c.want {
			t.Errorf("%s %s:\n%s, want\n%s", c.method, c.params, got, c.want)
		}
	}
}

// TestTraceErrors: what can't be answered says why.
func TestTraceErrors(t *testing.T) {
	n := shared(t, sharedDevnet)
	const hash = "0x0000000000000000000000000000000000000000000000000000000000000001"
	for _, c := range []struct {
		method, params string
		code           nodegate.Code
		want           string
	}{
		{"trace_block", `["0x400"]`, nodegate.ExecutionFailed, "could not find block 1024"},
		{"trace_block", `[]`, nodegate.InvalidParams, "missing value for required argument 0"},
		{"trace_replayBlockTransactions", `["` + hash + `",["trace"]]`, nodegate.ExecutionFailed, "block " + hash[2:] + " not found"},
		{"trace_replayBlockTransactions", `["0x1",["gas"]]`, nodegate.InvalidParams, "invalid argument 1: unrecognized trace type: gas"},
		{"trace_replayTransaction", `["` + hash + `",["vmTrace"]]`, nodegate.InvalidParams, "invalid argument 1: vmTrace is not supported: use debug_traceTransaction without a tracer"},
		{"trace_get", `["` + hash + `",[]]`, nodegate.InvalidParams, "invalid argument 1: an index is required"},
		{"trace_filter", `[{"fromBlock":"0x5","toBlock":"0x4"}]`, nodegate.InvalidParams, "invalid parameters: fromBlock cannot be greater than toBlock"},
		{"trace_filter", `[{"fromBlock":"0x5","toBlock":"0xfffff"}]`, nodegate.InvalidParams, "query spans more than 10000 blocks: try fromBlock 0x5, toBlock 0x2714"},
		{"trace_filter", `[{"mode":"both"}]`, nodegate.InvalidParams, "invalid argument 0: mode must be union or intersection"},
		{"trace_call", `[{"to":"0x1"},["trace"]]`, nodegate.InvalidParams, "invalid argument 0: call 0: "},
		{"trace_callMany", `[[[{}]]]`, nodegate.InvalidParams, "invalid argument 0: element 0 must be [call, traceTypes]"},
		{"trace_callMany", `[[[{},["trace"]],[{"from":"` + anyone + `","to":"` + anyone + `","value":"0x1"},[]]]]`, nodegate.ExecutionFailed, "first run for txIndex 1 error: insufficient funds"},
		{"trace_rawTransaction", `["0x00",["trace"]]`, nodegate.ExecutionFailed, ""},
	} {
		_, err := n.Call(t.Context(), c.method, []byte(c.params))
		if e := wantCode(t, err, c.code); !strings.HasPrefix(e.Msg, c.want) {
			t.Errorf("%s %s: %s, want %s", c.method, c.params, e.Msg, c.want)
		}
	}
}

// nesting is code that calls a precompiled contract and the demo contract in every way,
// creates contracts, and ends with its own destruction in one of them.
func nesting() string {
	demo := strings.TrimPrefix(lower(devchain.DemoAddress()), "0x")
	push, end := "5f5f5f5f", "5af150"
	return "0x" + "633fa4f245" + "60e01b" + "5f52" + // the selector of value() in memory
		"5f5f60045f" + "73" + demo + "5afa50" + // STATICCALL demo.value()
		"5f5f60045f" + "73" + demo + "5af450" + // DELEGATECALL
		"5f5f60045f" + "5f" + "73" + demo + "5af250" + // CALLCODE
		push + "5f" + "6004" + end + // CALL of the identity contract, without value
		push + "6001" + "6004" + end + // with value
		push + "6001" + "61beef" + end + // a transfer
		push + "5f" + "73" + demo + end + // fails: no such function
		"655f5ffd5f5f5f5f52" + "6006601a5ff050" + // CREATE whose code reverts
		"6133ff5f52" + "6002601e5ff050" + // CREATE whose code is CALLER SELFDESTRUCT
		"5f6002601e5ff550" + // the same with CREATE2
		"60fe5f53" + "60015f5ff050" + // CREATE whose code is invalid and takes all gas
		"00"
}

// TestTraceNested: frames of every kind are those of go-ethereum's flatCallTracer, which
// also leaves out the precompiled contract that is sent something.
func TestTraceNested(t *testing.T) {
	n := shared(t, sharedDevnet)
	sender := lower(devchain.Accounts()[3].Address)
	object := fmt.Sprintf(`{"from":"%s","value":"0x64","gas":"0x1e8480","input":"%s"}`, sender, nesting())
	got := callInto[struct{ Trace []parityTrace }](t, n, "trace_call", `[`+object+`,["trace"],"latest",{"tracerConfig":{"includePrecompiles":true}}]`).Trace
	want := callInto[[]parityTrace](t, n, "debug_traceCall", `[`+object+`,"latest",{"tracer":"flatCallTracer","tracerConfig":{"includePrecompiles":true}}]`)
	kinds := map[string]int{}
	for i := range got {
		got[i].BlockHash, got[i].TransactionHash = want[i].BlockHash, want[i].TransactionHash
		if got[i].text() != want[i].text() {
			t.Errorf("trace %d:\n%s, want\n%s", i, got[i].text(), want[i].text())
		}
		kinds[got[i].Type+got[i].Action.CallType+got[i].Action.CreationMethod]++
	}
	if len(got) != len(want) || fmt.Sprint(kinds) != "map[callcall:4 callcallcode:1 calldelegatecall:1 callstaticcall:1 createcreate:4 createcreate2:1 suicide:2]" {
		t.Errorf("%d traces, want %d: %v", len(got), len(want), kinds)
	}
	short := callInto[struct{ Trace []parityTrace }](t, n, "trace_call", `[`+object+`,["trace"]]`).Trace
	if len(short) != len(got)-1 || short[0].Subtraces != got[0].Subtraces-1 || fmt.Sprint(short[4].TraceAddress) != "[3]" {
		t.Errorf("without precompiled contracts: %s", asJSON(short))
	}
}

// stateDiff is a state diff as it is answered.
type stateDiff map[common.Address]struct {
	Balance, Code, Nonce json.RawMessage
	Storage              map[common.Hash]json.RawMessage
}

// latestOf is what a member of a diff says about the state afterwards.
func latestOf(member json.RawMessage) (value string, changed bool) {
	var m map[string]json.RawMessage
	if json.Unmarshal(member, &m) != nil {
		return "", false // "="
	}
	if added, ok := m["+"]; ok {
		return strings.Trim(string(added), `"`), true
	}
	var both struct{ From, To string }
	_ = json.Unmarshal(m["*"], &both)
	return both.To, true
}

// TestStateDiffs: the last changes that the transactions of a block report are the state of
// that block.
func TestStateDiffs(t *testing.T) {
	for name, open := range map[string]func() (*Node, error){"devnet": sharedDevnet, "conformance": sharedCompat} {
		t.Run(name, func(t *testing.T) {
			n, checked := shared(t, open), 0
			for number := uint64(1); number <= head(t, n); number++ {
				last := map[string]string{}
				for _, r := range callInto[[]struct{ StateDiff stateDiff }](t, n, "trace_replayBlockTransactions", fmt.Sprintf(`["%#x",["stateDiff"]]`, number)) {
					for addr, c := range r.StateDiff {
						note := func(method, rest string, member json.RawMessage) {
							if v, changed := latestOf(member); changed {
								last[method+` ["`+lower(addr)+`"`+rest] = v
							}
						}
						note("eth_getBalance", "", c.Balance)
						note("eth_getCode", "", c.Code)
						note("eth_getTransactionCount", "", c.Nonce)
						for slot, v := range c.Storage {
							note("eth_getStorageAt", `,"`+slot.Hex()+`"`, v)
						}
					}
				}
				mined := n.engine.eth.BlockChain().GetBlockByNumber(number)
				for question, want := range last {
					method, params, _ := strings.Cut(question, " ")
					if method == "eth_getBalance" && paid(mined, params) || method == "eth_getStorageAt" && strings.Contains(params, lower(gparams.WithdrawalQueueAddress)) {
						continue // changes behind the transactions
					}
					checked++
					if got := call(t, n, method, params+fmt.Sprintf(`,"%#x"]`, number)); got != `"`+want+`"` {
						t.Errorf("block %d: %s is %s, the diffs say %s", number, question, got, want)
					}
				}
			}
			if checked < 20 {
				t.Errorf("only %d values were compared", checked)
			}
		})
	}
}

// paid tells whether a block gave the account in params a reward or a withdrawal.
func paid(block *types.Block, params string) bool {
	gets := []common.Address{}
	if block.Difficulty().Sign() > 0 {
		gets = append(gets, block.Coinbase())
	}
	for _, w := range block.Withdrawals() {
		gets = append(gets, w.Address)
	}
	for _, a := range gets {
		if strings.Contains(params, lower(a)) {
			return true
		}
	}
	return false
}

// TestCallMany: a call sees what those before it changed, and nothing stays.
func TestCallMany(t *testing.T) {
	n := shared(t, sharedDevnet)
	from, demo := lower(devchain.Accounts()[2].Address), lower(devchain.DemoAddress())
	set := fmt.Sprintf(`[{"from":"%s","to":"%s","data":"%#x"},["stateDiff"]]`, from, demo, packDemo("setValue", big.NewInt(77)))
	get := fmt.Sprintf(`[{"to":"%s","data":"%#x"},["trace"]]`, demo, packDemo("value"))
	before := call(t, n, "eth_call", fmt.Sprintf(`[{"to":"%s","data":"%#x"}]`, demo, packDemo("value")))
	list := callInto[[]struct {
		Output    hexutil.Bytes
		StateDiff stateDiff
		Trace     []parityTrace
	}](t, n, "trace_callMany", `[[`+set+`,`+get+`]]`)
	if len(list) != 2 || new(big.Int).SetBytes(list[1].Output).Int64() != 77 || len(list[0].Trace) != 0 || len(list[1].Trace) != 1 || list[1].StateDiff != nil {
		t.Errorf("%s", asJSON(list))
	}
	if v, _ := latestOf(list[0].StateDiff[devchain.DemoAddress()].Storage[common.Hash{}]); v != common.BigToHash(big.NewInt(77)).Hex() {
		t.Errorf("the diff of the first is %s", asJSON(list[0].StateDiff))
	}
	if got := call(t, n, "eth_call", fmt.Sprintf(`[{"to":"%s","data":"%#x"}]`, demo, packDemo("value"))); got != before {
		t.Errorf("the value is now %s", got)
	}
}

// TestTraceRawTransaction: a signed transaction is executed and not sent.
func TestTraceRawTransaction(t *testing.T) {
	n := openDevnet(t)
	tx := newSender(n, 1).setValue(9)
	raw, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	r := callInto[struct{ Trace []parityTrace }](t, n, "trace_rawTransaction", fmt.Sprintf(`["%#x",["trace"]]`, raw))
	if len(r.Trace) != 1 || *r.Trace[0].Action.To != devchain.DemoAddress() || r.Trace[0].Error != "" {
		t.Errorf("%s", asJSON(r))
	}
	if got := call(t, n, "eth_getTransactionByHash", `["`+tx.Hash().Hex()+`"]`); got != "null" {
		t.Errorf("it was sent: %s", got)
	}
}

// TestTraceImpersonated: a transaction that nobody signed is traced with its true sender.
func TestTraceImpersonated(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "hardhat_impersonateAccount", `["`+lower(recipient)+`"]`)
	hash := callInto[common.Hash](t, n, "eth_sendTransaction", fmt.Sprintf(`[{"from":"%s","to":"%s","data":"%#x","gas":"0x30d40"}]`, lower(recipient), lower(devchain.DemoAddress()), packDemo("setValue", big.NewInt(5))))
	mined(t, n, hash)
	traces := callInto[[]parityTrace](t, n, "trace_transaction", `["`+hash.Hex()+`"]`)
	if len(traces) != 1 || *traces[0].Action.From != recipient || traces[0].Error != "" {
		t.Errorf("%s", asJSON(traces))
	}
}

// recipient has ether on the built-in chains, and nobody its key.
var recipient = common.HexToAddress("0x000000000000000000000000000000000000beef")

// TestTracesEnd: traces in the form of Parity end at the same limits as others.
func TestTracesEnd(t *testing.T) {
	full.Slow(t)
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.TraceBytes, cfg.CallTimeout = 1<<20, 20*time.Second
	n := openTemp(t, cfg)
	for code := range traces() {
		if strings.TrimSpace(code) == "0x5b5f56" {
			continue // has no frames
		}
		if _, err := n.Call(t.Context(), "trace_call", fmt.Appendf(nil, `[{"gas":"0x2faf080","input":"%s"},["trace"]]`, strings.TrimSpace(code))); err != nil {
			if e := nodegate.AsError(err); e.Code != nodegate.ResponseTooLarge {
				t.Errorf("%s: %v", code, err)
			}
		} else if strings.Contains(code, "5afa") {
			t.Errorf("%s is not stopped", code)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	long := fmt.Sprintf(`[{"gas":"0x2faf080","input":"%s"},["trace"]]`, blakeCode(15_000_000))
	_, err := n.Call(ctx, "trace_call", []byte(long))
	wantCode(t, err, nodegate.Timeout)
}
