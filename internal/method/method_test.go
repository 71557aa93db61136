package method_test

import (
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]method.Info{
		"eth_call":                  {Truth: method.OfABlock, Needs: method.State, Block: 1, Contracts: method.CallObject},
		"eth_getStorageAt":          {Truth: method.OfABlock, Needs: method.State, Block: 2, Contracts: method.FirstAddress},
		"eth_getBlockByNumber":      {Truth: method.OfABlock, Needs: method.History, Block: 0, Contracts: method.NoContracts},
		"eth_getTransactionReceipt": {Truth: method.OfItsAnswer, Needs: method.History, Block: method.None, Contracts: method.NoContracts},
		"eth_sendRawTransaction":    {Kind: method.Send, Block: method.None, Contracts: method.RawTransaction},
		"eth_getFilterChanges":      {Kind: method.Sticky, Block: method.None, Contracts: method.NoContracts},
		"foo_bar":                   {Kind: method.Other, Block: method.None},
	} {
		if got := method.Of(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
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
