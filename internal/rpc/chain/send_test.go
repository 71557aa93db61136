package chain

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/full"
)

func rawParams(tx *types.Transaction) []byte {
	return []byte(`["` + hexutil.Encode(mustRaw(tx)) + `"]`)
}

// roleSend sends from several accounts at once, two of them with a gap in their nonces,
// and prints each hash that it was answered with.
func roleSend(dir string) {
	n, err := Open(presetConfig(devchain.Devnet(), dir))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	var print sync.Mutex
	for i := range 6 {
		s := newSender(n, i)
		if i >= 4 {
			s.nonce += 1000
			s.nonce += uint64(os.Getpid()%100) * 10
		}
		go func() {
			for v := int64(0); i < 4 || v < 10; v++ {
				tx := s.setValue(v)
				if _, err := n.Call(context.Background(), sendMethod, rawParams(tx)); err != nil {
					fmt.Println(err)
					os.Exit(1)
				}
				print.Lock()
				fmt.Println(tx.Hash().Hex())
				print.Unlock()
			}
		}()
	}
	select {}
}

// isKnown asks for a transaction as a client does.
func isKnown(t testing.TB, n *Node, hash common.Hash) bool {
	t.Helper()
	return call(t, n, "eth_getTransactionByHash", `["`+hash.Hex()+`"]`) != "null"
}

// Whoever got a hash finds the transaction after a kill, mined or waiting.
func TestKilledWhileSending(t *testing.T) {
	full.Slow(t)
	dir := filepath.Join(t.TempDir(), "chain")
	total, unknown := 0, 0
	var all []common.Hash
	for _, count := range []int{1, 30, 150} {
		all = append(all, sendAndKill(t, dir, count)...)
		n, err := Open(presetConfig(devchain.Devnet(), dir))
		mustDo(t, err)
		for _, hash := range all {
			if total++; !isKnown(t, n, hash) {
				unknown++
			}
		}
		closeNode(t, n)
	}
	if unknown > 0 {
		t.Errorf("%d of %d acknowledged transactions are unknown after a kill", unknown, total)
	}
}

