package eth

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/internal/rpc/rollup"
)

func layer2Node(d Dialect) *Node {
	cfg := limits(d)
	cfg.Layer2, cfg.Alias = true, "linea"
	return New(layer2(), cfg)
}

type fees struct {
	GasLimit          string `json:"gasLimit"`
	BaseFeePerGas     string `json:"baseFeePerGas"`
	PriorityFeePerGas string `json:"priorityFeePerGas"`
}

func estimate(t *testing.T, node *Node, method, params string) (f fees) {
	t.Helper()
	result := ask(t, node, method, params)
	if err := json.Unmarshal([]byte(result), &f); err != nil {
		t.Fatalf("%v: %s", err, result)
	}
	return f
}

// A plain transfer without a sender's nonce or fees: 51 bytes, priced as 64.
var transferCall = fmt.Sprintf(`{"from":"%s","to":"0x791a479620f2a5cf58bb53d45cd3ec72cfef22fe","value":"0x28f"}`, strings.ToLower(devchain.Accounts()[0].Address.Hex()))

func TestLayer2Transfer(t *testing.T) {
	want := fees{"0x5208", "0x7", "0x25d1eb6"}
	for _, d := range dialects {
		for _, method := range []string{"layer2_estimateGas", "linea_estimateGas"} {
			for _, params := range []string{
				`[` + transferCall + `]`, `[` + transferCall + `,"latest"]`, `[` + transferCall + `,"finalized"]`, `[` + transferCall + `,"pending"]`,
				`[` + transferCall + `,"0x8c"]`, `[` + transferCall + `,null]`, `[` + transferCall + `,null,null]`, `[` + transferCall + `,{}]`, `[` + transferCall + `,"latest",{}]`,
			} {
				if got := estimate(t, layer2Node(d.Dialect), method, params); got != want {
					t.Errorf("%s %s %s: %+v, want %+v", d.name, method, params, got, want)
				}
			}
		}
	}
}

// Every field of the call is optional: an empty one creates an empty contract, which
// takes 53,000 gas and what the search is allowed to be off by.
func TestLayer2Empty(t *testing.T) {
	for _, d := range dialects {
		got := estimate(t, layer2Node(d.Dialect), "layer2_estimateGas", `[{}]`)
		if got.GasLimit != "0xd221" || got.BaseFeePerGas != "0x7" {
			t.Errorf("%s: %+v", d.name, got)
		}
	}
}

// The base fee is that of the block after the one that was asked for. On this chain
// it is 7 wei in each.
func TestLayer2BaseFee(t *testing.T) {
	for _, block := range []string{"earliest", "0x1", "0x50", "0x8c", "latest"} {
		got := estimate(t, layer2Node(Spec), "layer2_estimateGas", `[`+transferCall+`,"`+block+`"]`)
		if got.BaseFeePerGas != "0x7" {
			t.Errorf("after %s: %+v", block, got)
		}
	}
	_, err := layer2Node(Spec).Call(t.Context(), "layer2_estimateGas", []byte(`[`+transferCall+`,"0xffff"]`))
	wantError(t, err, nodegate.ExecutionFailed, "header not found")
}

