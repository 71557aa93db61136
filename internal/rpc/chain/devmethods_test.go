package chain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// agree compares both paths on everything that was ever mined here, dropped blocks
// and transactions included.
func agree(t testing.TB, n *Node, blocks, txs []common.Hash) {
	t.Helper()
	for _, r := range aboutEverything(n, blocks, txs) {
		if problem, _ := differs(n, r); problem != "" {
			t.Fatal(clip(problem)) // one tells enough
		}
	}
}

// aboutEverything asks for blocks and transactions by what they were once called,
// and for state at each number and tag.
func aboutEverything(n *Node, blocks, txs []common.Hash) (list []request) {
	demo := lower(devchain.DemoAddress())
	refs := []string{`"latest"`, `"safe"`, `"finalized"`}
	for _, h := range blocks {
		refs = append(refs, `"`+h.Hex()+`"`)
		list = append(list, byIndex(h, "0x0"), byIndex(h, "0x7"))
	}
	top, _ := n.Head(context.Background())
	for i := uint64(8); i <= top.Number+2; i++ {
		refs = append(refs, fmt.Sprintf(`"%#x"`, i))
	}
	for _, ref := range refs {
		value := callShape{to: demo, gas: "0xf4240", input: hexutil.Encode(packDemo("value"))}
		list = append(list, request{"eth_getBlockReceipts", "[" + ref + "]"}, request{"eth_getStorageAt", `["` + demo + `","0x0",` + ref + `]`}, proof(devchain.DemoAddress(), `["0x0"]`, ref))
		list = append(list, value.both(ref)...)
	}
	for _, h := range txs {
		list = append(list, request{"eth_getTransactionByHash", `["` + h.Hex() + `"]`}, request{"eth_getTransactionReceipt", `["` + h.Hex() + `"]`})
	}
	return list
}

// history collects what a test mined.
type history struct{ blocks, txs []common.Hash }

// mine sends a transaction, waits for its block and remembers both.
func (h *history) mine(t testing.TB, n *Node, s *sender, v int64) *receipt {
	t.Helper()
	hash := send(t, n, s.setValue(v))
	r := mined(t, n, hash)
	h.txs, h.blocks = append(h.txs, hash), append(h.blocks, r.BlockHash)
	return r
}

func TestMine(t *testing.T) {
	n := openDevnet(t)
	for want := uint64(11); want <= 13; want++ {
		if got := call(t, n, "evm_mine", "[]"); got != `"0x0"` {
			t.Errorf("evm_mine = %s", got)
		}
		if got := head(t, n); got != want {
			t.Errorf("head is %d, want %d", got, want)
		}
	}
	agree(t, n, nil, nil)
}

func TestRevertDropsBlocks(t *testing.T) {
	n := openDevnet(t)
	var h history
	s := newSender(n, 0)
	h.mine(t, n, s, 1)
	snapshot := call(t, n, "evm_snapshot", "[]")
	for v := int64(2); v <= 4; v++ {
		h.mine(t, n, s, v)
	}
	agree(t, n, h.blocks, h.txs) // fills the caches with what is about to go
	if got := call(t, n, "evm_revert", "["+snapshot+"]"); got != "true" {
		t.Fatalf("evm_revert = %s", got)
	}
	if got := head(t, n); got != 11 {
		t.Fatalf("head is %d", got)
	}
	checkDropped(t, n, h.blocks[1:], h.txs[1:])
	agree(t, n, h.blocks, h.txs)

	// The same numbers, other blocks.
	s.nonce -= 3
	for v := int64(20); v <= 24; v++ {
		h.mine(t, n, s, v)
		agree(t, n, h.blocks, h.txs)
	}
	checkDropped(t, n, h.blocks[1:4], h.txs[1:4])
	if got := call(t, n, "eth_getStorageAt", `["`+lower(devchain.DemoAddress())+`","0x0","0xc"]`); got != fmt.Sprintf(`"0x%064x"`, 20) {
		t.Errorf("block 12 is %s, not the new one", got)
	}
}

// checkDropped sees that reverted transactions and blocks are as if they had never been.
func checkDropped(t testing.TB, n *Node, blocks, txs []common.Hash) {
	t.Helper()
	for _, h := range txs {
		for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt"} {
			if got := call(t, n, method, `["`+h.Hex()+`"]`); got != "null" {
				t.Errorf("%s of a dropped transaction: %s", method, got)
			}
		}
	}
	for _, h := range blocks {
		if got := call(t, n, "eth_getTransactionByBlockHashAndIndex", `["`+h.Hex()+`","0x0"]`); got != "null" {
			t.Errorf("a transaction in a dropped block: %s", got)
		}
		if got := call(t, n, "eth_getBlockReceipts", `["`+h.Hex()+`"]`); got != "null" {
			t.Errorf("receipts of a dropped block: %s", clip(got))
		}
		_, err := n.Call(t.Context(), "eth_getStorageAt", []byte(`["`+lower(devchain.DemoAddress())+`","0x0","`+h.Hex()+`"]`))
		if err == nil {
			t.Error("a dropped block still has a state")
		}
	}
}