func sendAndKill(t *testing.T, dir string, count int) (list []common.Hash) {
	t.Helper()
	cmd := child(t, "send", dir)
	out, err := cmd.StdoutPipe()
	mustDo(t, err)
	mustDo(t, cmd.Start())
	timer := time.AfterFunc(60*time.Second, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	linesOf(out, func(line string) {
		if !strings.HasPrefix(line, "0x") {
			t.Fatalf("the sender said %q", line)
		}
		if list = append(list, common.HexToHash(line)); len(list) >= count {
			_ = cmd.Process.Kill()
		}
	})
	_ = cmd.Wait()
	return list
}

// slowConfig mines nothing by itself.
func slowConfig(dir string) Config {
	cfg := presetConfig(devchain.Devnet(), dir)
	cfg.Period = 3600
	return cfg
}

// A close is no promise that the pool is written: the journal is all there is.
func TestPoolSurvivesRestart(t *testing.T) {
	cfg := slowConfig(filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	s, gap := newSender(n, 0), newSender(n, 1)
	gap.nonce += 3
	replaced := s.setValue(1)
	s.nonce--
	replacement := types.MustSignNewTx(s.account.PrivateKey, types.LatestSignerForChainID(s.chainID), &types.DynamicFeeTx{
		ChainID: s.chainID, Nonce: s.nonce, To: &common.Address{1}, Gas: 21000,
		GasTipCap: big.NewInt(4 * params.GWei), GasFeeCap: big.NewInt(40 * params.GWei),
	})
	s.nonce++
	waits := []*types.Transaction{replaced, replacement, s.setValue(2), gap.setValue(3)}
	for _, tx := range waits {
		send(t, n, tx)
	}
	closeNode(t, n)
	for range 2 {
		n, err = Open(cfg)
		mustDo(t, err)
		for i, tx := range waits {
			if known := isKnown(t, n, tx.Hash()); known != (i != 0) {
				t.Errorf("transaction %d is known: %v", i, known)
			}
		}
		if got := len(n.engine.producer.journal.Hashes()); got != 3 {
			t.Errorf("the journal holds %d transactions", got)
		}
		closeNode(t, n)
	}
	cfg.Period = 0
	n = openTemp(t, cfg)
	mined(t, n, replacement.Hash())
	mined(t, n, waits[2].Hash())
}

// What was refused is not in the journal, and neither is what was mined once it is
// compacted.
func TestJournalHoldsThePool(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	s := newSender(n, 0)
	low := newSender(n, 1)
	low.nonce--
	if _, err := n.Call(t.Context(), sendMethod, rawParams(low.setValue(1))); err == nil {
		t.Fatal("a used nonce was taken")
	}
	j := n.engine.producer.journal
	if got := j.Hashes(); len(got) != 0 {
		t.Errorf("the journal holds %d refused transactions", len(got))
	}
	for v := range int64(5) {
		mined(t, n, send(t, n, s.setValue(v)))
	}
	s.nonce++
	waiting := send(t, n, s.setValue(9))
	p := n.engine.producer
	mustDo(t, p.mu.acquire(nil))
	mustDo(t, errors.Join(p.eth.TxPool().Sync(), p.compact()))
	p.mu.release()
	if got := j.Hashes(); len(got) != 1 || got[0] != waiting {
		t.Errorf("the journal holds %x, want %x alone", got, waiting)
	}
}

// Sending a transaction that is there already is answered with its hash, whether it
// waits or is mined, as a remote network answers it.
func TestSendAgain(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	s := newSender(n, 0)
	tx := s.setValue(1)
	s.nonce++
	gap := s.setValue(2)
	for range 3 {
		for _, tx := range []*types.Transaction{tx, gap} {
			if got := call(t, n, sendMethod, string(rawParams(tx))); got != `"`+tx.Hash().Hex()+`"` {
				t.Errorf("sent again: %s", got)
			}
		}
		mined(t, n, tx.Hash())
	}
	other := newSender(n, 0)
	other.nonce--
	_, err := n.Call(t.Context(), sendMethod, rawParams(other.setValue(7)))
	if e := wantCode(t, err, nodegate.ExecutionFailed); !strings.HasPrefix(e.Msg, nonceTooLow) {
		t.Errorf("another transaction with a used nonce: %v", e)
	}
}

// The pool may hear of a block after a client did. What it says of a used nonce until then is
// not passed on; what it says of a nonce that waits is.
func TestRefusalAsOfHead(t *testing.T) {
	n := openTemp(t, presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain")))
	s := newSender(n, 0)
	used := s.setValue(1)
	mined(t, n, send(t, n, used))
	bc := n.engine.eth.BlockChain()
	late := apiError(errors.New(underpriced))
	if e := wantCode(t, asOfHead(bc, used, late), nodegate.ExecutionFailed); !strings.HasPrefix(e.Msg, nonceTooLow) {
		t.Errorf("a used nonce: %v", e)
	}
	if err := asOfHead(bc, s.setValue(2), late); err != late {
		t.Errorf("a nonce that waits: %v", err)
	}
	other := apiError(errors.New("intrinsic gas too low"))
	if err := asOfHead(bc, used, other); err != other {
		t.Errorf("another refusal: %v", err)
	}
}

// A revert forgets what was sent before it, after a restart too.
func TestRevertedTransactionsStayForgotten(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	s := newSender(n, 0)
	kept := send(t, n, s.setValue(1))
	mined(t, n, kept)
	snapshot := call(t, n, "evm_snapshot", "[]")
	forgotten := []common.Hash{send(t, n, s.setValue(2))}
	mined(t, n, forgotten[0])
	s.nonce++
	forgotten = append(forgotten, send(t, n, s.setValue(3)))
	call(t, n, "evm_revert", "["+snapshot+"]")
	after := newSender(n, 1)
	after.nonce++
	waits := send(t, n, after.setValue(4))
	closeNode(t, n)
	n = openTemp(t, cfg)
	if slices.ContainsFunc(forgotten, func(h common.Hash) bool { return isKnown(t, n, h) }) {
		t.Error("a forgotten transaction came back")
	}
	if !isKnown(t, n, kept) || !isKnown(t, n, waits) || head(t, n) != 11 {
		t.Errorf("kept: %v, sent after the revert: %v, head %d", isKnown(t, n, kept), isKnown(t, n, waits), head(t, n))
	}
}

// A transaction that was not mined in time is in the pool, and its sender was told so.
func TestSendSyncIsKept(t *testing.T) {
	cfg := slowConfig(filepath.Join(t.TempDir(), "chain"))
	n, err := Open(cfg)
	mustDo(t, err)
	tx := newSender(n, 0).setValue(1)
	raw := rawParams(tx)
	raw = append(raw[:len(raw)-1], ",50]"...)
	if _, err := n.Call(t.Context(), syncMethod, raw); err == nil || !strings.Contains(err.Error(), "was added to the transaction pool") {
		t.Fatalf("it was mined: %v", err)
	}
	closeNode(t, n)
	if n = openTemp(t, cfg); !isKnown(t, n, tx.Hash()) {
		t.Error("it is unknown after a restart")
	}
}

// Below the reserve nothing is begun: no transaction, no block, no revert. Reading goes
// on, and writing too when there is space again.
func TestFullDisk(t *testing.T) {
	cfg := presetConfig(devchain.Devnet(), filepath.Join(t.TempDir(), "chain"))
	n := openTemp(t, cfg)
	s := newSender(n, 0)
	snapshot := call(t, n, "evm_snapshot", "[]")
	mined(t, n, send(t, n, s.setValue(1)))
	p := n.engine.producer
	mustDo(t, p.mu.acquire(nil))
	p.room.disk = disk.NewGuard(cfg.Dir, 1<<60)
	p.mu.release()
	for _, r := range []request{{sendMethod, string(rawParams(s.setValue(2)))}, {syncMethod, string(rawParams(s.setValue(3)))}, {"evm_mine", "[]"}, {"evm_revert", "[" + snapshot + "]"}, {"evm_increaseTime", "[5]"}} {
		_, err := n.Call(t.Context(), r.method, []byte(r.params))
		if e := wantCode(t, err, nodegate.InsufficientStorage); !strings.HasPrefix(e.Msg, "disk full") {
			t.Errorf("%s: %q", r.method, e.Msg)
		}
	}
	if head(t, n) != 11 {
		t.Errorf("the head is %d", head(t, n))
	}
	checkNine(t, n)
	if err := n.Ready(); err != nil {
		t.Errorf("ready: %v", err)
	}
	p.room.disk = nil
	s = newSender(n, 0)
	mined(t, n, send(t, n, s.setValue(2)))
}

// TestPlainHex: the fast way reads what the plain one reads, or leaves it to that.
func TestPlainHex(t *testing.T) {
	for _, text := range []string{
		`["0x02f8"]`, `["0x"]`, `["0xABcd"]`, `["0x0"]`, `["0xzz"]`, `["0x02","0x03"]`, `["0x02", "latest"]`, `[ "0x02" ]`,
		`["\u0030x02"]`, `["02"]`, `[]`, `["0x`, `"]`, `["0x"`, `[null]`, `["0X02"]`, ``, `["0x02"]]`, `[["0x02"]]`,
	} {
		fast, plain := plainHex([]byte(text)), firstHex([]byte(text))
		if fast != nil && !bytes.Equal(fast, plain) {
			t.Errorf("%s: %x, want %x", text, fast, plain)
		}
	}
	if plainHex([]byte(`["0x02f8"]`)) == nil {
		t.Error("the usual form is not read the fast way")
	}
}

// TestNoTransaction: bytes that are no transaction get the error that go-ethereum's server
// gives, without it.
func TestNoTransaction(t *testing.T) {
	n := shared(t, sharedDevnet)
	valid := hexutil.Encode(mustRaw(types.MustSignNewTx(devchain.Accounts()[0].PrivateKey, types.LatestSigner(devchain.Devnet().Genesis().Config), &types.DynamicFeeTx{
		ChainID: devchain.Devnet().Genesis().Config.ChainID, Gas: 21000, GasFeeCap: big.NewInt(1), To: &common.Address{1},
	})))
	list := []string{"0x", "0x00", "0x02", "0x05c0", "0x7fc0", "0xc0", "0x02f9" + strings.Repeat("ab", 60000), "0xf9ffff" + strings.Repeat("00", 100), valid + "00", "0x03f8" + valid[6:]}
	for i := 2; i < len(valid); i += 14 {
		list = append(list, valid[:i])
	}
	for _, raw := range list {
		params := []byte(`["` + raw + `"]`)
		for _, name := range []string{"eth_sendRawTransaction", "eth_sendRawTransactionSync"} {
			_, got := n.Call(t.Context(), name, params)
			_, want := n.ask(t.Context(), name, params)
			if g, w := nodegate.AsError(got), nodegate.AsError(want); got == nil || want == nil || g.Code != w.Code || g.Msg != w.Msg || !bytes.Equal(g.Data, w.Data) {
				t.Errorf("%s of %.40s: %v, want %v", name, raw, got, want)
			}
		}
		if _, _, err := rawTransaction(params); err == nil {
			t.Errorf("%.40s is left to go-ethereum's server", raw)
		}
	}
}

func mustRaw(tx *types.Transaction) []byte {
	raw, err := tx.MarshalBinary()
	if err != nil {
		panic(err)
	}
	return raw
}
