package chain

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

// openDevnet is a chain of the test's own, in memory.
func openDevnet(t testing.TB) *Node {
	t.Helper()
	return openTemp(t, presetConfig(devchain.Devnet(), ""))
}

func TestMinesOnDemand(t *testing.T) {
	n := openDevnet(t)
	s := newSender(n, 0)
	for i := int64(1); i <= 3; i++ {
		r := mined(t, n, send(t, n, s.setValue(i)))
		if uint64(r.BlockNumber) != 10+uint64(i) || r.Status != 1 {
			t.Errorf("transaction %d: %+v", i, r)
		}
	}
	if got := call(t, n, "eth_getStorageAt", `["`+lower(devchain.DemoAddress())+`","0x0","latest"]`); got != `"`+common.BigToHash(common.Big3).Hex()+`"` {
		t.Errorf("the value is %s", got)
	}
}

// Without a transaction there is no block.
func TestIdleMinesNothing(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	time.Sleep(1200 * time.Millisecond)
	if got := head(t, n); got != 10 {
		t.Errorf("head is %d", got)
	}
}

func TestMinesByPeriod(t *testing.T) {
	full.Slow(t)
	cfg := presetConfig(devchain.Devnet(), "")
	cfg.Period = 2
	n := openTemp(t, cfg)
	first, second := sentBetweenTicks(t, n)
	a, b := mined(t, n, first), mined(t, n, second)
	if a.BlockNumber != b.BlockNumber {
		t.Errorf("both waited for the tick, yet are in blocks %d and %d", a.BlockNumber, b.BlockNumber)
	}
	eventually(t, "an empty block", func() bool { return head(t, n) > uint64(a.BlockNumber)+1 })
}

// sentBetweenTicks sends two transactions after one tick and before the next, and sees that
// they wait. On a busy machine, the next tick may come too soon.
func sentBetweenTicks(t *testing.T, n *Node) (first, second common.Hash) {
	t.Helper()
	s := newSender(n, 0)
	for value := int64(1); ; value += 2 {
		before := head(t, n)
		eventually(t, "a tick", func() bool { return head(t, n) > before })
		tick := head(t, n)
		first, second = send(t, n, s.setValue(value)), send(t, n, s.setValue(value+1))
		r := call(t, n, "eth_getTransactionReceipt", `["`+first.Hex()+`"]`)
		if head(t, n) != tick {
			continue
		}
		if r != "null" {
			t.Errorf("mined before its time: %s", r)
		}
		return first, second
	}
}

// Blocks that are made here look like those of the chain file.
func TestMinedHeaders(t *testing.T) {
	for _, p := range []devchain.Preset{devchain.Devnet(), devchain.Rollup()} {
		n := openTemp(t, presetConfig(p, ""))
		call(t, n, "evm_mine", "[]")
		bc := n.engine.eth.BlockChain()
		parent, made := bc.GetHeaderByNumber(head(t, n)-1), bc.CurrentBlock()
		if string(made.Extra) != string(parent.Extra) || made.GasLimit != parent.GasLimit || made.Coinbase != parent.Coinbase {
			t.Errorf("%s: extra data %x, gas limit %d, fee recipient %s; want %x, %d, %s", p.Name,
				made.Extra, made.GasLimit, made.Coinbase, parent.Extra, parent.GasLimit, parent.Coinbase)
		}
	}
}

// A transaction that has to wait for another is found, with no block, and mined
// when the gap is filled.
func TestPendingTransactions(t *testing.T) {
	n := openDevnet(t)
	s := newSender(n, 1)
	gap := s.setValue(1)
	waiting := send(t, n, s.setValue(2))
	tx := callInto[map[string]json.RawMessage](t, n, "eth_getTransactionByHash", `["`+waiting.Hex()+`"]`)
	for _, field := range []string{"blockHash", "blockNumber", "transactionIndex"} {
		if string(tx[field]) != "null" {
			t.Errorf("%s of a pending transaction is %s", field, tx[field])
		}
	}
	if r := call(t, n, "eth_getTransactionReceipt", `["`+waiting.Hex()+`"]`); r != "null" {
		t.Errorf("its receipt is %s", r)
	}
	send(t, n, gap)
	mined(t, n, gap.Hash())
	r := mined(t, n, waiting)
	tx = callInto[map[string]json.RawMessage](t, n, "eth_getTransactionByHash", `["`+waiting.Hex()+`"]`)
	if string(tx["blockHash"]) != `"`+r.BlockHash.Hex()+`"` {
		t.Errorf("mined in %s, found in %s", r.BlockHash, tx["blockHash"])
	}
}