// A transaction that was dropped may be mined again, elsewhere.
func TestRevertAndMineAgain(t *testing.T) {
	n := openDevnet(t)
	var h history
	s := newSender(n, 0)
	snapshot := call(t, n, "evm_snapshot", "[]")
	tx := s.setValue(1)
	send(t, n, tx)
	before := mined(t, n, tx.Hash())
	call(t, n, "evm_revert", "["+snapshot+"]")
	call(t, n, "evm_mine", "[]")
	send(t, n, tx)
	after := mined(t, n, tx.Hash())
	if after.BlockNumber != 12 || after.BlockHash == before.BlockHash {
		t.Errorf("it is in block %d %s", after.BlockNumber, after.BlockHash)
	}
	h.txs, h.blocks = []common.Hash{tx.Hash()}, []common.Hash{before.BlockHash, after.BlockHash}
	agree(t, n, h.blocks, h.txs)
}

func TestSnapshotIDs(t *testing.T) {
	n := openDevnet(t)
	for i := 1; i <= 3; i++ {
		if got := call(t, n, "evm_snapshot", "[]"); got != fmt.Sprintf(`"%#x"`, i) {
			t.Errorf("snapshot %d is %s", i, got)
		}
		call(t, n, "evm_mine", "[]")
	}
	for _, c := range []struct {
		params, want string
		head         uint64
	}{
		{`["0x9"]`, "false", 13},
		{`["0x0"]`, "false", 13},
		{`["0x2"]`, "true", 11},
		{`["0x2"]`, "false", 11}, // it and the later ones are used up
		{`["0x3"]`, "false", 11},
		{`[1]`, "true", 10}, // some tools send a number
		{`["0x1"]`, "false", 10},
	} {
		if got := call(t, n, "evm_revert", c.params); got != c.want || head(t, n) != c.head {
			t.Errorf("evm_revert %s = %s, head %d; want %s, %d", c.params, got, head(t, n), c.want, c.head)
		}
	}
	if got := call(t, n, "evm_snapshot", "[]"); got != `"0x1"` {
		t.Errorf("the next snapshot is %s", got)
	}
}

func TestDevMethodErrors(t *testing.T) {
	n := openDevnet(t)
	for _, c := range []struct {
		method, params string
		code           nodegate.Code
	}{
		{"evm_revert", "[]", nodegate.InvalidParams},
		{"evm_revert", "", nodegate.InvalidParams},
		{"evm_revert", "{}", nodegate.InvalidParams},
		{"evm_revert", `["x"]`, nodegate.InvalidParams},
		{"evm_revert", `[null]`, nodegate.InvalidParams},
		{"evm_revert", `[-1]`, nodegate.InvalidParams},
		{"evm_revert", `["0x1","0x1"]`, nodegate.InvalidParams},
		{"evm_increaseTime", "[]", nodegate.InvalidParams},
		{"evm_setNextBlockTimestamp", "[1]", nodegate.InvalidParams},
		{"evm_setTime", `["0xffffffffff"]`, nodegate.InvalidParams},
		{"evm_mine", `[{"blocks":10001}]`, nodegate.InvalidParams},
		{"hardhat_mine", `["0x2711"]`, nodegate.InvalidParams},
		{"evm_setIntervalMining", `[1]`, nodegate.InvalidParams},
		{"evm_setBlockGasLimit", `[1]`, nodegate.InvalidParams},
		{"evm_setAutomine", `["on"]`, nodegate.InvalidParams},
		{"hardhat_setBalance", `["0x1","0x1"]`, nodegate.InvalidParams},
		{"hardhat_setBalance", `["` + stranger + `",-1]`, nodegate.InvalidParams},
		{"hardhat_setBalance", `["` + stranger + `"]`, nodegate.InvalidParams},
		{"hardhat_setNonce", `["` + lower(devchain.Deployer().Address) + `","0x0"]`, nodegate.InvalidParams},
		{"hardhat_setStorageAt", `["` + stranger + `","0x0","0x01"]`, nodegate.InvalidParams},
		{"hardhat_setStorageAt", `["` + stranger + `","0x0","0x` + strings.Repeat("00", 32) + `"]`, nodegate.ExecutionFailed},
		{"hardhat_setNextBlockBaseFeePerGas", `["0x1` + strings.Repeat("00", 16) + `"]`, nodegate.InvalidParams},
		{"hardhat_reset", `[{"forking":{"jsonRpcUrl":"http://localhost"}}]`, nodegate.InvalidParams},
		{"eth_sendTransaction", `[{"to":"` + stranger + `"}]`, nodegate.InvalidParams},
		{"eth_sendTransaction", `[{"from":"` + stranger + `"}]`, nodegate.ExecutionFailed},
		{"evm_increaseTime", `["0xffffffffffffffff"]`, nodegate.ExecutionFailed},
		{"evm_nope", "[]", nodegate.MethodNotFound},
	} {
		_, err := n.Call(t.Context(), c.method, []byte(c.params))
		wantCode(t, err, c.code)
	}
	if got := head(t, n); got != 10 {
		t.Errorf("head is %d after refused calls", got)
	}
}

