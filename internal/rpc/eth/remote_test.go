package eth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// overWire is a node as it looks from a distance: its errors are numbers and words.
type overWire struct{ nodegate.Node }

func (w overWire) Call(ctx context.Context, method string, params []byte) ([]byte, error) {
	result, err := w.Node.Call(ctx, method, params)
	if err == nil {
		return result, nil
	}
	e := nodegate.AsError(err)
	number := numberOf[e.Code]
	if e.Code == nodegate.NodeFault {
		number = e.Number
	}
	return nil, &nodegate.Error{Op: "client", Code: nodegate.NodeFault, Number: number, Msg: e.Msg, Data: e.Data}
}

func remoteNode(d Dialect) *Node {
	cfg := limits(d)
	cfg.Remote = true
	return New(overWire{devnet()}, cfg)
}

// demoCall calls a function of the demo contract.
func demoCall(signature string) string {
	return fmt.Sprintf(`{"to":"%s","input":"%s"}`, strings.ToLower(devchain.DemoAddress().Hex()), hexutil.Encode(crypto.Keccak256([]byte(signature))[:4]))
}

// corpus are calls of all kinds: answers, nulls and errors.
func corpus(t testing.TB) (calls [][2]string) {
	node := New(devnet(), limits(Standard))
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	for i := range 12 {
		calls = append(calls, [2]string{"eth_getBlockReceipts", fmt.Sprintf("[%d]", i)})
		var block struct {
			Hash         string   `json:"hash"`
			Transactions []string `json:"transactions"`
		}
		if err := json.Unmarshal([]byte(ask(t, node, "eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, i))), &block); err != nil {
			t.Fatal(err)
		}
		for at, hash := range block.Transactions {
			calls = append(calls, [2]string{"eth_getTransactionByHash", `["` + hash + `"]`}, [2]string{"eth_getTransactionReceipt", `["` + hash + `"]`},
				[2]string{"eth_getTransactionByBlockHashAndIndex", fmt.Sprintf(`["%s","%#x"]`, block.Hash, at)})
		}
	}
	for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getBlockReceipts"} {
		calls = append(calls, [2]string{method, `["` + someHash + `"]`})
	}
	for _, block := range []string{`"latest"`, `"0x1"`, `"0xffff"`, `"` + someHash + `"`, `{"blockHash":"` + someHash + `","requireCanonical":true}`, `"pending"`} {
		calls = append(calls, [2]string{"eth_getStorageAt", `["` + demo + `","0x0",` + block + `]`},
			[2]string{"eth_getProof", `["` + demo + `",["0x0","0x01","` + someHash + `"],` + block + `]`}, [2]string{"eth_getProof", `["` + poor + `",["0x7"],` + block + `]`},
			[2]string{"eth_getBalance", `["` + demo + `",` + block + `]`})
		for _, f := range []string{"failWithReason()", "failWithPanic()", "failWithCustomError()", "value()", "nothing()"} {
			calls = append(calls, [2]string{"eth_call", `[` + demoCall(f) + `,` + block + `]`}, [2]string{"eth_estimateGas", `[` + demoCall(f) + `,` + block + `]`})
		}
	}
	return append(calls, [2]string{"eth_call", `[{"gas":"0x1","to":"` + demo + `"}]`}, [2]string{"eth_call", `[{"input":"0xfe"}]`},
		[2]string{"eth_call", `[{"input":"0x01"}]`}, [2]string{"eth_call", `[{"input":"0x5b600056","gas":"0xffff"}]`}, [2]string{"eth_call", `[{"input":"0xc8"}]`},
		[2]string{"eth_call", `[{"input":"0x600456"}]`}, [2]string{"eth_call", `[{"from":"` + poor + `","to":"` + demo + `","gasPrice":"0xffffffffff"}]`},
		[2]string{"eth_estimateGas", `[{"from":"` + poor + `","to":"` + demo + `","value":"0x1"}]`}, [2]string{"eth_estimateGas", `[{"input":"0xfe"}]`},
		[2]string{"eth_nope", `[]`}, [2]string{"eth_chainId", `[]`}, [2]string{"eth_feeHistory", `["0x1"]`}, [2]string{"eth_sendRawTransaction", `["0x02"]`})
}

// TestRemoteGeth puts the same chain behind both: what is Geth's already comes
// through unchanged, answers and errors alike.
func TestRemoteGeth(t *testing.T) {
	for _, d := range dialects {
		near, far := New(devnet(), limits(d.Dialect)), remoteNode(d.Dialect)
		for _, c := range corpus(t) {
			want := seen(near.Call(t.Context(), c[0], []byte(c[1])))
			if got := seen(far.Call(t.Context(), c[0], []byte(c[1]))); got != want {
				t.Errorf("%s %s %s:\n%.600s, want\n%.600s", d.name, c[0], c[1], got, want)
			}
		}
	}
}

// TestRemoteSameBytes holds that the right form costs no copy.
func TestRemoteSameBytes(t *testing.T) {
	for _, c := range corpus(t) {
		raw, err := devnet().Call(t.Context(), c[0], []byte(c[1]))
		if err != nil || c[0] == "eth_getProof" {
			continue
		}
		got, err := settle(method.Of(c[0]), raw)
		if err != nil || len(raw) > 0 && &got[0] != &raw[0] {
			t.Errorf("%s %s was copied: %v", c[0], c[1], err)
		}
	}
}

// TestRemoteNonsense holds that what can't be an answer is none.
func TestRemoteNonsense(t *testing.T) {
	tx := `{"hash":"` + someHash + `","type":"0x0",`
	for method, answers := range map[string][]string{
		"eth_getStorageAt":          {`null`, `5`, `{}`, `"0xzz"`, `"5"`, `"0x` + strings.Repeat("1", 65) + `"`},
		"eth_call":                  {`5`, `[]`, `"0x1"`, `"0xg0"`, `"01"`},
		"eth_estimateGas":           {`null`, `""`, `-1`, `1.5`, `"0x` + strings.Repeat("f", 65) + `"`, `18446744073709551616`},
		"eth_getTransactionByHash":  {`[]`, `"0x"`, `{}`, `{"hash":"0x1"}`, tx + `"blockNumber":{}}`, tx + `"to":"0x1"}`, tx + `"gas":"0x1","gas":"0x2"}`, tx + `"accessList":{}}`},
		"eth_getTransactionReceipt": {`[]`, `{}`, `{"transactionHash":"` + someHash + `","logs":5}`, `{"transactionHash":"` + someHash + `","logs":[{}]}`, `{"transactionHash":"` + someHash + `","status":"yes"}`, `{"transactionHash":"` + someHash + `","logsBloom":"0x00"}`},
		"eth_getBlockReceipts":      {`{}`, `[null]`, `[5]`, `"0x"`},
		"eth_getProof":              {`null`, `[]`, `{}`, `{"storageProof":[{"key":"0x2"}]}`, `{"storageProof":[{"key":"0x1"},{"key":"0x1"}]}`, `{"storageProof":[{"value":"0x1"}]}`, `{"storageProof":[{"key":"0x1","proof":[5]}]}`},
	} {
		params := map[string]string{
			"eth_getStorageAt": `["` + poor + `","0x0"]`, "eth_call": `[{}]`, "eth_estimateGas": `[{}]`, "eth_getProof": `["` + poor + `",["0x1"]]`, "eth_getBlockReceipts": `["0x1"]`,
		}[method]
		if params == "" {
			params = `["` + someHash + `"]`
		}
		for _, answer := range answers {
			f := newFake()
			f.answers[method] = answer
			cfg := limits(Standard)
			cfg.Remote = true
			result, err := New(f, cfg).Call(t.Context(), method, []byte(params))
			if !errors.Is(err, nodegate.Internal) || strings.Contains(err.Error(), answer) && len(answer) > 4 {
				t.Errorf("%s: %s gives %s, %v", method, answer, result, err)
			}
		}
	}
}

// TestRemotePasses holds that what isn't a node's own error is left alone.
func TestRemotePasses(t *testing.T) {
	for _, want := range []error{
		&nodegate.Error{Code: nodegate.NoNode, Msg: "no node available"}, &nodegate.Error{Code: nodegate.Busy, Msg: "server busy"},
		nodegate.ErrTimeout("x", context.DeadlineExceeded), errors.New("unforeseen: block not found"),
	} {
		_, err := remote{failing{want}}.Call(t.Context(), "eth_getTransactionByHash", []byte(`["`+someHash+`"]`))
		if err != want {
			t.Errorf("%v became %v", want, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Call(context.Context, string, []byte) ([]byte, error) { return nil, f.err }
func (f failing) Head(context.Context) (nodegate.Head, error)          { return nodegate.Head{}, f.err }

func (f failing) Subscribe(context.Context, []byte, nodegate.Take) error { return f.err }

func TestRemoteSubscribe(t *testing.T) {
	cfg := limits(Spec)
	cfg.Remote = true
	refusal := &nodegate.Error{Code: nodegate.NodeFault, Number: -32601, Msg: "Method not found"}
	err := New(failing{refusal}, cfg).Subscribe(t.Context(), []byte(`["newHeads"]`), nil)
	wantError(t, err, nodegate.MethodNotFound, "the method eth_subscribe does not exist/is not available")
	err = New(newFake(), cfg).Subscribe(t.Context(), []byte(`["newHeads"]`), nil)
	wantError(t, err, nodegate.MethodNotFound, "the method eth_subscribe does not exist/is not available")
	if err := New(devnet(), cfg).Subscribe(t.Context(), []byte(`["newHeads"]`), func([]byte, nodegate.End) {}); err != nil {
		t.Error(err)
	}
}

// TestRemoteGasCap holds to a network whose gas limit nobody knows yet.
func TestRemoteGasCap(t *testing.T) {
	f := newFake()
	f.head.GasLimit = 0
	cfg := limits(Spec)
	cfg.Remote = true
	if _, err := New(f, cfg).Call(t.Context(), "eth_call", []byte(`[{"gas":"0xffffff"}]`)); err != nil {
		t.Error(err)
	}
	f.head.GasLimit = 100
	_, err := New(f, cfg).Call(t.Context(), "eth_call", []byte(`[{"gas":"0x3e9"}]`))
	wantError(t, err, nodegate.InvalidParams, "invalid argument 0: gas: 1001 is above the cap of 1000")
}

// TestRemoteWindow holds the history window on networks that answer otherwise.
func TestRemoteWindow(t *testing.T) {
	f := newFake()
	cfg := limits(Spec)
	cfg.Remote, cfg.HistoryWindow = true, map[string]uint64{"eth_getTransactionReceipt": 128, "eth_getBlockReceipts": 128}
	// A number with zeros before it is a number too.
	f.answers["eth_getTransactionReceipt"] = `{"transactionHash":"` + someHash + `","blockNumber":"0x048"}`
	_, err := New(f, cfg).Call(t.Context(), "eth_getTransactionReceipt", []byte(`["`+someHash+`"]`))
	wantError(t, err, nodegate.OutsideHistory, "archive requests are not available on this network: only the latest 128 blocks are served")
	f.answers["eth_getTransactionReceipt"] = `{"transactionHash":"` + someHash + `","blockNumber":"0x0049"}`
	if _, err = New(f, cfg).Call(t.Context(), "eth_getTransactionReceipt", []byte(`["`+someHash+`"]`)); err != nil {
		t.Error(err)
	}
}

// TestBloom computes what the chain's own receipts have.
func TestBloom(t *testing.T) {
	logs := 0
	for i := range 12 {
		for _, r := range receiptsOf(t, i) {
			whole := members(t, r)
			without := filter([]byte(r), func(name []byte) bool { return string(name) != "logsBloom" }, nil)
			fixed, ok := fixReceipt(without)
			if got := members(t, string(fixed))["logsBloom"]; !ok || string(got) != string(whole["logsBloom"]) {
				t.Errorf("block %d: %s, want %s", i, got, whole["logsBloom"])
			}
			logs += strings.Count(r, "logIndex")
		}
	}
	if logs == 0 {
		t.Error("no receipt had a log")
	}
}

func receiptsOf(t testing.TB, block int) (list []string) {
	var raw []json.RawMessage
	if err := json.Unmarshal([]byte(ask(t, devnet(), "eth_getBlockReceipts", fmt.Sprintf(`["%#x"]`, block))), &raw); err != nil {
		t.Fatal(err)
	}
	for _, r := range raw {
		list = append(list, string(r))
	}
	return list
}

// TestRemoteHabits disturbs real answers as clients do, in any combination, and
// holds that they come back as they were.
func TestRemoteHabits(t *testing.T) {
	type answer struct{ method, raw string }
	var answers []answer
	for _, c := range corpus(t) {
		if c[0] == "eth_getTransactionByHash" || c[0] == "eth_getTransactionReceipt" {
			if raw := ask(t, devnet(), c[0], c[1]); raw != "null" {
				answers = append(answers, answer{c[0], raw})
			}
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		a := rapid.SampledFrom(answers).Draw(rt, "answer")
		disturbed := disturb(rt, members(t, a.raw))
		got, err := settle(method.Of(a.method), disturbed)
		if err != nil {
			rt.Fatalf("%s: %v", disturbed, err)
		}
		want, have := members(t, a.raw), members(t, string(got))
		for name, value := range want {
			if string(have[name]) != string(value) {
				rt.Errorf("%s of %s is %s, want %s", name, disturbed, have[name], value)
			}
		}
		if len(have) != len(want) {
			rt.Errorf("%s became %s", disturbed, got)
		}
	})
}

// disturb changes members as single clients have them.
func disturb(rt *rapid.T, object map[string]json.RawMessage) []byte {
	yes := rapid.Bool()
	for name, value := range object {
		text := strings.Trim(string(value), `"`)
		switch {
		case string(value) == "null" && yes.Draw(rt, "leave out "+name):
			delete(object, name)
		case strings.HasPrefix(text, "0x") && yes.Draw(rt, "capitals in "+name):
			object[name] = json.RawMessage(`"0x` + strings.ToUpper(text[2:]) + `"`)
		case len(text) < 20 && strings.HasPrefix(text, "0x") && name != "input" && yes.Draw(rt, "zeros in "+name):
			object[name] = json.RawMessage(`"0x00` + text[2:] + `"`)
		}
	}
	for _, name := range []string{"publicKey", "creates", "revertReason", "error", "removed", "condition"} {
		if yes.Draw(rt, "add "+name) && (name != "removed" || object["status"] != nil) {
			object[name] = json.RawMessage("null")
		}
	}
	if object["status"] == nil { // a transaction; removed and the like belong to receipts
		delete(object, "revertReason")
		delete(object, "error")
	} else {
		for _, name := range []string{"publicKey", "creates", "condition"} {
			delete(object, name)
		}
	}
	if object["yParity"] != nil && yes.Draw(rt, "no parity") {
		delete(object, "yParity")
	}
	if object["logsBloom"] != nil && yes.Draw(rt, "no bloom") {
		delete(object, "logsBloom")
	}
	if yes.Draw(rt, "no type") && (object["status"] == nil || string(object["type"]) == typeLegacy) {
		delete(object, "type")
	}
	out, err := json.Marshal(object)
	if err != nil {
		rt.Fatal(err)
	}
	return out
}

// FuzzReason holds the decoded reason to Geth's own decoder.
func FuzzReason(f *testing.F) {
	for _, seed := range []string{
		"", "08c379a0", "4e487b71" + strings.Repeat("0", 62) + "11", "4e487b71" + strings.Repeat("f", 64), "f4f28e99",
		"08c379a0" + strings.Repeat("0", 62) + "20" + strings.Repeat("0", 64), "08c379a0" + strings.Repeat("0", 62) + "20" + strings.Repeat("0", 62) + "06646f6f6d6564",
		"08c379a0" + strings.Repeat("f", 64), "08c379a0" + strings.Repeat("0", 62) + "20" + strings.Repeat("f", 64),
	} {
		data, err := hexutil.Decode("0x" + seed)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		want, err := abi.UnpackRevert(data)
		if got, ok := reasonIn(data); ok != (err == nil) || got != want {
			t.Errorf("%x: %q, %v; Geth has %q, %v", data, got, ok, want, err)
		}
	})
}

// FuzzSettle gives every kind of answer anything: what comes out is JSON, and
// doing it again changes nothing.
func FuzzSettle(f *testing.F) {
	methods := []string{"eth_getStorageAt", "eth_call", "eth_estimateGas", "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getBlockReceipts"}
	for i := range methods {
		for _, seed := range []string{`null`, `"0x"`, `"0X0A"`, `{"hash":"` + someHash + `","v":"0x1b","type":"0x2"}`, `{"transactionHash":"` + someHash + `","logs":[{"address":"` + poor + `"}]}`, `[]`, `{`} {
			f.Add(i, []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, i int, raw []byte) {
		if !json.Valid(raw) {
			return // the layers below answer with JSON
		}
		name := methods[uint(i)%uint(len(methods))]
		once, err := settle(method.Of(name), raw)
		if err != nil {
			return
		}
		twice, err := settle(method.Of(name), once)
		if err != nil || !json.Valid(once) || string(twice) != string(once) {
			t.Errorf("%s: %s became %s, then %s, %v", name, raw, once, twice, err)
		}
	})
}

// FuzzExplain gives errors any words: no key and no address comes out, the words are
// short and of one line, and the number is one that a client may see.
func FuzzExplain(f *testing.F) {
	f.Add(-32000, "execution reverted", []byte(`"0x"`))
	f.Add(-32015, "VM execution error.", []byte(`{"data":{"data":"Reverted 0x12"}}`))
	f.Add(-32603, "see https://x.io/v3/0123456789abcdef0123456789abcdef\x00\n", []byte(nil))
	f.Fuzz(func(t *testing.T, number int, msg string, data []byte) {
		e := &nodegate.Error{Code: nodegate.NodeFault, Number: number, Msg: msg, Data: data}
		err := nodegate.AsError(explain("eth_call", []byte(`[{},"latest"]`), e))
		if _, known := numberOf[err.Code]; !known && err.Code != nodegate.NodeFault {
			t.Errorf("%q became %v", msg, err)
		}
		if err.Data != nil && !json.Valid(err.Data) {
			t.Errorf("data %q of %q", err.Data, data)
		}
		if err.Code == nodegate.Reverted {
			return // a contract's own words
		}
		if len(err.Msg) > maxMessage || strings.ContainsAny(err.Msg, "\n\r\x00\x1b") || strings.Contains(err.Msg, "://") {
			t.Errorf("%q became %q", msg, err.Msg)
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"out of gas": "out of gas",
		"see https://mainnet.infura.io/v3/0123456789abcdef0123456789abcdef for more": "see [...] for more",
		"wss://u:p@host/x refused":                             "[...] refused",
		"eth-mainnet.g.alchemy.com/v2/abc is down":             "[...] is down",
		"dial 10.0.0.7:8545: refused":                          "dial [...] refused",
		"on localhost:8545":                                    "on [...]",
		"project id: 42 is over":                               "project id [...] is over",
		"token=secret1":                                        "token [...]",
		"key 'abc'":                                            "key [...]",
		"module PRECOMPILE_BLS_MAP_FP_TO_G1_EFFECTIVE_CALLS=1": "module PRECOMPILE_BLS_MAP_FP_TO_G1_EFFECTIVE_CALLS=1",
		"sk_LIVE_4eC39HqLyjWDarjtT1zdp7dc is not one":          "[...] is not one",
		"mail to ops@example.com":                              "mail to [...]",
		"0123456789abcdef0123456789abcdef":                     "[...]",
		"have 100000000000000000000000 want 1":                 "have 100000000000000000000000 want 1",
		"address " + poor + " is poor":                         "address " + poor + " is poor",
		"hash " + someHash:                                     "hash " + someHash,
		"CallGasCostMoreThanGasLimit":                          "CallGasCostMoreThanGasLimit",
		"a\nb\tc\x1b[31md\u202e":                               "a b c[31md",
		"2b3f9c1e-7a4d-4e8b-9f00-123456789abc":                 "[...]",
		strings.Repeat("ä", 400):                               strings.Repeat("ä", 256),
		strings.Repeat("a", 600):                               strings.Repeat("a", 512),
		"bad\xff byte":                                         "bad byte",
		"max fee per gas less than block base fee: a, b: 1":    "max fee per gas less than block base fee: a, b: 1",
		"invalid argument 0: hex string has length 3, want 5":  "invalid argument 0: hex string has length 3, want 5",
	} {
		if got := clean(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}

func BenchmarkSettleReceipt(b *testing.B) {
	raw := []byte(receiptsOf(b, 2)[0])
	b.SetBytes(int64(len(raw)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := settle(method.Of("eth_getTransactionReceipt"), raw); err != nil {
			b.Fatal(err)
		}
	}
}
