package rollup

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestScrollEstimate asks the oracle about a whole transaction, signature included.
func TestScrollEstimate(t *testing.T) {
	prices, length := scrollPrices{1.5e9, 1.5e8, 1e9, 1e7, 1e9}, 0
	network := oracle{feeScript(nil), func(to string, input []byte) (string, error) {
		if to != "0x5300000000000000000000000000000000000002" || selector(input[:4]) != getL1Fee {
			return "0x", nil
		}
		length = int(new(big.Int).SetBytes(input[36:68]).Int64())
		return word(prices.curie(length)), nil
	}}
	n := newNode(t, network, Config{Stack: Scroll, Remote: true})
	got, err := n.Call(t.Context(), Method, []byte(`[`+transfer+`]`))
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`{"gasLimit":"0x5208","baseFeePerGas":"0x7","priorityFeePerGas":"0x5","l1DataFee":"%#x"}`, prices.curie(length))
	if string(got) != want || length < 100 {
		t.Errorf("%s of %d bytes, want %s", got, length, want)
	}
	network.call = func(_ string, input []byte) (string, error) {
		if selector(input[:4]) == isCurie {
			return word(1), nil
		}
		return "", revert
	}
	_, err = newNode(t, network, Config{Stack: Scroll, Remote: true}).Call(t.Context(), Method, []byte(`[{}]`))
	wantError(t, err, nodegate.NodeFault, "execution reverted")
	network.call = func(string, []byte) (string, error) { return "", revert }
	_, err = newNode(t, network, Config{Stack: Scroll, Remote: true}).Call(t.Context(), Method, []byte(`[{}]`))
	wantError(t, err, nodegate.NodeFault, "execution reverted")
	network.call = func(string, []byte) (string, error) { return "0x", nil }
	_, err = newNode(t, network, Config{Stack: Scroll, Remote: true}).Call(t.Context(), Method, []byte(`[{}]`))
	wantError(t, err, nodegate.Internal, "internal error")
}

func TestArbitrumEstimate(t *testing.T) {
	words := func(n ...int64) string {
		out := "0x"
		for _, w := range n {
			out += word(w)[2:]
		}
		return out
	}
	const call = `{"from":"` + sender + `","to":"` + recipient + `","gas":"0x10000","value":"0x28f","input":"0x0102","maxFeePerGas":"0x99"}`
	want := `eth_call [{"to":"0x00000000000000000000000000000000000000c8","from":"` + sender + `","value":"0x28f","gas":"0x10000","input":"0xc94e6eeb` +
		strings.Repeat("0", 24) + recipient[2:] + word(0)[2:] + word(96)[2:] + word(2)[2:] + "0102" + strings.Repeat("0", 60) + `"},"latest"]`
	next := chainScript(map[string]any{"eth_call": `"` + words(0x7a120, 0x5000, 0x5f5e100, 0x3b9aca00) + `"`})
	got, err := newNode(t, next, Config{Stack: Arbitrum, Remote: true}).Call(t.Context(), Method, []byte(`[`+call+`]`))
	if err != nil || string(got) != `{"gasLimit":"0x7a120","baseFeePerGas":"0x5f5e100","priorityFeePerGas":"0x0"}` {
		t.Errorf("%s, %v", got, err)
	}
	if next.asked[0] != want {
		t.Errorf("asked\n%s, want\n%s", next.asked[0], want)
	}
	// A creation has no recipient, which is told by a flag.
	next.asked = nil
	if _, err := newNode(t, next, Config{Stack: Arbitrum}).Call(t.Context(), Method, []byte(`[{"input":"0xfe"},"0x5"]`)); err != nil ||
		!strings.HasPrefix(next.asked[0], `eth_call [{"to":"0x00000000000000000000000000000000000000c8","input":"0xc94e6eeb`+word(0)[2:]+word(1)[2:]) || !strings.HasSuffix(next.asked[0], `},"0x5"]`) {
		t.Errorf("%v, asked %q", err, next.asked)
	}
	for name, c := range map[string]struct {
		params, answer string
		code           nodegate.Code
		msg            string
	}{
		"short":      {`[{}]`, words(1, 1, 1), nodegate.Internal, "internal error"},
		"none":       {`[{}]`, "0x", nodegate.Internal, "internal error"},
		"zero gas":   {`[{}]`, words(0, 0, 7, 7), nodegate.Internal, "internal error"},
		"endless":    {`[{}]`, "0x" + strings.Repeat("f", 64) + words(1, 1, 1)[2:], nodegate.Internal, "internal error"},
		"overridden": {`[{},"latest",{"` + sender + `":{"balance":"0x1"}}]`, words(1, 1, 1, 1), nodegate.InvalidParams, "invalid argument 2: arbitrum estimates without state overrides"},
		"poor":       {`[{"from":"` + sender + `"}]`, words(1e10, 1, 1e10, 1), nodegate.ExecutionFailed, "transaction up-front cost 0x56bc75e2d63100000 exceeds"},
	} {
		next := chainScript(map[string]any{"eth_call": `"` + c.answer + `"`})
		_, err := newNode(t, next, Config{Stack: Arbitrum, Remote: true}).Call(t.Context(), Method, []byte(c.params))
		t.Run(name, func(t *testing.T) { wantError(t, err, c.code, c.msg) })
	}
}

