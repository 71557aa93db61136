package rollup

import (
	"math/big"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestLineaErrors holds that what the network's own tests expect of its node is not
// touched here: the front brings errors of every client to one form.
func TestLineaErrors(t *testing.T) {
	for _, c := range []struct {
		number    int
		msg, data string
	}{
		{3, "Execution reverted", `"0x"`},
		{-32602, "Invalid params", ""}, // gas of 2147483647
		{-32602, "Invalid call params", ""},
		{-32000, "Transaction processing could not be completed due to an exception (Invalid opcode: 0xc8)", ""},
		{-32000, "transaction up-front cost 0x5d539a1 exceeds transaction sender account balance 0x0 for sender " + sender, ""},
		{-32004, "Upfront cost exceeds account balance", ""},
		{-32000, "Transaction line count for module HUB=216 is above the limit 52", ""},
		{-32000, "Transaction line count for module PRECOMPILE_BLS_MAP_FP_TO_G1_EFFECTIVE_CALLS=1 is above the limit 0", ""},
	} {
		fault := &nodegate.Error{Code: nodegate.NodeFault, Number: c.number, Msg: c.msg, Data: []byte(c.data)}
		next := &script{answers: map[string]any{"linea_estimateGas": fault}}
		if _, err := newNode(t, next, Config{Remote: true}).Call(t.Context(), Method, []byte(`[{}]`)); err != error(fault) {
			t.Errorf("%s: %v", c.msg, err)
		}
	}
}

// TestLineaWithoutMethod: providers and other clients serve Linea without its method.
// The formula is known, and so are its prices, which the blocks carry.
func TestLineaWithoutMethod(t *testing.T) {
	const params = `[` + transfer + `]`
	want, err := newNode(t, chainScript(nil), Config{}).Call(t.Context(), Method, []byte(params))
	if err != nil {
		t.Fatal(err)
	}
	for _, lack := range []*nodegate.Error{
		{Code: nodegate.NodeFault, Number: -32601, Msg: "The method linea_estimateGas does not exist/is not available"},
		{Code: nodegate.NodeFault, Number: -32604, Msg: "Method not enabled"},
		{Code: nodegate.NodeFault, Number: -32600, Msg: "Unsupported method: linea_estimateGas"},
		{Code: nodegate.MethodNotFound, Msg: "the method linea_estimateGas does not exist/is not available"},
	} {
		next := chainScript(map[string]any{"linea_estimateGas": lack})
		got, err := newNode(t, next, Config{Remote: true}).Call(t.Context(), Method, []byte(params))
		if err != nil || string(got) != string(want) {
			t.Errorf("%s: %s, %v; want %s", lack.Msg, got, err, want)
		}
	}
}

// TestLineaAcceptance is what the network's tests expect of an estimate that works: its
// gas is eth_estimateGas's, and a nonce of the future is no fault.
func TestLineaAcceptance(t *testing.T) {
	for gas, call := range map[string]string{"0x5208": transfer, "0xcf08": strings.Replace(transfer, `{`, `{"nonce":"0xa",`, 1)} {
		next := chainScript(map[string]any{"eth_estimateGas": `"` + gas + `"`})
		got, err := newNode(t, next, Config{}).Call(t.Context(), Method, []byte(`[`+call+`]`))
		if err != nil || !strings.HasPrefix(string(got), `{"gasLimit":"`+gas+`",`) {
			t.Errorf("%s: %s, %v", call, got, err)
		}
	}
}

// profitable is the question of Linea's pool and of its block builder: is the price
// enough for what publishing costs? They ask it of the same formula, with other gas.
func profitable(price *big.Int, margin float64, fixed, variable, size, gas int64) bool {
	return price.Cmp(new(big.Int).Add(big.NewInt(7), profitableFee(margin, fixed, variable, size, gas))) >= 0
}

// TestLineaProfit holds that who follows an estimate is let in: one at 1.1 is enough
// for a builder at 1.0. The other cases are the builder's own, with a minimum gas price
// for the variable cost.
func TestLineaProfit(t *testing.T) {
	sizeOf := func(payload int) int64 {
		call := `{"from":"` + sender + `","to":"` + recipient + `","input":"` + hexOf(noise(payload, 9)) + `"}`
		size, err := newSizer(nil, 1).size(t.Context(), encodeCall(t, call, 21000, nil))
		if err != nil {
			t.Fatal(err)
		}
		return int64(size)
	}
	for _, size := range []int64{64, 96, sizeOf(100), sizeOf(10_000)} {
		estimate := profitableFee(1.1, 30_000_000, 1_000_000_000, size, 21000)
		if !profitable(estimate.Add(estimate, big.NewInt(7)), 1.0, 30_000_000, 1_000_000_000, size, 21000) {
			t.Errorf("an estimate for %d bytes is not enough", size)
		}
	}
	const fixed, margin = 600_000, 1.5
	for _, c := range []struct {
		name                string
		payload             int
		price, minimum, gas int64
		want                bool
	}{
		{"large, by a small limit", 10_000, 1_000_100, 1_000_000, 21_000, false},
		{"large, by a large limit", 10_000, 1_000_100, 1_000_000, 210_000, true},
		{"large, by what it used", 10_000, 1_000_100, 1_000_000, 21_000, false},
		{"small", 100, 1_100_000_000, 1_000_000_000, 21_000, true},
	} {
		if got := profitable(big.NewInt(c.price), margin, fixed, c.minimum, sizeOf(c.payload), c.gas); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
