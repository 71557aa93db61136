package method_test

import (
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

// rules is what decides about calls of a method.
type rules struct {
	method.Rules
	Block int
}

func TestOf(t *testing.T) {
	for name, want := range map[string]rules{
		"eth_call":                  {method.Rules{Truth: method.OfABlock, Needs: method.State, Contracts: method.CallObject}, 1},
		"eth_getStorageAt":          {method.Rules{Truth: method.OfABlock, Needs: method.State, Contracts: method.FirstAddress}, 2},
		"eth_getBlockByNumber":      {method.Rules{Truth: method.OfABlock, Needs: method.History, Contracts: method.NoContracts}, 0},
		"eth_feeHistory":            {method.Rules{Truth: method.OfABlock, Needs: method.History, Contracts: method.NoContracts}, 1},
		"eth_getTransactionReceipt": {method.Rules{Truth: method.OfItsAnswer, Needs: method.History, Contracts: method.NoContracts}, method.None},
		"eth_sendRawTransaction":    {method.Rules{Kind: method.Send, Contracts: method.RawTransaction}, method.None},
		"eth_getFilterChanges":      {method.Rules{Kind: method.Sticky, Contracts: method.NoContracts}, method.None},
		"debug_getRawBlock":         {method.Rules{Kind: method.Other, Contracts: method.NoContracts}, method.None},
		"foo_bar":                   {method.Rules{Kind: method.Other}, method.None},
	} {
		if got := method.Of(name); (rules{got.Rules, got.Block}) != want {
			t.Errorf("%s: %+v, block %d, want %+v", name, got.Rules, got.Block, want)
		}
	}
}

func TestSet(t *testing.T) {
	all, none := method.SetOf(func(*method.Row) bool { return true }), method.SetOf(func(*method.Row) bool { return false })
	for _, name := range append(method.Names(), "", "eth_calls", strings.Repeat("x", 1000)) {
		if known := method.Of(name).Name != ""; all.Has(name) != known || none.Has(name) {
			t.Errorf("%q is known: %t, in the set: %t, in the empty one: %t", name, known, all.Has(name), none.Has(name))
		}
	}
}

func TestAlias(t *testing.T) {
	for _, c := range []struct{ name, prefix, want string }{
		{"layer2_estimateGas", "linea", "linea_estimateGas"}, {"layer2_estimateGas", "", ""}, {"eth_estimateGas", "linea", ""},
	} {
		if got := method.Of(c.name).Alias(c.prefix); got != c.want {
			t.Errorf("%s under %q is %q, want %q", c.name, c.prefix, got, c.want)
		}
	}
}

// TestRunsCode names the methods whose errors may be what a contract says.
func TestRunsCode(t *testing.T) {
	for name, want := range map[string]bool{
		"eth_call": true, "eth_estimateGas": true, "eth_createAccessList": true, "eth_simulateV1": true, "eth_fillTransaction": true,
		"layer2_estimateGas": true, "eth_sendRawTransaction": true, "eth_sendRawTransactionSync": true, "debug_traceCall": true,
		"debug_traceBlockByNumber": true, "trace_call": true, "trace_block": true, "ots_traceTransaction": true,
		"linea_estimateGas": true, "eth_callMany": true, // without a row
		"eth_getBalance": false, "eth_getProof": false, "eth_getLogs": false, "eth_getBlockByNumber": false, "eth_feeHistory": false,
		"debug_getRawBlock": false, "eth_newFilter": false, "web3_sha3": false,
	} {
		if got := method.Of(name).RunsCode(); got != want {
			t.Errorf("%s runs code: %t, want %t", name, got, want)
		}
	}
}

func TestInTurn(t *testing.T) {
	for _, row := range method.All() {
		changes := row.Kind == method.Send || row.Contracts == method.RawTransaction || row.Action == method.ActSendTransaction || row.Socket
		if method.InTurn(row.Name) != changes {
			t.Errorf("%s waits its turn: %t, want %t", row.Name, !changes, changes)
		}
	}
}

func TestMisspelt(t *testing.T) {
	for name, want := range map[string]string{
		"eth_call": "", "trace_block": "", "arb_getThing": "", "debug_traceBlockFromFile": "",
		"eth_getCod": "eth_getCode", "eth_getcode": "eth_getCode", "eth_chainID": "eth_chainId", "web3_clientversion": "web3_clientVersion",
		"eht_call": "eth_call", "debug_tracecall": "debug_traceCall", "eth_callMany": "", "eth_m0": "",
	} {
		nearest, misspelt := method.Misspelt(name)
		if misspelt != (want != "") || misspelt && nearest != want {
			t.Errorf("%s: %q %v, want %q", name, nearest, misspelt, want)
		}
	}
}
