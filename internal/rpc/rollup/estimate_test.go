package rollup

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
)

func TestEstimate(t *testing.T) {
	const hash = "0x00000000000000000000000000000000000000000000000000000000000000aa"
	noPrices := strings.Replace(idleBlock, pricedExtra, "0xd883010d0e", 1)
	busy := strings.Replace(idleBlock, `"gasUsed":"0x0"`, `"gasUsed":"0x1c9c380"`, 1)
	pendingBusy := strings.Replace(busy, `"0x7"`, `"0x9"`, 1)
	tests := []struct {
		name    string
		params  string
		cfg     Config
		changes map[string]any
		want    string
	}{
		{name: "transfer", params: `[` + transfer + `]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "latest", params: `[` + transfer + `,"latest"]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "number", params: `[` + transfer + `,"0x5"]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "hash", params: `[` + transfer + `,"` + hash + `"]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "number object", params: `[` + transfer + `,{"blockNumber":"0x5"}]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "hash object", params: `[` + transfer + `,{"blockHash":"` + hash + `","requireCanonical":true}]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "nulls", params: `[` + transfer + `,null,null]`, want: `0x5208 0x7 0x25d1eb6`},
		{name: "nothing given", params: `[{}]`, changes: map[string]any{"eth_estimateGas": `"0xcf08"`}, want: `0xcf08 0x7 0x2305f2f`},
		{name: "typed, chain id from the node", params: `[{"maxFeePerGas":"0x10","accessList":[]}]`, want: `0x5208 0x7 0x24137da`},
		{name: "the next block's base fee", params: `[` + transfer + `]`, changes: map[string]any{"eth_getBlockByNumber": busy}, want: `0x5208 0x8 0x25d1eb6`},
		{name: "pending has its own base fee", params: `[` + transfer + `,"pending"]`,
			changes: map[string]any{`eth_getBlockByNumber ["pending",false]`: pendingBusy}, want: `0x5208 0x9 0x25d1eb6`},
		{name: "pending without a block", params: `[` + transfer + `,"pending"]`,
			changes: map[string]any{`eth_getBlockByNumber ["pending",false]`: `null`}, want: `0x5208 0x7 0x25d1eb6`},
		{name: "pending without prices", params: `[` + transfer + `,"pending"]`,
			changes: map[string]any{`eth_getBlockByNumber ["pending",false]`: noPrices}, want: `0x5208 0x7 0x25d1eb6`},
		{name: "default prices", params: `[` + transfer + `]`, changes: map[string]any{"eth_getBlockByNumber": noPrices}, want: `0x5208 0x7 0x25d1eb6`},
		{name: "configured prices", params: `[` + transfer + `]`, cfg: Config{FixedCostWei: 1000, VariableCostWei: 21_000, Margin: 1},
			changes: map[string]any{"eth_getBlockByNumber": noPrices}, want: `0x5208 0x7 0x428`},
		{name: "compatibility", params: `[` + transfer + `]`, cfg: Config{CompatibilityMode: true, MinGasPriceWei: 1_000_000_000}, want: `0x5208 0x7 0x47868bf8`},
		{name: "compatibility, the block's price", params: `[` + transfer + `]`, cfg: Config{CompatibilityMode: true, Multiplier: 2},
			changes: map[string]any{"eth_getBlockByNumber": strings.Replace(idleBlock, "f424000000000", "f424000000001", 1)}, want: `0x5208 0x7 0x7c2`},
		{name: "balance from the override", params: `[` + transfer + `,"latest",{"0x` + strings.ToUpper(sender[2:]) + `":{"balance":"0x240c7"}}]`,
			changes: map[string]any{"eth_getBalance": `"0x0"`}, want: `0x5208 0x7 0x25d1eb6`},
		{name: "just enough", params: `[` + transfer + `]`, changes: map[string]any{"eth_getBalance": `"0x240c7"`}, want: `0x5208 0x7 0x25d1eb6`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNode(t, chainScript(tt.changes), tt.cfg)
			got, err := n.Call(t.Context(), Method, []byte(tt.params))
			if err != nil {
				t.Fatal(err)
			}
			f := strings.Fields(tt.want)
			want := `{"gasLimit":"` + f[0] + `","baseFeePerGas":"` + f[1] + `","priorityFeePerGas":"` + f[2] + `"}`
			if string(got) != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

func TestEstimateRefusesParams(t *testing.T) {
	tests := []struct{ name, params, msg string }{
		{"none", ``, "missing value for required argument 0"},
		{"empty", `[]`, "missing value for required argument 0"},
		{"null", `[null]`, "missing value for required argument 0"},
		{"null itself", `null`, "missing value for required argument 0"},
		{"object", `{}`, "non-array args"},
		{"not JSON", `[{]`, "non-array args"},
		{"too many", `[{},"latest",{},{}]`, "too many arguments, want at most 3"},
		{"call is a string", `["0x"]`, "invalid argument 0: "},
		{"call is a list", `[[]]`, "invalid argument 0: "},
		{"bad address", `[{"from":"0x12"}]`, "invalid argument 0: "},
		{"bad quantity", `[{"value":12}]`, "invalid argument 0: "},
		{"value of 257 bits", `[{"value":"0x1` + strings.Repeat("0", 64) + `"}]`, "invalid argument 0: "},
		{"bad access list", `[{"accessList":[{"address":null}]}]`, "invalid argument 0: "},
		{"two prices", `[{"gasPrice":"0x1","maxFeePerGas":"0x1"}]`, "invalid argument 0: both gasPrice and (maxFeePerGas"},
		{"price and tip", `[{"gasPrice":"0x1","maxPriorityFeePerGas":"0x1"}]`, "invalid argument 0: both gasPrice and (maxFeePerGas"},
		{"price and blob price", `[{"gasPrice":"0x1","maxFeePerBlobGas":"0x1"}]`, "invalid argument 0: both gasPrice and (maxFeePerGas"},
		{"blob price", `[{"maxFeePerBlobGas":"0x1"}]`, "invalid argument 0: blob transactions are not supported by the rollup"},
		{"blob hashes", `[{"blobVersionedHashes":[]}]`, "invalid argument 0: blob transactions are not supported by the rollup"},
		{"blobs", `[{"blobs":["0x"]}]`, "invalid argument 0: blob transactions are not supported by the rollup"},
		{"unknown tag", `[{},"newest"]`, "invalid argument 1: "},
		{"tag with a quote", `[{},"la\"test"]`, "invalid argument 1: "},
		{"block is a number", `[{},5]`, "invalid argument 1: "},
		{"block of 65 bits", `[{},"0x10000000000000000"]`, "invalid argument 1: "},
		{"hash that is none", `[{},"0x` + strings.Repeat("g", 64) + `"]`, "invalid argument 1: "},
		{"block object without a block", `[{},{}]`, "invalid argument 1: neither"},
		{"block object with two", `[{},{"blockNumber":"0x1","blockHash":"0x` + strings.Repeat("0", 64) + `"}]`, "invalid argument 1: cannot specify both"},
		{"short hash in an object", `[{},{"blockHash":"0x1"}]`, "invalid argument 1: "},
		{"overrides are a string", `[{},"latest","0x"]`, "invalid argument 2: "},
		{"overrides of no address", `[{},"latest",{"latest":{}}]`, "invalid argument 2: "},
		{"bad balance", `[{},"latest",{"` + sender + `":{"balance":1}}]`, "invalid argument 2: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := chainScript(nil)
			_, err := newNode(t, next, Config{}).Call(t.Context(), Method, []byte(tt.params))
			wantError(t, err, nodegate.InvalidParams, tt.msg)
			if len(next.asked) > 0 {
				t.Errorf("the node was asked: %v", next.asked)
			}
		})
	}
}

func TestEstimateRefusesTooLong(t *testing.T) {
	params := `[{"input":"0x` + strings.Repeat("00", maxEncoded) + `"}]`
	_, err := newNode(t, chainScript(nil), Config{}).Call(t.Context(), Method, []byte(params))
	wantError(t, err, nodegate.InvalidParams, "invalid argument 0: the encoded transaction is longer than 262144 bytes")
}

func TestEstimateNodeErrors(t *testing.T) {
	reverted := &nodegate.Error{Code: nodegate.Reverted, Msg: "execution reverted", Data: json.RawMessage(`"0x"`)}
	noBaseFee := strings.Replace(idleBlock, `"baseFeePerGas":"0x7",`, "", 1)
	const typed = `[{"from":"` + sender + `","maxFeePerGas":"0x1"}]`
	tests := []struct {
		name, method string
		answer       any
		code         nodegate.Code
		msg          string
	}{
		{"unknown block", "eth_getBlockByNumber", `null`, nodegate.ExecutionFailed, "header not found"},
		{"no base fee", "eth_getBlockByNumber", noBaseFee, nodegate.InvalidRequest, "Not on a baseFee market"},
		{"block fails", "eth_getBlockByNumber", reverted, nodegate.Reverted, "execution reverted"},
		{"block is nonsense", "eth_getBlockByNumber", `[]`, nodegate.Internal, "internal error"},
		{"gas fails", "eth_estimateGas", reverted, nodegate.Reverted, "execution reverted"},
		{"gas is nonsense", "eth_estimateGas", `null`, nodegate.Internal, "internal error"},
		{"gas is zero", "eth_estimateGas", `"0x0"`, nodegate.Internal, "internal error"},
		{"gas is past 63 bits", "eth_estimateGas", `"0x8000000000000000"`, nodegate.Internal, "internal error"},
		{"balance fails", "eth_getBalance", reverted, nodegate.Reverted, "execution reverted"},
		{"balance is nonsense", "eth_getBalance", `{}`, nodegate.Internal, "internal error"},
		{"nonce fails", "eth_getTransactionCount", reverted, nodegate.Reverted, "execution reverted"},
		{"chain id fails", "eth_chainId", reverted, nodegate.Reverted, "execution reverted"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := chainScript(map[string]any{tt.method: tt.answer})
			_, err := newNode(t, next, Config{}).Call(t.Context(), Method, []byte(typed))
			wantError(t, err, tt.code, tt.msg)
			if want, ok := tt.answer.(error); ok && err != want {
				t.Errorf("the node's error changed to %v", err)
			}
		})
	}
}

func TestEstimateChecksBalance(t *testing.T) {
	const tail = " exceeds transaction sender account balance 0x0 for sender " + sender
	call := func(more string) string { return `{"from":"` + sender + `",` + more + `}` }
	tests := []struct{ name, params, msg string }{
		{"gas price, as published", `[` + call(`"gasPrice":"0x1234","value":"0x1"`) + `,"latest",{"` + sender + `":{"balance":"0x0"}}]`, "0x5d539a1"},
		{"fee cap", `[` + call(`"maxFeePerGas":"0x1234","value":"0x1"`) + `]`, "0x5d539a1"},
		{"base fee where the price is zero", `[` + call(`"gasPrice":"0x0"`) + `]`, "0x23e38"},
		{"base fee where there is no price", `[` + call(`"maxPriorityFeePerGas":"0x5"`) + `]`, "0x23e38"},
		{"past 256 bits", `[` + call(`"gasPrice":"0x`+strings.Repeat("f", 64)+`"`) + `]`, "0x5207" + strings.Repeat("f", 60) + "adf8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			next := chainScript(map[string]any{"eth_getBalance": `"0x0"`})
			_, err := newNode(t, next, Config{}).Call(t.Context(), Method, []byte(tt.params))
			wantError(t, err, nodegate.ExecutionFailed, "transaction up-front cost "+tt.msg+tail)
		})
	}
}