// Going back behind a block that had become final leaves the tags in order and
// never below the blocks of the import.
func TestRevertBelowFinalized(t *testing.T) {
	n := openDevnet(t)
	snapshot := call(t, n, "evm_snapshot", "[]")
	at := mineThrough(t, n, tagsOf(t, n), 25)
	if at.finalized != 32 {
		t.Fatalf("finalized is %d", at.finalized)
	}
	call(t, n, "evm_revert", "["+snapshot+"]")
	for range 2 {
		now := tagsOf(t, n)
		now.check(t, tags{10, 10, 10})
		call(t, n, "evm_mine", "[]")
	}
	agree(t, n, nil, nil)
}

// A revert is as durable as a block.
func TestRevertSurvivesRestart(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	var h history
	s := newSender(n, 0)
	snapshot := call(t, n, "evm_snapshot", "[]")
	h.mine(t, n, s, 1)
	call(t, n, "evm_revert", "["+snapshot+"]")
	closeNode(t, n)
	n = openTemp(t, cfg)
	if got := head(t, n); got != 10 {
		t.Errorf("head is %d", got)
	}
	checkDropped(t, n, h.blocks, h.txs)
	s.nonce--
	h.mine(t, n, s, 2)
	agree(t, n, h.blocks, h.txs)
}

// The pool of an embedded chain is empty after a revert: what waited there was
// signed for a history that is gone.
func TestRevertEmptiesPool(t *testing.T) {
	n := openDevnet(t)
	snapshot := call(t, n, "evm_snapshot", "[]")
	s := newSender(n, 0)
	s.nonce++
	waiting := send(t, n, s.setValue(1))
	call(t, n, "evm_mine", "[]")
	call(t, n, "evm_revert", "["+snapshot+"]")
	if got := call(t, n, "eth_getTransactionByHash", `["`+waiting.Hex()+`"]`); got != "null" {
		t.Errorf("still waiting: %s", got)
	}
}

// Readers run while blocks come and go. Each answer must be well formed while that
// lasts, and once it is quiet both paths must agree again.
func TestReadersDuringReorgs(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	var h history
	var mu sync.Mutex
	var stop atomic.Bool
	var readers sync.WaitGroup
	for i := range 4 {
		readers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 1))
			for !stop.Load() && !t.Failed() {
				mu.Lock()
				blocks, txs := h.blocks, h.txs
				mu.Unlock()
				readSome(t, n, random, blocks, txs)
			}
		})
	}
	func() {
		defer readers.Wait() // also when mining fails the test
		defer stop.Store(true)
		churn(t, n, &h, &mu, 2*time.Second)
	}()
	agree(t, n, h.blocks, h.txs)
}

// TestLookupsWhileRewinding: a transaction whose block is taken back at this moment is there
// or not. go-ethereum's API crashes where the block goes between two of its reads.
func TestLookupsWhileRewinding(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	var tx atomic.Pointer[common.Hash]
	tx.Store(new(common.Hash))
	var stop atomic.Bool
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for !stop.Load() {
				if result, err := n.ask(t.Context(), "eth_getTransactionByHash", fmt.Appendf(nil, `["%s"]`, tx.Load())); err != nil {
					t.Errorf("%s, %v", result, nodegate.AsError(err).Unwrap())
					return
				}
			}
		})
	}
	defer readers.Wait()
	defer stop.Store(true)
	for i := 0; i < 40 && !t.Failed(); i++ {
		snapshot := call(t, n, "evm_snapshot", "[]")
		hash := send(t, n, newSender(n, 0).setValue(1))
		mined(t, n, hash)
		tx.Store(&hash)
		call(t, n, "evm_revert", "["+snapshot+"]")
	}
}

// churn mines and reverts until the time is up.
func churn(t *testing.T, n *Node, h *history, mu *sync.Mutex, limit time.Duration) {
	for start := time.Now(); time.Since(start) < limit; {
		snapshot := call(t, n, "evm_snapshot", "[]")
		s := newSender(n, 0)
		for v := range int64(3) {
			hash := send(t, n, s.setValue(v))
			r := mined(t, n, hash)
			mu.Lock()
			h.txs, h.blocks = append(h.txs[:len(h.txs):len(h.txs)], hash), append(h.blocks[:len(h.blocks):len(h.blocks)], r.BlockHash)
			mu.Unlock()
		}
		if rand.IntN(3) > 0 {
			call(t, n, "evm_revert", "["+snapshot+"]")
		}
	}
}

// readSome asks for a few things that may be disappearing. Errors of the node's own
// kind are fine then; anything internal is not.
func readSome(t *testing.T, n *Node, random *rand.Rand, blocks, txs []common.Hash) {
	list := aboutEverything(n, last(blocks, 6), last(txs, 6))
	for range 20 {
		r := list[random.IntN(len(list))]
		result, err := n.Call(context.Background(), r.method, []byte(r.params))
		o := outcomeOf(result, err)
		if err != nil && o.code != nodegate.ExecutionFailed {
			t.Errorf("%s: %s", r, o)
		}
	}
}

func last[T any](list []T, n int) []T { return list[max(0, len(list)-n):] }