// Transactions that can't be executed stay out of blocks and don't stop others.
func TestUnexecutableTransactions(t *testing.T) {
	n := openDevnet(t)
	stuck := newSender(n, 2)
	stuck.nonce = 5
	send(t, n, stuck.setValue(1))
	mined(t, n, send(t, n, newSender(n, 3).setValue(2)))
	raw, _ := newSender(n, 4).setValue(1).MarshalBinary()
	for _, bad := range []string{hexutil.Encode(raw[:len(raw)-1]), "0x", "0x00"} {
		if _, err := n.Call(t.Context(), "eth_sendRawTransaction", []byte(`["`+bad+`"]`)); err == nil {
			t.Errorf("%.20s was taken", bad)
		}
	}
}

func TestUnknownTransactions(t *testing.T) {
	unknown := `["0x` + fmt.Sprintf("%064x", 0x1234) + `"]`
	for _, chain := range [][]byte{devchain.Devnet().Chain, nil} { // with blocks, and with a genesis alone
		n := openTemp(t, chainConfig(devchain.Devnet().Genesis(), chain, ""))
		for _, method := range []string{"eth_getTransactionByHash", "eth_getTransactionReceipt"} {
			result, err := n.Call(t.Context(), method, []byte(unknown))
			if err != nil || string(result) != "null" {
				t.Errorf("%d bytes of chain: %s = %s, %v; want null", len(chain), method, result, err)
			}
		}
		if got := call(t, n, "eth_syncing", "[]"); got != "false" {
			t.Errorf("%d bytes of chain: eth_syncing = %s", len(chain), clip(got))
		}
	}
}

// tags are the numbers of the blocks that the tags name.
type tags struct{ latest, safe, finalized uint64 }

func tagsOf(t testing.TB, n *Node) (g tags) {
	t.Helper()
	for tag, at := range map[string]*uint64{"latest": &g.latest, "safe": &g.safe, "finalized": &g.finalized} {
		b := callInto[*struct {
			Number hexutil.Uint64 `json:"number"`
		}](t, n, "eth_getBlockByNumber", `["`+tag+`",false]`)
		if b == nil {
			t.Fatalf("there is no %s block", tag)
		}
		*at = uint64(b.Number)
	}
	return g
}

// check sees that finality didn't go back, and that what is final is also safe.
func (g tags) check(t testing.TB, before tags) {
	t.Helper()
	if g.safe < before.safe || g.finalized < before.finalized {
		t.Errorf("finality went back: %+v, before %+v", g, before)
	}
	if g.finalized > g.safe || g.safe > g.latest {
		t.Errorf("finalized, safe, latest are out of order: %+v", g)
	}
}

func TestFinality(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	at := tagsOf(t, n)
	if at != (tags{10, 10, 10}) {
		t.Errorf("after the import: %+v", at)
	}
	for range 3 {
		at = mineThrough(t, n, at, 9) // past a multiple of 32
		closeNode(t, n)
		n, err = Open(cfg)
		mustDo(t, err)
		now := tagsOf(t, n)
		now.check(t, at)
		at = now
	}
	closeNode(t, n)
}

// mineThrough mines blocks and checks finality at each.
func mineThrough(t *testing.T, n *Node, at tags, blocks int) tags {
	t.Helper()
	for range blocks {
		call(t, n, "evm_mine", "[]")
		now := tagsOf(t, n)
		now.check(t, at)
		if now.latest != at.latest+1 {
			t.Fatalf("the head went from %d to %d", at.latest, now.latest)
		}
		at = now
	}
	return at
}

// The tags exist on a chain that is a genesis alone.
func TestFinalityOfGenesis(t *testing.T) {
	n := openTemp(t, chainConfig(devchain.Devnet().Genesis(), nil, ""))
	at := tagsOf(t, n)
	if at != (tags{}) {
		t.Errorf("%+v", at)
	}
	mineThrough(t, n, at, 3)
}

