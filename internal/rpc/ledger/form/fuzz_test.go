package form_test

import (
	"bytes"
	"math/big"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// Each fuzz test compares with go-ethereum's own decoder: what it refuses is refused, and
// what it reads is written as it would be answered. The exceptions are named.

// fuzzPlace is where the transactions of fuzz tests are.
func fuzzPlace() *place {
	return &place{
		hash: common.Hash{1}, number: 0x10, time: 0x65, index: 3, baseFee: big.NewInt(1e9), blobPrice: big.NewInt(1), from: common.Address{5},
	}
}

// seeds are transactions and receipts of every type.
func seeds(f fataler) (txs, receipts [][]byte) {
	_, blocks := generated(f)
	seen := map[byte]int{}
	for _, b := range blocks {
		for _, tx := range b.Transactions() {
			if seen[tx.Type()]++; seen[tx.Type()] > 4 {
				continue
			}
			txs = append(txs, binary(f, tx))
			r := &types.Receipt{Type: tx.Type(), Status: uint64(len(txs) % 2), CumulativeGasUsed: tx.Gas(), Logs: []*types.Log{
				{Address: logger, Topics: []common.Hash{{1}, {2}}, Data: tx.Data()}, {Address: failer, Topics: []common.Hash{}},
			}[:len(txs)%3]}
			if len(txs)%5 == 0 {
				r.PostState = common.Hash{7}.Bytes()
			}
			r.Bloom = types.CreateBloom(r)
			receipts = append(receipts, binary(f, r))
		}
	}
	return txs, receipts
}

// tooLarge tells whether a number of a transaction has more than 256 bits, which
// go-ethereum reads and no block can hold.
func tooLarge(tx *types.Transaction) bool {
	for _, n := range []*big.Int{tx.GasPrice(), tx.GasTipCap(), tx.GasFeeCap(), tx.Value()} {
		if n.BitLen() > 256 {
			return true
		}
	}
	return false
}

func FuzzTransaction(f *testing.F) {
	txs, _ := seeds(f)
	d, _, _ := recordedDeposit(f)
	d.From = fuzzPlace().from
	for _, raw := range append(txs, d.raw(f)) {
		f.Add(raw)
	}
	w := form.New()
	f.Fuzz(func(t *testing.T, raw []byte) { checkTransaction(t, w, raw) })
}

func checkTransaction(t fataler, w *form.Writer, raw []byte) (read bool) {
	t.Helper()
	if len(raw) > 0 && raw[0] == deposit {
		return checkDeposit(t, w, raw)
	}
	p := fuzzPlace()
	got, ok := w.Transaction([]byte(prefix), p.head(), &form.Tx{Index: p.index, Raw: raw, From: p.from})
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil || tooLarge(tx) || tx.BlobTxSidecar() != nil {
		if ok || string(got) != prefix {
			t.Fatalf("%x: written, but go-ethereum says %v: %s", raw, err, got)
		}
		return false
	}
	if want := prefix + wantTransaction(t, p, tx); !ok || string(got) != want {
		t.Fatalf("%x:\ngot  %s (%v)\nwant %s", raw, got, ok, want)
	}
	return true
}

func FuzzHeader(f *testing.F) {
	_, blocks := generated(f)
	for _, b := range blocks {
		f.Add(encode(f, b.Header()))
	}
	amsterdam, slot := blocks[len(blocks)-1].Header(), uint64(1)
	amsterdam.BlockAccessListHash, amsterdam.SlotNumber = &common.Hash{9}, &slot
	f.Add(encode(f, amsterdam))
	amsterdam.RequestsHash = nil
	f.Add(encode(f, amsterdam))
	w := form.New()
	f.Fuzz(func(t *testing.T, raw []byte) { checkHeader(t, w, raw) })
}

func checkHeader(t fataler, w *form.Writer, raw []byte) (read bool) {
	t.Helper()
	head, readable := w.Head(raw)
	got, ok := w.Header([]byte(prefix), &head, raw, nil)
	if ok != readable || !ok && string(got) != prefix {
		t.Fatalf("%x: read: %v, written: %v, %s", raw, readable, ok, got)
	}
	h := new(types.Header)
	if err := rlp.DecodeBytes(raw, h); err != nil {
		if ok && !lacksHash(raw) {
			t.Fatalf("%x: written, but go-ethereum says %v: %s", raw, err, got)
		}
		return false
	}
	if large := h.Number.BitLen() > 64 || h.Difficulty.BitLen() > 256 || h.BaseFee != nil && h.BaseFee.BitLen() > 256; large {
		if ok {
			t.Fatalf("%x: a number is too large, and is written: %s", raw, got)
		}
		return false
	}
	if want := prefix + marshal(t, wantHeader(h, h.Hash())); !ok || string(got) != want {
		t.Fatalf("%x:\ngot  %s (%v)\nwant %s", raw, got, ok, want)
	}
	return true
}

// lacksHash tells whether an optional hash is left out before a field that is there, which
// go-ethereum writes and doesn't read.
func lacksHash(raw []byte) bool {
	content, _, _ := rlp.SplitList(raw)
	for i := 0; len(content) > 0; i++ {
		if optionalHash := i == 16 || i >= 19 && i <= 21; optionalHash && content[0] == 0x80 {
			return true
		}
		_, _, content, _ = rlp.Split(content)
	}
	return false
}

// FuzzReceipt is about receipts as they are hashed, and the rows made of them.
func FuzzReceipt(f *testing.F) {
	_, receipts := seeds(f)
	for _, raw := range receipts {
		f.Add(raw)
	}
	w := form.New()
	f.Fuzz(func(t *testing.T, raw []byte) { checkReceipt(t, w, raw) })
}

func checkReceipt(t fataler, w *form.Writer, raw []byte) (read bool) {
	t.Helper()
	row, sum, ok := w.Slim([]byte(prefix), raw)
	if !ok && string(row) != prefix {
		t.Fatalf("%x: something was written: %x", raw, row)
	}
	if ok {
		if again, back := w.Consensus(nil, kindOf(raw), row[len(prefix):]); !back || !bytes.Equal(again, raw) {
			t.Fatalf("the row of %x gives %x (%v)", raw, again, back)
		}
	}
	r := new(types.Receipt)
	if err := r.UnmarshalBinary(raw); err != nil || r.Bloom != types.CreateBloom(r) {
		if ok && kindOf(raw) != deposit {
			t.Fatalf("there is a row, but go-ethereum says %v of %x", err, raw)
		}
		return false
	}
	var stored bytes.Buffer
	if err := (*types.ReceiptForStorage)(r).EncodeRLP(&stored); err != nil {
		t.Fatalf("%x: %v", raw, err)
	}
	if !ok || string(row) != prefix+stored.String() || sum.Cumulative != r.CumulativeGasUsed || sum.Logs != uint64(len(r.Logs)) {
		t.Fatalf("the row of %x is %x, %+v (%v), want %x", raw, row, sum, ok, stored.Bytes())
	}
	return true
}

// deposit is the type of OP stack deposits, which go-ethereum doesn't know.
const deposit = 0x7e

func kindOf(raw []byte) byte {
	if raw[0] < 0x80 {
		return raw[0]
	}
	return 0
}

// FuzzRow is about rows that may be damaged, with transactions that may be.
func FuzzRow(f *testing.F) {
	txs, receipts := seeds(f)
	w := form.New()
	for i, raw := range receipts {
		row, _, ok := w.Slim(nil, raw)
		if !ok {
			f.Fatalf("receipt %d has no row", i)
		}
		f.Add(row, txs[i])
	}
	f.Fuzz(func(t *testing.T, row, raw []byte) { checkRows(t, w, row, raw) })
}

func checkRows(t fataler, w *form.Writer, row, raw []byte) (read bool) {
	t.Helper()
	p := fuzzPlace()
	got, ok := w.Receipt([]byte(prefix), p.head(), &form.Tx{Index: p.index, Raw: raw, From: p.from}, &form.Receipt{Row: row, GasUsed: 7, FirstLog: 9})
	if !ok && string(got) != prefix {
		t.Fatalf("%x %x: something was written: %s", row, raw, got)
	}
	stored, err := readStored(row)
	if readable := readsLogs(w, row); readable && err != nil && !isDepositRow(row) || !readable && err == nil {
		t.Fatalf("the logs of %x are read: %v, go-ethereum says %v", row, readable, err)
	}
	tx := new(types.Transaction)
	if failed := tx.UnmarshalBinary(raw); ok && raw[0] == deposit || err != nil || failed != nil || tooLarge(tx) || tx.BlobTxSidecar() != nil {
		if ok && raw[0] != deposit && (err != nil || failed == nil) { // lists of the transaction that aren't shown aren't read
			t.Fatalf("%x %x: written, but go-ethereum says %v and %v", row, raw, err, failed)
		}
		return false
	}
	if want := prefix + wantReceipt(t, p, tx, stored, 7, 9); !ok || string(got) != want {
		t.Fatalf("%x %x:\ngot  %s (%v)\nwant %s", row, raw, got, ok, want)
	}
	return true
}

func readStored(row []byte) (*types.Receipt, error) {
	stored := new(types.ReceiptForStorage)
	err := rlp.DecodeBytes(row, stored)
	return (*types.Receipt)(stored), err
}

// readsLogs tells whether the logs of a row can be read, in each way that there is.
func readsLogs(w *form.Writer, row []byte) bool {
	logs := form.LogsOf(row)
	for logs.Next() {
		_ = form.AppendLog(nil, &form.Head{}, &form.Place{Removed: true}, &logs.Log)
	}
	var bloom [form.BloomBytes]byte
	if w.Bloom(&bloom, row) != logs.OK() {
		panic("the bloom filter and the logs disagree")
	}
	return logs.OK()
}

// isDepositRow tells whether a row has the two more fields of a deposit's receipt.
func isDepositRow(row []byte) bool {
	content, _, err := rlp.SplitList(row)
	count, failed := rlp.CountValues(content)
	return err == nil && failed == nil && count == 5
}

func FuzzWithdrawals(f *testing.F) {
	_, blocks := generated(f)
	for _, b := range blocks {
		if b.Withdrawals() != nil {
			f.Add(encode(f, b.Withdrawals()))
		}
	}
	w, last := form.New(), blocks[len(blocks)-1].Header()
	f.Fuzz(func(t *testing.T, raw []byte) { checkWithdrawals(t, w, last, raw) })
}

func checkWithdrawals(t fataler, w *form.Writer, h *types.Header, raw []byte) (read bool) {
	t.Helper()
	raw = append([]byte{}, raw...) // nil says that there are none
	block := form.Block{Head: &form.Head{Hash: h.Hash()}, Header: encode(t, h), Withdrawals: raw}
	got, ok := w.Block([]byte(prefix), &block, false, slices.Values([]*form.Tx{}))
	var list types.Withdrawals
	if err := rlp.DecodeBytes(raw, &list); err != nil {
		if ok || string(got) != prefix {
			t.Fatalf("%x: written, but go-ethereum says %v: %s", raw, err, got)
		}
		return false
	}
	want := wantHeader(h, h.Hash())
	want["size"], want["transactions"], want["uncles"], want["withdrawals"] = "0x0", []int{}, []int{}, list
	if text := prefix + marshal(t, want); !ok || string(got) != text {
		t.Fatalf("%x:\ngot  %s (%v)\nwant %s", raw, got, ok, text)
	}
	return true
}