// The samples are two providers', as their documentation has them.
func TestZkSyncEstimate(t *testing.T) {
	sample := func(gas, fee, tip, pubdata string) string {
		return `{"gas_limit":"` + gas + `","max_fee_per_gas":"` + fee + `","max_priority_fee_per_gas":"` + tip + `","gas_per_pubdata_limit":"` + pubdata + `"}`
	}
	for _, s := range [][4]string{{"0x1ea9a9", "0x17d7840", "0x0", "0x5340"}, {"0x20941", "0x2b275d0", "0x0", "0x10"}} {
		next := chainScript(map[string]any{"zks_estimateFee": sample(s[0], s[1], s[2], s[3])})
		got, err := newNode(t, next, Config{Stack: ZkSync, Remote: true}).Call(t.Context(), Method, []byte(`[`+transfer+`]`))
		if want := `{"gasLimit":"` + s[0] + `","baseFeePerGas":"` + s[1] + `","priorityFeePerGas":"` + s[2] + `"}`; err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
		if want := []string{`zks_estimateFee [` + transfer + `]`, `eth_getBalance ["` + sender + `","latest"]`}; !slices.Equal(next.asked, want) {
			t.Errorf("asked %q", next.asked)
		}
	}
	overrides := `{"` + sender + `":{"balance":"0xffffffffffffffff"}}`
	next := chainScript(map[string]any{"zks_estimateFee": sample("0x1", "0x1", "0x0", "0x1")})
	if _, err := newNode(t, next, Config{Stack: ZkSync}).Call(t.Context(), Method, []byte(`[{},"pending",`+overrides+`]`)); err != nil || next.asked[0] != `zks_estimateFee [{},`+overrides+`]` {
		t.Errorf("%v, asked %q", err, next.asked)
	}
	for _, answer := range []string{`null`, `{}`, `"0x1"`, sample("0x0", "0x1", "0x0", "0x1"), sample("0xffffffffffffffffff", "0x1", "0x0", "0x1"), sample("0x1", "1", "0x0", "0x1"), `{"gas_limit":"0x1","max_fee_per_gas":"0x1"}`} {
		_, err := newNode(t, chainScript(map[string]any{"zks_estimateFee": answer}), Config{Stack: ZkSync}).Call(t.Context(), Method, []byte(`[{}]`))
		wantError(t, err, nodegate.Internal, "internal error")
	}
}