func TestEstimateAsksAtTheBlock(t *testing.T) {
	next := chainScript(nil)
	overrides := `{"` + recipient + `":{"nonce":"0x5"}}`
	params := `[` + transfer + `,{"blockNumber":"0x5"},` + overrides + `]`
	if _, err := newNode(t, next, Config{}).Call(t.Context(), Method, []byte(params)); err != nil {
		t.Fatal(err)
	}
	want := []string{
		`eth_getBlockByNumber ["0x5",false]`,
		`eth_estimateGas [` + transfer + `,{"blockNumber":"0x5"},` + overrides + `]`,
		`eth_getBalance ["` + sender + `",{"blockNumber":"0x5"}]`,
		`eth_getTransactionCount ["` + sender + `",{"blockNumber":"0x5"}]`,
	}
	if !slices.Equal(next.asked, want) {
		t.Errorf("asked\n%v, want\n%v", next.asked, want)
	}
}

func TestEstimateTimesOut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := newNode(t, chainScript(nil), Config{}).Call(ctx, Method, []byte(`[{}]`))
	wantError(t, err, nodegate.Timeout, "request timed out")
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v does not say why", err)
	}
}

func TestEstimateConcurrently(t *testing.T) {
	n := newNode(t, chainScript(nil), Config{Dictionary: noise(1000, 6)})
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			got, err := n.Call(t.Context(), Method, []byte(`[`+transfer+`]`))
			if err != nil || !strings.Contains(string(got), `"0x25d1eb6"`) {
				t.Errorf("%s, %v", got, err)
			}
		})
	}
	wg.Wait()
}

func FuzzEstimateParams(f *testing.F) {
	for _, seed := range []string{
		`[]`, `[{}]`, `[` + transfer + `]`, `[` + tokenTransfer + `,"pending"]`,
		`[{"from":"` + sender + `"},{"blockNumber":"0x5"},{"` + sender + `":{"balance":"0x1"}}]`,
		`[{"maxFeePerGas":"0x1","accessList":[{"address":"` + sender + `","storageKeys":null}]},"earliest"]`,
		`[{"authorizationList":[{"address":"` + sender + `"}],"chainId":"0x1"},null,null]`,
	} {
		f.Add([]byte(seed))
	}
	n := newNode(f, chainScript(nil), Config{})
	next := n.next.(*script)
	f.Fuzz(func(t *testing.T, params []byte) {
		result, err := n.Call(t.Context(), Method, params)
		next.asked = nil
		if err != nil {
			if _, ok := err.(*nodegate.Error); !ok || result != nil {
				t.Errorf("%s: %s, %v (%T)", params, result, err, err)
			}
			return
		}
		var fields map[string]string
		if json.Unmarshal(result, &fields) != nil || len(fields) != 3 {
			t.Errorf("%s: result %s", params, result)
		}
	})
}
