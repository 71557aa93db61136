package method_test

import (
	"testing"

	"github.com/nodegate/nodegate/internal/method"
)

func TestOf(t *testing.T) {
	for name, want := range map[string]method.Info{
		"eth_call":                  {Truth: method.OfABlock, Needs: method.State, Block: 1},
		"eth_getStorageAt":          {Truth: method.OfABlock, Needs: method.State, Block: 2},
		"eth_getBlockByNumber":      {Truth: method.OfABlock, Needs: method.History, Block: 0},
		"eth_getTransactionReceipt": {Truth: method.OfItsAnswer, Needs: method.History, Block: method.None},
		"eth_sendRawTransaction":    {Kind: method.Send, Block: method.None},
		"eth_getFilterChanges":      {Kind: method.Sticky, Block: method.None},
		"foo_bar":                   {Kind: method.Other, Block: method.None},
	} {
		if got := method.Of(name); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
