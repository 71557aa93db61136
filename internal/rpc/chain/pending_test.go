package chain

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// TestPoolIsShown: what waits for a block is shown, whoever sent it, as
// eth_getTransactionByHash shows it.
func TestPoolIsShown(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "hardhat_setBalance", `["`+stranger+`","0xde0b6b3a7640000"]`)
	call(t, n, "hardhat_impersonateAccount", `["`+stranger+`"]`)
	call(t, n, "evm_setAutomine", "[false]")
	if got := call(t, n, "eth_pendingTransactions", "[]"); got != "[]" {
		t.Errorf("an empty pool is %s", got)
	}
	a := newSender(n, 0)
	first, second := send(t, n, a.setValue(1)), send(t, n, a.setValue(2))
	unsigned := callInto[common.Hash](t, n, "eth_sendTransaction", `[{"from":"`+stranger+`","to":"`+stranger+`"}]`)
	want := "["
	for i, hash := range []common.Hash{first, second, unsigned} {
		if i > 0 {
			want += ","
		}
		want += call(t, n, "eth_getTransactionByHash", `["`+hash.Hex()+`"]`)
	}
	if got := call(t, n, "eth_pendingTransactions", "[]"); got != want+"]" {
		t.Errorf("pending: %s\nwant %s]", got, want)
	}
	call(t, n, "evm_mine", "[]")
	mined(t, n, unsigned)
	if got := call(t, n, "eth_pendingTransactions", "[]"); got != "[]" {
		t.Errorf("after a block: %s", got)
	}
}
