package form_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// transfers is a block of n token transfers, with one log each and every fourth with three.
func transfers(t fataler, w *form.Writer, n int) *rows {
	_, blocks := generated(t)
	r := &rows{block: form.Block{Header: encode(t, blocks[len(blocks)-1].Header())}}
	head, ok := w.Head(r.block.Header)
	if !ok {
		t.Fatal("the header can't be read")
	}
	r.block.Head, r.block.Withdrawals = &head, encode(t, blocks[len(blocks)-1].Withdrawals())
	key, _ := crypto.ToECDSA(crypto.Keccak256([]byte("somebody")))
	gas, logs := uint64(0), uint64(0)
	for i := range n {
		to := common.BytesToAddress(crypto.Keccak256([]byte{byte(i % 7)}))
		tx := types.MustSignNewTx(key, types.LatestSignerForChainID(big.NewInt(1)), &types.DynamicFeeTx{
			ChainID: big.NewInt(1), Nonce: uint64(i), GasTipCap: big.NewInt(1e9), GasFeeCap: big.NewInt(30e9), Gas: 65_000, To: &to, Value: new(big.Int),
			Data: append(common.FromHex("0xa9059cbb"), make([]byte, 64)...),
		})
		gas += 50_000
		receipt := &types.Receipt{Type: tx.Type(), Status: 1, CumulativeGasUsed: gas}
		for j := range 1 + i%4/3*2 {
			topics := []common.Hash{common.Hash(crypto.Keccak256([]byte("Transfer"))), {31: byte(i), 30: byte(j)}, {31: byte(i), 29: 1}}
			receipt.Logs = append(receipt.Logs, &types.Log{Address: to, Topics: topics, Data: make([]byte, 32)})
		}
		receipt.Bloom = types.CreateBloom(receipt)
		row, sum, ok := w.Slim(nil, binary(t, receipt))
		if !ok {
			t.Fatal("a receipt has no row")
		}
		r.txs = append(r.txs, &form.Tx{Index: uint64(i), Raw: binary(t, tx), From: crypto.PubkeyToAddress(key.PublicKey)})
		r.receipts = append(r.receipts, &form.Receipt{Row: row, GasUsed: 50_000, FirstLog: logs})
		logs += sum.Logs
	}
	return r
}

// TestAllocations checks that nothing is allocated where there is room, and only the answer
// where there is none.
func TestAllocations(t *testing.T) {
	if raced {
		t.Skip("allocations can't be counted under the race detector")
	}
	w := form.New()
	r := transfers(t, w, 8)
	head, all, txs := r.block.Head, r.both(), r.transactions()
	raw, _ := w.Consensus(nil, 2, r.receipts[3].Row)
	room := make([]byte, 0, 1<<20)
	for name, write := range map[string]func(dst []byte) bool{
		"transaction": func(dst []byte) bool { _, ok := w.Transaction(dst, head, r.txs[0]); return ok },
		"receipt":     func(dst []byte) bool { _, ok := w.Receipt(dst, head, r.txs[3], r.receipts[3]); return ok },
		"header":      func(dst []byte) bool { _, ok := w.Header(dst, head, r.block.Header, nil); return ok },
	} {
		if n := testing.AllocsPerRun(100, func() { mustWrite(t, write(room)) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
		if n := testing.AllocsPerRun(100, func() { mustWrite(t, write(nil)) }); n > 1 {
			t.Errorf("%s without room: %v allocations", name, n)
		}
	}
	for name, write := range map[string]func(dst []byte) bool{
		"block":           func(dst []byte) bool { _, ok := w.Block(dst, &r.block, true, txs); return ok },
		"block of hashes": func(dst []byte) bool { _, ok := w.Block(dst, &r.block, false, txs); return ok },
		"receipts":        func(dst []byte) bool { _, ok := w.Receipts(dst, head, all); return ok },
		"head":            func([]byte) bool { _, ok := w.Head(r.block.Header); return ok },
		"row":             func(dst []byte) bool { _, _, ok := w.Slim(dst, raw); return ok },
		"consensus":       func(dst []byte) bool { _, ok := w.Consensus(dst, 2, r.receipts[3].Row); return ok },
	} {
		if n := testing.AllocsPerRun(100, func() { mustWrite(t, write(room)) }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func mustWrite(t *testing.T, ok bool) {
	if !ok {
		t.Fatal("nothing was written")
	}
}

func BenchmarkTransaction(b *testing.B) {
	w := form.New()
	r := transfers(b, w, 1)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = w.Transaction(dst[:0], r.block.Head, r.txs[0])
	}
}

// BenchmarkTransactionByTypes is what BenchmarkTransaction replaces: go-ethereum's types and
// encoding/json.
func BenchmarkTransactionByTypes(b *testing.B) {
	r, p := transfers(b, form.New(), 1), fuzzPlace()
	b.ReportAllocs()
	for b.Loop() {
		tx := new(types.Transaction)
		if err := tx.UnmarshalBinary(r.txs[0].Raw); err != nil {
			b.Fatal(err)
		}
		_ = wantTransaction(b, p, tx)
	}
}

func BenchmarkReceipt(b *testing.B) {
	w := form.New()
	r := transfers(b, w, 4)
	for i, logs := range map[int]int{0: 1, 3: 3} {
		b.Run(fmt.Sprintf("logs=%d", logs), func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = w.Receipt(dst[:0], r.block.Head, r.txs[i], r.receipts[i])
			}
		})
	}
}

func BenchmarkBlock(b *testing.B) {
	w := form.New()
	r := transfers(b, w, 200)
	for _, full := range []bool{false, true} {
		b.Run(fmt.Sprintf("full=%v", full), func(b *testing.B) {
			var dst []byte
			b.ReportAllocs()
			for b.Loop() {
				dst, _ = w.Block(dst[:0], &r.block, full, r.transactions())
			}
			b.SetBytes(int64(len(dst)))
		})
	}
}

func BenchmarkReceipts(b *testing.B) {
	w := form.New()
	r := transfers(b, w, 200)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = w.Receipts(dst[:0], r.block.Head, r.both())
	}
	b.SetBytes(int64(len(dst)))
	if !json.Valid(dst) {
		b.Fatal("no JSON")
	}
}

func BenchmarkHeader(b *testing.B) {
	w := form.New()
	r := transfers(b, w, 1)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = w.Header(dst[:0], r.block.Head, r.block.Header, nil)
	}
}

func BenchmarkSlim(b *testing.B) {
	w := form.New()
	r := transfers(b, w, 4)
	raw, _ := w.Consensus(nil, 2, r.receipts[3].Row)
	var dst []byte
	b.ReportAllocs()
	for b.Loop() {
		dst, _, _ = w.Slim(dst[:0], raw)
	}
}
