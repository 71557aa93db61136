package chain

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"

	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
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

// TestSentBeforeMining: a transaction that was accepted is shown as pending and is in the next
// block that a tool mines, even if go-ethereum's pool hasn't moved it to its pending ones. It
// does that later, on its own time, and forgets it if it is reset meanwhile.
func TestSentBeforeMining(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "evm_setAutomine", "[false]")
	held := make(chan core.NewTxsEvent) // the pool can't go on before somebody reads
	sub := n.engine.eth.TxPool().SubscribeTransactions(held, false)
	defer sub.Unsubscribe()
	a := newSender(n, 0)
	hashes := []common.Hash{send(t, n, a.setValue(1)), send(t, n, a.setValue(2)), send(t, n, a.setValue(3))}
	if got := callInto[[]json.RawMessage](t, n, "eth_pendingTransactions", "[]"); len(got) != len(hashes) {
		t.Errorf("%d transactions are shown", len(got))
	}
	time.AfterFunc(50*time.Millisecond, sub.Unsubscribe) // mining asks the pool for a reset first
	call(t, n, "evm_mine", "[]")
	for _, hash := range hashes {
		if got := call(t, n, "eth_getTransactionReceipt", `["`+hash.Hex()+`"]`); got == "null" {
			t.Errorf("%s is not in the block", hash)
		}
	}
}

// TestLargePoolTakesASeat: to show many transactions takes a seat in the heavy lane, as every
// call does that takes long.
func TestLargePoolTakesASeat(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "evm_setAutomine", "[false]")
	a := newSender(n, 0)
	for range fewPending + 1 {
		send(t, n, a.setValue(1))
	}
	if got := callInto[[]json.RawMessage](t, n, "eth_pendingTransactions", "[]"); len(got) != fewPending+1 {
		t.Errorf("%d transactions are shown", len(got))
	}
	for range lane.Seats() { // all of them
		leave, err := n.lanes.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer leave()
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if result, err := n.Call(ctx, "eth_pendingTransactions", []byte("[]")); err == nil {
		t.Errorf("without a seat: %.100s", result)
	}
}

// TestWaitingIsReadOnce: a look-up goes through all transactions that wait, so that none is
// read again for it.
func TestWaitingIsReadOnce(t *testing.T) {
	n := openDevnet(t)
	call(t, n, "hardhat_setBalance", `["`+stranger+`","0xde0b6b3a7640000"]`)
	call(t, n, "hardhat_impersonateAccount", `["`+stranger+`"]`)
	call(t, n, "evm_setAutomine", "[false]")
	call(t, n, "eth_sendTransaction", `[{"from":"`+stranger+`","to":"`+stranger+`"}]`)
	w := n.engine.producer.settings.Load().clone().Waiting[0]
	if first, second := w.tx(), w.tx(); first == nil || first != second {
		t.Errorf("%p and %p", first, second)
	}
}