// The samples are Linea's own, MetaMask's and QuickNode's.
func TestLineaEstimate(t *testing.T) {
	for _, s := range [][3]string{{"0xcf08", "0x7", "0x43a82a4"}, {"0x5208", "0x7", "0x9c670ff"}, {"0xd221", "0x7", "0x245fe65"}} {
		want := `{"gasLimit":"` + s[0] + `","baseFeePerGas":"` + s[1] + `","priorityFeePerGas":"` + s[2] + `"}`
		theirs := `{"baseFeePerGas":"` + s[1] + `","gasLimit":"` + s[0] + `","priorityFeePerGas":"` + s[2] + `","more":1}`
		next := &script{answers: map[string]any{"linea_estimateGas": theirs}}
		got, err := newNode(t, next, Config{Remote: true}).Call(t.Context(), Method, []byte(`[`+transfer+`]`))
		if err != nil || string(got) != want || !slices.Equal(next.asked, []string{`linea_estimateGas [` + transfer + `]`}) {
			t.Errorf("%s, %v, asked %q", got, err, next.asked)
		}
	}
	for _, answer := range []string{`null`, `{}`, `[]`, `{"gasLimit":"0x0","baseFeePerGas":"0x7","priorityFeePerGas":"0x1"}`, `{"gasLimit":"0x1","baseFeePerGas":7,"priorityFeePerGas":"0x1"}`} {
		_, err := newNode(t, &script{answers: map[string]any{"linea_estimateGas": answer}}, Config{Remote: true}).Call(t.Context(), Method, []byte(`[{}]`))
		wantError(t, err, nodegate.Internal, "internal error")
	}
	// The network's own errors come back as they are.
	fault := &nodegate.Error{Code: nodegate.NodeFault, Number: -32000, Msg: "Transaction line count for module HUB=216 is above the limit 52"}
	if _, err := newNode(t, &script{answers: map[string]any{"linea_estimateGas": fault}}, Config{Remote: true}).Call(t.Context(), Method, []byte(`[{}]`)); err != error(fault) {
		t.Errorf("%v", err)
	}
}

// TestLineaAsks holds what is forwarded: overrides where the network takes them, and
// plenty for a sender that nobody named.
func TestLineaAsks(t *testing.T) {
	for params, want := range map[string]string{
		`[` + transfer + `,"latest",{"` + sender + `":{"balance":"0x1"}}]`: `[` + transfer + `,{"` + sender + `":{"balance":"0x1"}}]`,
		`[{}]`: `[{},{"` + nobody + `":{"balance":` + plenty + `}}]`,
		`[{"to":"` + recipient + `"},"pending",{"` + sender + `":{"nonce":"0x1"}}]`: `[{"to":"` + recipient + `"},{"` + nobody + `":{"balance":` + plenty + `},"` + sender + `":{"nonce":"0x1"}}]`,
	} {
		next := &script{answers: map[string]any{"linea_estimateGas": `{"gasLimit":"0x1","baseFeePerGas":"0x7","priorityFeePerGas":"0x1"}`}}
		if _, err := newNode(t, next, Config{Stack: Linea, Remote: true}).Call(t.Context(), Method, []byte(params)); err != nil || next.asked[0] != "linea_estimateGas "+want {
			t.Errorf("%s: %v, asked %q, want %s", params, err, next.asked, want)
		}
	}
}

// TestOnlyNow refuses blocks that the network's own estimate can't take. The head of
// these tests is 12.
func TestOnlyNow(t *testing.T) {
	answers := map[string]any{
		"linea_estimateGas": `{"gasLimit":"0x1","baseFeePerGas":"0x7","priorityFeePerGas":"0x1"}`,
		"zks_estimateFee":   `{"gas_limit":"0x1","max_fee_per_gas":"0x1","max_priority_fee_per_gas":"0x0"}`,
	}
	for _, stack := range []string{Linea, ZkSync} {
		n := newNode(t, &script{answers: answers}, Config{Stack: stack, Remote: true})
		for _, block := range []string{`"latest"`, `"pending"`, `null`, `"0xc"`, `"0xb"`, `"0xa"`, `"0xe"`, `{"blockNumber":"0xc"}`, `{"blockNumber":"latest"}`} {
			if _, err := n.Call(t.Context(), Method, []byte(`[{},`+block+`]`)); err != nil {
				t.Errorf("%s at %s: %v", stack, block, err)
			}
		}
		for _, block := range []string{`"earliest"`, `"safe"`, `"finalized"`, `"0x9"`, `"0x0"`, `"0xf"`, `"0x` + strings.Repeat("1", 64) + `"`, `"0xffffffffffffffff"`} {
			_, err := n.Call(t.Context(), Method, []byte(`[{},`+block+`]`))
			wantError(t, err, nodegate.InvalidParams, "invalid argument 1: "+stack+" estimates for its next block only: use latest, or leave the block out")
		}
	}
}
