// Package otterscan answers the namespace ots, which the block explorer Otterscan asks for
// what the standard methods don't tell. Package replay executes what has to be executed.
//
// Every exported method of API is a method of the namespace, with its parameters.
package otterscan

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// apiLevel is the version of the namespace that is answered here.
const apiLevel = 8

// Eth are the methods of go-ethereum's API that write blocks and receipts. Its type is
// internal to go-ethereum.
type Eth interface {
	GetBlockByHash(ctx context.Context, hash common.Hash, full bool) (map[string]any, error)
	GetBlockReceipts(ctx context.Context, at rpc.BlockNumberOrHash) ([]map[string]any, error)
	GetHeaderByNumber(ctx context.Context, number rpc.BlockNumber) (map[string]any, error)
}

// API is the namespace.
type API struct {
	chain  *replay.Chain
	eth    Eth
	blocks uint64 // that one search looks at
}

// New returns the namespace of a chain. A search looks at so many blocks.
func New(chain *replay.Chain, eth Eth, blocks uint64) *API {
	return &API{chain: chain, eth: eth, blocks: blocks}
}

// GetApiLevel answers ots_getApiLevel.
func (a *API) GetApiLevel() int { return apiLevel } //nolint:staticcheck // the method's name is Otterscan's

// HasCode answers ots_hasCode.
func (a *API) HasCode(_ context.Context, addr common.Address, at *Block) (bool, error) {
	block, err := a.block(at)
	if err != nil || block == nil {
		return false, err
	}
	db, err := a.chain.StateAt(block.Root(), block.Number(), block.Time())
	if err != nil {
		return false, err
	}
	return db.GetCodeSize(addr) > 0, nil
}

// execute executes a mined transaction again.
func (a *API) execute(ctx context.Context, hash common.Hash) (*replay.Outcome, error) {
	block, index, err := a.chain.Find(hash)
	switch {
	case err != nil:
		return nil, err
	case block == nil:
		return nil, fmt.Errorf("transaction %#x not found", hash)
	}
	return a.chain.Transaction(ctx, block, index, false)
}

// Operation is a transfer, creation or self-destruction inside a transaction.
type Operation struct {
	Type  int            `json:"type"`
	From  common.Address `json:"from"`
	To    common.Address `json:"to"`
	Value *hexutil.Big   `json:"value"`
}

// The types of operations.
const (
	opTransfer = iota
	opDestroy
	opCreate
	opCreate2
)

// GetInternalOperations answers ots_getInternalOperations.
func (a *API) GetInternalOperations(ctx context.Context, hash common.Hash) ([]Operation, error) {
	o, err := a.execute(ctx, hash)
	if err != nil {
		return nil, err
	}
	kinds := map[vm.OpCode]int{vm.CALL: opTransfer, vm.SELFDESTRUCT: opDestroy, vm.CREATE: opCreate, vm.CREATE2: opCreate2}
	list := []Operation{}
	for _, f := range o.Frames {
		kind, ok := kinds[f.Op]
		if ok && f.Depth > 0 && (kind != opTransfer || f.Value.Sign() > 0) {
			list = append(list, Operation{kind, f.From, f.To, (*hexutil.Big)(f.Value)})
		}
	}
	return list, nil
}

// Entry is a call, creation or self-destruction of a transaction.
type Entry struct {
	Type   string         `json:"type"`
	Depth  int            `json:"depth"`
	From   common.Address `json:"from"`
	To     common.Address `json:"to"`
	Value  *hexutil.Big   `json:"value"`
	Input  hexutil.Bytes  `json:"input"`
	Output hexutil.Bytes  `json:"output"`
}

// TraceTransaction answers ots_traceTransaction. Precompiled contracts are left out.
func (a *API) TraceTransaction(ctx context.Context, hash common.Hash) ([]Entry, error) {
	o, err := a.execute(ctx, hash)
	if err != nil {
		return nil, err
	}
	list := []Entry{}
	for _, f := range o.Frames {
		if f.Bare {
			continue
		}
		e := Entry{f.Op.String(), f.Depth, f.From, f.To, (*hexutil.Big)(f.Value), f.Input, f.Output}
		if f.Op == vm.STATICCALL || f.Op == vm.DELEGATECALL {
			e.Value = nil
		}
		list = append(list, e)
	}
	return list, nil
}

// GetTransactionError answers ots_getTransactionError: what a transaction reverted with.
func (a *API) GetTransactionError(ctx context.Context, hash common.Hash) (hexutil.Bytes, error) {
	o, err := a.execute(ctx, hash)
	if err != nil {
		return nil, err
	}
	if !errors.Is(o.Frames[0].Err, vm.ErrExecutionReverted) {
		return hexutil.Bytes{}, nil
	}
	return o.Output(), nil
}

// Erigon is the part of the namespace erigon that Otterscan asks for.
type Erigon struct{ api *API }

// Erigon returns that namespace.
func (a *API) Erigon() *Erigon { return &Erigon{a} }

// GetHeaderByNumber answers erigon_getHeaderByNumber.
func (e *Erigon) GetHeaderByNumber(ctx context.Context, at Block) (map[string]any, error) {
	block, err := e.api.block(&at)
	if err != nil || block == nil {
		return nil, err
	}
	return e.api.eth.GetHeaderByNumber(ctx, rpc.BlockNumber(block.Number().Int64()))
}

// fees are what the senders of a block's transactions paid.
func fees(receipts []map[string]any) *big.Int {
	total := new(big.Int)
	for _, r := range receipts {
		price, _ := r["effectiveGasPrice"].(*hexutil.Big)
		gas, _ := r["gasUsed"].(hexutil.Uint64)
		if price != nil {
			total.Add(total, new(big.Int).Mul(price.ToInt(), new(big.Int).SetUint64(uint64(gas))))
		}
	}
	return total
}