// On a chain whose base fee moves, it is the next block's, not the block's own.
func TestLayer2NextBaseFee(t *testing.T) {
	fees, err := rollup.New(devnet(), rollup.Config{})
	if err != nil {
		t.Fatal(err)
	}
	cfg := limits(Spec)
	cfg.Layer2 = true
	node := New(fees, cfg)
	for number := range 10 {
		next := members(t, ask(t, devnet(), "eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, number+1)))["baseFeePerGas"]
		got := estimate(t, node, "layer2_estimateGas", fmt.Sprintf(`[%s,"%#x"]`, transferCall, number))
		if `"`+got.BaseFeePerGas+`"` != string(next) {
			t.Errorf("after block %d: %s, want %s", number, got.BaseFeePerGas, next)
		}
	}
}

func TestLayer2RefusesSafe(t *testing.T) {
	for _, d := range dialects {
		for _, method := range []string{"layer2_estimateGas", "linea_estimateGas"} {
			_, err := layer2Node(d.Dialect).Call(t.Context(), method, []byte(`[`+transferCall+`,"safe"]`))
			if d.Dialect == Standard {
				if err != nil {
					t.Errorf("%s: %v", d.name, err)
				}
				continue
			}
			wantError(t, err, nodegate.InvalidParams, "invalid argument 1: the tag safe is not supported by layer2_estimateGas: use finalized")
		}
	}
}

// poor has nothing.
const poor = "0x00000000000000000000000000000000000dead0"

func TestLayer2Balance(t *testing.T) {
	node := layer2Node(Spec)
	to := `"to":"0x791a479620f2a5cf58bb53d45cd3ec72cfef22fe"`
	_, err := node.Call(t.Context(), "layer2_estimateGas", []byte(`[{"from":"`+poor+`",`+to+`}]`))
	wantError(t, err, nodegate.ExecutionFailed, "transaction up-front cost 0x23e38 exceeds transaction sender account balance 0x0 for sender "+poor)
	// Nobody's balance is checked without a sender.
	if got := estimate(t, node, "layer2_estimateGas", `[{`+to+`}]`); got.GasLimit != "0x5208" {
		t.Errorf("%+v", got)
	}
	// An override is believed, as the second parameter and as the third.
	enough := `{"` + poor + `":{"balance":"0x23e38"}}`
	for _, params := range []string{`[{"from":"` + poor + `",` + to + `},` + enough + `]`, `[{"from":"` + poor + `",` + to + `},"latest",` + enough + `]`} {
		if got := estimate(t, node, "layer2_estimateGas", params); got.GasLimit != "0x5208" {
			t.Errorf("%s: %+v", params, got)
		}
	}
	_, err = node.Call(t.Context(), "layer2_estimateGas", []byte(`[{"from":"`+poor+`",`+to+`},{"`+poor+`":{"balance":"0x23e37"}}]`))
	wantError(t, err, nodegate.ExecutionFailed, "transaction up-front cost")
}

func TestLayer2Refused(t *testing.T) {
	for _, c := range []struct{ params, msg string }{
		{`[]`, "missing value for required argument 0"},
		{`[null]`, "missing value for required argument 0"},
		{`[5]`, "invalid argument 0: "},
		{`[{},5]`, "invalid argument 1: "},
		{`[{},"newest"]`, "invalid argument 1: "},
		{`[{},{},{}]`, "too many arguments, want at most 2"},
		{`[{},"latest",{},{}]`, "too many arguments, want at most 3"},
		{`[{},{"x":{}}]`, "invalid argument 1: "},
		{`[{},"latest",{"x":{}}]`, "invalid argument 2: "},
		{`[{},"latest",5]`, "invalid argument 2: "},
		{`[{"gasPrice":"0x1","maxFeePerGas":"0x1"}]`, "invalid argument 0: both gasPrice and"},
		{`[{"blobVersionedHashes":["` + someHash + `"]}]`, "invalid argument 0: blob transactions"},
		{`[{"gas":"0xffffffffffffff"}]`, "invalid argument 0: gas: "},
		{`[{"input":"0x01","data":"0x02"}]`, "invalid argument 0: both"},
	} {
		_, err := layer2Node(Spec).Call(t.Context(), "layer2_estimateGas", []byte(c.params))
		if err == nil {
			t.Errorf("%s was taken", c.params)
			continue
		}
		wantError(t, err, nodegate.InvalidParams, c.msg)
	}
}

// A call that reverts says so as eth_estimateGas does.
func TestLayer2Revert(t *testing.T) {
	demo := strings.ToLower(devchain.DemoAddress().Hex())
	selector := hexutil.Encode(crypto.Keccak256([]byte("failWithReason()"))[:4])
	call := `[{"to":"` + demo + `","input":"` + selector + `"},"latest"]`
	_, want := layer2Node(Spec).Call(t.Context(), "eth_estimateGas", []byte(call))
	_, got := layer2Node(Spec).Call(t.Context(), "layer2_estimateGas", []byte(call))
	w, g := nodegate.AsError(want), nodegate.AsError(got)
	if w.Code != nodegate.Reverted || w.Msg != "execution reverted: demo: always fails" || g.Code != w.Code || g.Msg != w.Msg || string(g.Data) != string(w.Data) {
		t.Errorf("got %v, want %v", got, want)
	}
}
