package main

import (
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logquery"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// ledger is the ledger's store with a chain in it.
type ledger struct{ *store.Store }

// openLedger fills a store, and opens it again: what was only in its log is in tables then, as
// of a ledger that has run for a while.
func openLedger(dir string, blocks []*types.Block, receipts []types.Receipts) (*ledger, error) {
	config := store.Config{Dir: dir, ChainID: 1, Memory: cacheBytes, Log: slog.New(slog.DiscardHandler)}
	s, err := store.Open(config)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(fillLedger(s, blocks, receipts), s.Close()); err != nil {
		return nil, err
	}
	s, err = store.Open(config)
	return &ledger{s}, err
}

func fillLedger(s *store.Store, blocks []*types.Block, receipts []types.Receipts) error {
	w := form.New()
	for i, b := range blocks {
		block, err := ledgerBlock(w, b, receipts[i])
		if err == nil {
			err = s.Append(block)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// ledgerBlock is a block as the ledger stores it.
func ledgerBlock(w *form.Writer, b *types.Block, receipts types.Receipts) (*store.Block, error) {
	header, err := rlp.EncodeToBytes(b.Header())
	if err != nil {
		return nil, err
	}
	out := &store.Block{Hash: b.Hash(), Parent: b.ParentHash(), Number: b.NumberU64(), Time: b.Time(), Header: header, Level: 4}
	logs, gas := uint64(0), uint64(0)
	for i, tx := range b.Transactions() {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		encoded, err := receipts[i].MarshalBinary()
		if err != nil {
			return nil, err
		}
		row, slim, ok := w.Slim(nil, encoded)
		if !ok {
			return nil, fmt.Errorf("receipt %d of block %d can't be read", i, b.NumberU64())
		}
		out.Txs = append(out.Txs, store.Row{Data: raw})
		out.Hashes = append(out.Hashes, tx.Hash())
		out.Receipts = append(out.Receipts, store.Receipt{Row: store.Row{Data: row}, FirstLog: logs, GasUsed: slim.Cumulative - gas})
		logs, gas = logs+slim.Logs, slim.Cumulative
	}
	return out, nil
}

func (l *ledger) ask(params string) ([]byte, error) {
	f, ok := logquery.Parse([]byte(params))
	if !ok {
		return nil, errors.New("the ledger doesn't understand the query")
	}
	v, err := l.Snapshot()
	if err != nil {
		return nil, err
	}
	r, err := logquery.Run(context.Background(), v, f, logquery.Limits{})
	if err = errors.Join(err, v.Close()); err != nil {
		return nil, err
	}
	if r.Stop != logquery.Complete {
		return nil, fmt.Errorf("the ledger stopped at %d", r.At)
	}
	return r.Logs, nil
}

// senderKey is the key of one of the accounts that send.
func senderKey(i int) *ecdsa.PrivateKey {
	key, err := crypto.ToECDSA(crypto.Keccak256(fmt.Appendf(nil, "a sender of logs %d", i)))
	if err != nil {
		panic(err)
	}
	return key
}
