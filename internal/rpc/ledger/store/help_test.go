package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nodegate/nodegate"
)

// testConfig is a store in memory.
func testConfig(fs vfs.FS) Config {
	return Config{Dir: "ledger", ChainID: 1, Genesis: [32]byte{1}, Memory: 4 << 20, Log: slog.New(slog.DiscardHandler), files: fs}
}

func openStore(t testing.TB, cfg Config) *Store {
	t.Helper()
	s, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantCode(t testing.TB, err error, code nodegate.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("got %v, want %v", err, code)
	}
}

// testHash is a hash that nothing else has.
func testHash(kind string, n uint64) (h [32]byte) {
	binary.BigEndian.PutUint64(h[:], n*0x9e3779b97f4a7c15)
	copy(h[8:], fmt.Sprint(kind, n))
	return h
}

// testBlock is a block whose content follows from its seed.
func testBlock(number uint64, parent [32]byte, seed uint64, txs [][32]byte) *Block {
	b := &Block{
		Hash: testHash("block", seed), Parent: parent, Number: number, Time: 1_700_000_000 + 12*number, Level: uint8(seed % 5),
		Kept: seed%7 == 0, Header: fmt.Appendf(nil, "header %d of %d", seed, number), Size: seed, Hashes: txs,
	}
	if seed%3 == 0 {
		b.Withdrawals = fmt.Appendf(nil, "withdrawals %d", seed)[:13*(seed%2)]
	}
	if seed%11 == 0 {
		b.Uncles = [][32]byte{testHash("uncle", seed), testHash("uncle", seed+1)}
		b.Extra = fmt.Appendf(nil, `,"l1":"0x%x"`, seed)
	}
	for i, tx := range txs {
		b.Txs = append(b.Txs, Row{Data: fmt.Appendf(nil, "tx %x in %d at %d", tx, seed, i), Extra: b.Extra})
		b.Receipts = append(b.Receipts, Receipt{Row: Row{Data: testReceipt(tx, seed, i)}, FirstLog: uint64(i) * 3, GasUsed: seed * 21000})
		b.Senders = append(b.Senders, tx[12:]...)
	}
	if seed%13 == 0 {
		b.Receipts = nil
	}
	if b.Kept {
		b.Senders = nil
	}
	return b
}

// checkBlock compares everything that is stored of a block. A difference is an error
// that is not one of the store's.
func checkBlock(s *Store, b *Block) error {
	at, ok, err := s.ByHash(b.Hash)
	if err != nil {
		return err
	}
	if !ok || at.Number != b.Number || at.Hash != b.Hash {
		return fmt.Errorf("wrong: block %d is at %v, %v", b.Number, at, ok)
	}
	h, err := s.Head(at)
	if err != nil {
		return err
	}
	if got, want := fmt.Sprintf("%+v", h), fmt.Sprintf("%+v", b.head(at)); got != want || (h.Withdrawals == nil) != (b.Withdrawals == nil) {
		return fmt.Errorf("wrong: head %s, want %s", got, want)
	}
	if err := checkRows(s, at, b); err != nil {
		return err
	}
	senders, err := s.Senders(at)
	if err != nil {
		return err
	}
	hashes, err := s.Hashes(at)
	if err != nil {
		return err
	}
	var want []byte
	for _, tx := range b.Hashes {
		want = append(want, tx[:]...)
	}
	if !bytes.Equal(senders, b.Senders) || !bytes.Equal(hashes, want) {
		return fmt.Errorf("wrong: senders %x and hashes %x of block %d", senders, hashes, b.Number)
	}
	return nil
}

func checkRows(s *Store, at Place, b *Block) error {
	seen := 0
	err := s.Txs(at, func(i int, row Row) bool {
		if i == seen && bytes.Equal(row.Data, b.Txs[i].Data) && bytes.Equal(row.Extra, b.Txs[i].Extra) {
			seen++
		}
		return true
	})
	if err != nil {
		return err
	}
	if seen != len(b.Txs) {
		return fmt.Errorf("wrong: transactions of block %d", b.Number)
	}
	seen = 0
	err = s.Receipts(at, func(i int, row Receipt) bool {
		if want := b.Receipts[i]; i == seen && row.FirstLog == want.FirstLog && row.GasUsed == want.GasUsed && bytes.Equal(row.Data, want.Data) {
			seen++
		}
		return true
	})
	if err != nil {
		return err
	}
	if seen != len(b.Receipts) {
		return fmt.Errorf("wrong: receipts of block %d", b.Number)
	}
	for i := range b.Txs {
		if err := checkOne(s, at, b, i); err != nil {
			return err
		}
	}
	return nil
}

// checkOne compares a transaction with its receipt and sender.
func checkOne(s *Store, at Place, b *Block, i int) error {
	row, err := s.Tx(at, i)
	if err != nil {
		return err
	}
	if !bytes.Equal(row.Data, b.Txs[i].Data) || !bytes.Equal(row.Extra, b.Txs[i].Extra) {
		return fmt.Errorf("wrong: transaction %d of block %d", i, b.Number)
	}
	receipt, err := s.Receipt(at, i)
	if missing := errors.Is(err, nodegate.NotFound); missing != (len(b.Receipts) == 0) || err != nil && !missing {
		return fmt.Errorf("receipt %d of block %d: %w", i, b.Number, err)
	} else if !missing && !bytes.Equal(receipt.Data, b.Receipts[i].Data) {
		return fmt.Errorf("wrong: receipt %d of block %d", i, b.Number)
	}
	sender, err := s.Sender(at, i)
	if missing := errors.Is(err, nodegate.NotFound); missing != (len(b.Senders) == 0) || err != nil && !missing {
		return fmt.Errorf("sender %d of block %d: %w", i, b.Number, err)
	} else if !missing && !bytes.Equal(sender[:], b.Senders[20*i:][:20]) {
		return fmt.Errorf("wrong: sender %d of block %d", i, b.Number)
	}
	return nil
}

// logger collects what is logged.
func logger(w io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(w, nil)) }
