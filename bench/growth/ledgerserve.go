package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/eth"
	"github.com/nodegate/nodegate/internal/rpc/ledger"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// source is the node of the chain. The ledger asks it only which chain it is.
type source struct {
	first, last *types.Header
}

func (s *source) Head(context.Context) (nodegate.Head, error) {
	n := s.last.Number.Uint64()
	return nodegate.Head{Number: n, GasLimit: 30_000_000, Safe: n - 10, Finalized: n - 20, Fork: 1}, nil
}

func (s *source) Call(_ context.Context, name string, params []byte) ([]byte, error) {
	h := s.last
	if string(params) == `["0x0",false]` {
		h = s.first
	} else if string(params) != fmt.Sprintf(`["%#x",false]`, h.Number) {
		return nil, fmt.Errorf("%s %s was passed on to the node", name, params)
	}
	raw, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	var block map[string]any
	if err := json.Unmarshal(raw, &block); err != nil {
		return nil, err
	}
	block["transactions"], block["uncles"], block["withdrawals"], block["size"] = []any{}, []any{}, []any{}, "0x400"
	return json.Marshal(block)
}

// serve starts a ledger over a store and waits until it answers.
func serve(s *store.Store, c *chain, size uint64) (*ledger.Node, error) {
	node := &source{c.first, c.last}
	n := ledger.New(node, ledger.Config{
		Blocks: 2 * size, Disk: 1 << 50, Source: node, Log: slog.New(slog.DiscardHandler), Fix: ledger.Forms{Block: eth.BlockForm, Receipts: eth.ReceiptsForm},
		Open: func(context.Context, [32]byte) (*store.Store, error) { return s, nil }, Release: func() {},
	})
	n.Start()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if n.Status().Agreed > 0 {
			return n, nil
		}
	}
	n.Close()
	return nil, errors.New("the ledger doesn't answer: " + n.Status().Problem)
}