// Balance and nonce of the sender are those of the blocks it was mined in, after a
// restart too.
func TestMinedBlocksSurviveRestart(t *testing.T) {
	cfg := presetConfig(devchain.Rollup(), filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	s := newSender(n, 0)
	var hashes []common.Hash
	for i := range int64(5) {
		hash := send(t, n, s.setValue(i))
		mined(t, n, hash)
		hashes = append(hashes, hash)
	}
	var before []string
	for _, h := range hashes {
		before = append(before, call(t, n, "eth_getTransactionReceipt", `["`+h.Hex()+`"]`))
	}
	closeNode(t, n)
	n = openTemp(t, cfg)
	for i, h := range hashes {
		if got := call(t, n, "eth_getTransactionReceipt", `["`+h.Hex()+`"]`); got != before[i] {
			t.Errorf("receipt %d was %s and is %s", i, before[i], got)
		}
	}
	if r := mined(t, n, send(t, n, s.setValue(9))); uint64(r.BlockNumber) != head(t, n) {
		t.Errorf("the next transaction is in block %d", r.BlockNumber)
	}
}

// What signs and what is not there has its code.
func TestNoKeysOnTheServer(t *testing.T) {
	n := shared(t, sharedDevnet)
	for _, method := range []string{"eth_sendTransaction", "eth_signTransaction"} {
		_, err := n.Call(t.Context(), method, []byte(`[{"from":"`+lower(devchain.Accounts()[0].Address)+`"}]`))
		if err == nil {
			t.Errorf("%s signed something", method)
		}
	}
	_, err := n.Call(t.Context(), "personal_listAccounts", nil)
	wantCode(t, err, nodegate.MethodNotFound)
}

// Whoever saw a block, by its number or by a receipt, and then awaited, may rely on it:
// it is on disk. go-ethereum shows a block's receipts before it moves its head.
func TestAwaitCoversWhatIsVisible(t *testing.T) {
	full.Slow(t)
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	const blocks = 150
	last := head(t, n) + blocks
	mining := make(chan error, 1)
	go func() {
		for range blocks {
			if _, err := n.engine.producer.seal(); err != nil {
				mining <- err
				return
			}
		}
		mining <- nil
	}()
	bc, p := n.engine.eth.BlockChain(), n.engine.producer
	early := 0
	for number := head(t, n) + 1; number <= last; number++ {
		for bc.GetCanonicalHash(number) == (common.Hash{}) {
			if len(mining) == cap(mining) && bc.CurrentBlock().Number.Uint64() < number {
				t.Fatalf("sealing ended before block %d: %v", number, <-mining)
			}
		}
		if bc.CurrentBlock().Number.Uint64() < number {
			early++
		}
		p.await()
		if on := p.durable.Load(); on.Number.Uint64() < number {
			t.Fatalf("block %d was visible and awaited; on disk is block %d", number, on.Number)
		}
	}
	t.Logf("%d of %d blocks were seen before the head moved", early, blocks)
}

// When the disk fails, nothing that it may have lost is answered or announced, no block
// is made, and the chain says that it can't be served.
func TestFailedFlush(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	if err := n.Ready(); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("input/output error")
	n.engine.producer.broken.Store(&failure)
	if _, err := n.Call(t.Context(), "eth_blockNumber", []byte("[]")); !errors.Is(err, nodegate.NoNode) || !errors.Is(err, failure) {
		t.Errorf("an answer: %v", err)
	}
	if _, err := n.engine.producer.seal(); !errors.Is(err, failure) {
		t.Errorf("a block: %v", err)
	}
	if err := n.Ready(); !errors.Is(err, failure) {
		t.Errorf("ready: %v", err)
	}
	if got := n.engine.eth.BlockChain().CurrentBlock().Number.Uint64(); got != 10 {
		t.Errorf("the head is %d", got)
	}
}

// TestStuckMinesNothing: a transaction that doesn't pay the base fee waits and costs no empty
// blocks, neither by itself nor with each other transaction.
func TestStuckMinesNothing(t *testing.T) {
	full.Slow(t)
	n := openDevnet(t)
	to := common.HexToAddress(anyone)
	stuck := types.MustSignNewTx(devchain.Accounts()[5].PrivateKey, types.LatestSigner(n.engine.eth.BlockChain().Config()), &types.DynamicFeeTx{
		ChainID: n.engine.eth.BlockChain().Config().ChainID, To: &to, Gas: 21_000, GasTipCap: common.Big1, GasFeeCap: common.Big1,
	})
	send(t, n, stuck)
	s := newSender(n, 0)
	for i := int64(1); i <= 3; i++ {
		mined(t, n, send(t, n, s.setValue(i)))
	}
	time.Sleep(1200 * time.Millisecond) // an empty block would come after a second
	if got := head(t, n); got != 13 {
		t.Errorf("head is %d, want 13", got)
	}
	if waiting, _ := n.engine.eth.TxPool().Stats(); waiting != 1 {
		t.Errorf("%d transactions wait", waiting)
	}
}

// TestSizeBound: a chain that is as large as it may be takes no transactions, mines nothing and
// goes on reading; with a higher bound it goes on writing too.
func TestSizeBound(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	cfg.MaxBytes = 1 << 10
	n, err := Open(cfg)
	mustDo(t, err)
	s := newSender(n, 0)
	for _, r := range []request{{sendMethod, string(rawParams(s.setValue(1)))}, {syncMethod, string(rawParams(s.setValue(2)))}, {"evm_mine", "[]"}} {
		_, err := n.Call(t.Context(), r.method, []byte(r.params))
		if e := wantCode(t, err, nodegate.InsufficientStorage); !strings.Contains(e.Msg, "this network is full") || !strings.Contains(e.Msg, "embedded.max_size") {
			t.Errorf("%s: %q", r.method, e.Msg)
		}
	}
	checkNine(t, n)
	closeNode(t, n)
	cfg.MaxBytes = 1 << 30
	n = openTemp(t, cfg)
	mined(t, n, send(t, n, newSender(n, 0).setValue(1)))
}
