package form_test

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// TestUnknownTypes checks that a type whose form is not known is refused, in each place.
func TestUnknownTypes(t *testing.T) {
	w := form.New()
	r := transfers(t, w, 2)
	for _, kind := range []byte{0, 5, 0x64, 0x6a, 0x78, 0x7d, 0x7f} {
		tx := *r.txs[1]
		tx.Raw = append([]byte{kind}, tx.Raw[1:]...)
		if got, ok := w.Transaction([]byte(prefix), r.block.Head, &tx); ok || string(got) != prefix {
			t.Errorf("type %#x is written: %s", kind, got)
		}
		if got, ok := w.Receipt([]byte(prefix), r.block.Head, &tx, r.receipts[1]); ok || string(got) != prefix {
			t.Errorf("type %#x has the receipt %s", kind, got)
		}
		if row, _, ok := w.Slim(nil, append([]byte{kind}, r.receipts[1].Row...)); ok {
			t.Errorf("type %#x has the row %x", kind, row)
		}
		txs := slices.Values([]*form.Tx{r.txs[0], &tx})
		if got, ok := w.Block([]byte(prefix), &r.block, true, txs); ok || string(got) != prefix {
			t.Errorf("a block with type %#x is written: %s", kind, got)
		}
		if _, ok := w.Block(nil, &r.block, false, txs); !ok {
			t.Errorf("a block with the hash of type %#x is not written", kind)
		}
	}
}

// TestBadRowInList checks that a list with one row that can't be read is refused whole.
func TestBadRowInList(t *testing.T) {
	w := form.New()
	r := transfers(t, w, 3)
	r.receipts[1].Row = r.receipts[1].Row[:40]
	if got, ok := w.Receipts([]byte(prefix), r.block.Head, r.both()); ok || string(got) != prefix {
		t.Errorf("written: %s", got)
	}
	goesOn := func(yield func(*form.Tx, *form.Receipt) bool) {
		for i := range r.txs {
			_ = yield(r.txs[i], r.receipts[i])
		}
	}
	if got, ok := w.Receipts([]byte(prefix), r.block.Head, goesOn); ok || string(got) != prefix {
		t.Errorf("written by an iterator that goes on: %s", got)
	}
	r.block.Header = r.block.Header[:100]
	if got, ok := w.Block([]byte(prefix), &r.block, false, r.transactions()); ok || string(got) != prefix {
		t.Errorf("written: %s", got)
	}
}

// TestBlobGasPrice checks that receipts of blob transactions wait for a price that is known.
func TestBlobGasPrice(t *testing.T) {
	w := form.New()
	txs, receipts := seeds(t)
	for i, raw := range txs {
		row, _, _ := w.Slim(nil, receipts[i])
		got, ok := w.Receipt(nil, &form.Head{}, &form.Tx{Raw: raw}, &form.Receipt{Row: row})
		if isBlob := raw[0] == types.BlobTxType; ok == isBlob {
			t.Errorf("without a price, a receipt of type %#x is written: %v, %s", raw[0], ok, got)
		}
	}
}

// TestWrongBloom checks that a receipt is not kept whose bloom filter the logs don't give.
func TestWrongBloom(t *testing.T) {
	w := form.New()
	_, receipts := seeds(t)
	for _, raw := range receipts {
		r := new(types.Receipt)
		if err := r.UnmarshalBinary(raw); err != nil {
			t.Fatal(err)
		}
		r.Bloom[17] ^= 4
		if row, _, ok := w.Slim([]byte(prefix), binary(t, r)); ok || string(row) != prefix {
			t.Errorf("there is a row: %x", row)
		}
	}
}

// TestRemovedLog checks the log of a block that is no longer in the chain.
func TestRemovedLog(t *testing.T) {
	w := form.New()
	r := transfers(t, w, 1)
	logs := form.LogsOf(r.receipts[0].Row)
	if !logs.Next() {
		t.Fatal("the receipt has no log")
	}
	there := form.AppendLog(nil, r.block.Head, &form.Place{}, &logs.Log)
	gone := form.AppendLog(nil, r.block.Head, &form.Place{Removed: true}, &logs.Log)
	if want := strings.Replace(string(there), `"removed":false`, `"removed":true`, 1); string(gone) != want || string(gone) == string(there) {
		t.Errorf("got %s, want %s", gone, want)
	}
}

// TestConcurrent checks that goroutines which share a Writer don't share what they write
// with.
func TestConcurrent(t *testing.T) {
	w := form.New()
	r := transfers(t, w, 40)
	want, _ := w.Receipts(nil, r.block.Head, r.both())
	block, _ := w.Block(nil, &r.block, true, r.transactions())
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 20 {
				if got, ok := w.Receipts(nil, r.block.Head, r.both()); !ok || !bytes.Equal(got, want) {
					t.Error("the receipts are not the same")
				}
				if got, ok := w.Block(nil, &r.block, true, r.transactions()); !ok || !bytes.Equal(got, block) {
					t.Error("the block is not the same")
				}
			}
		})
	}
	group.Wait()
}
