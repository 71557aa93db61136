// Package parity answers the namespace trace: traces in the form that Parity introduced, as
// Erigon answers them. It says what is traced and writes it down; package replay executes.
//
// Every exported method of API is a method of the namespace, with its parameters.
package parity

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// API is the namespace.
type API struct {
	chain *replay.Chain
	calls func([]byte) (CallArgs, error)
	limit Limits
}

// CallArgs is a call object, as go-ethereum reads it.
type CallArgs interface {
	CallDefaults(gasCap uint64, baseFee, chainID *big.Int) error
	ToMessage(baseFee *big.Int, skipNonceCheck bool) *core.Message
	ToTransaction(defaultType int) *types.Transaction
}

// Limits bound what one call may ask for.
type Limits struct {
	Blocks uint64 // of trace_filter
	Gas    uint64 // of a call that names none
}

// New returns the namespace of a chain. Call objects are read by calls.
func New(chain *replay.Chain, calls func([]byte) (CallArgs, error), limit Limits) *API {
	return &API{chain: chain, calls: calls, limit: limit}
}

// Settings are the last parameter of most methods.
type Settings struct {
	TracerConfig struct {
		IncludePrecompiles bool `json:"includePrecompiles"`
	} `json:"tracerConfig"`
}

func (s *Settings) precompiles() bool { return s != nil && s.TracerConfig.IncludePrecompiles }

// Block answers trace_block. The second parameter, of this and other methods, is Erigon's
// gasBailOut: transactions of the chain have paid for their gas.
func (a *API) Block(ctx context.Context, number rpc.BlockNumber, _ *bool, s *Settings) ([]*Trace, error) {
	block, err := a.byNumber(number)
	if err != nil {
		return nil, err
	}
	traces := []*Trace{}
	err = a.chain.Block(ctx, block, len(block.Transactions())-1, false, func(i int, o *replay.Outcome) error {
		traces = append(traces, mined(o, block, i, s.precompiles())...)
		return nil
	})
	return append(traces, a.rewards(block)...), err
}

// Transaction answers trace_transaction; null where there is no such transaction.
func (a *API) Transaction(ctx context.Context, hash common.Hash, _ *bool, s *Settings) ([]*Trace, error) {
	block, index, err := a.chain.Find(hash)
	if block == nil {
		return nil, err
	}
	o, err := a.chain.Transaction(ctx, block, index, false)
	if err != nil {
		return nil, err
	}
	return mined(o, block, index, s.precompiles()), nil
}

// Get answers trace_get. As in Erigon, index 0 is the first call inside the transaction, and
// more than one index finds nothing.
func (a *API) Get(ctx context.Context, hash common.Hash, indices []hexutil.Uint64, _ *bool, s *Settings) (*Trace, error) {
	if len(indices) == 0 {
		return nil, invalid("invalid argument 1: an index is required")
	}
	if len(indices) > 1 {
		return nil, nil
	}
	traces, err := a.Transaction(ctx, hash, nil, s)
	if at := uint64(indices[0]); err == nil && len(traces) > 0 && at < uint64(len(traces)-1) {
		return traces[at+1], nil
	}
	return nil, err
}

// ReplayTransaction answers trace_replayTransaction; null where there is no such transaction.
func (a *API) ReplayTransaction(ctx context.Context, hash common.Hash, kinds []string, _ *bool, s *Settings) (*Replayed, error) {
	want, err := wanted(kinds, 1)
	if err != nil {
		return nil, err
	}
	block, index, err := a.chain.Find(hash)
	if block == nil {
		return nil, err
	}
	o, err := a.chain.Transaction(ctx, block, index, want.diff)
	if err != nil {
		return nil, err
	}
	return want.answer(o, &hash, s.precompiles()), nil
}

// ReplayBlockTransactions answers trace_replayBlockTransactions.
func (a *API) ReplayBlockTransactions(ctx context.Context, at rpc.BlockNumberOrHash, kinds []string, _ *bool, s *Settings) ([]*Replayed, error) {
	want, err := wanted(kinds, 1)
	if err != nil {
		return nil, err
	}
	block, err := a.at(at)
	if err != nil {
		return nil, err
	}
	list := []*Replayed{}
	err = a.chain.Block(ctx, block, len(block.Transactions())-1, want.diff, func(i int, o *replay.Outcome) error {
		hash := block.Transactions()[i].Hash()
		list = append(list, want.answer(o, &hash, s.precompiles()))
		return nil
	})
	return list, err
}

// Call answers trace_call.
func (a *API) Call(ctx context.Context, call json.RawMessage, kinds []string, at *rpc.BlockNumberOrHash, s *Settings) (*Replayed, error) {
	want, err := wanted(kinds, 1)
	if err != nil {
		return nil, err
	}
	list, err := a.run(ctx, []callOf{{call, 0, want}}, at, s)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// CallMany answers trace_callMany: each call sees what those before it changed.
func (a *API) CallMany(ctx context.Context, calls []json.RawMessage, at *rpc.BlockNumberOrHash, s *Settings) ([]*Replayed, error) {
	list := make([]callOf, len(calls))
	for i, raw := range calls {
		var pair []json.RawMessage
		var kinds []string
		if json.Unmarshal(raw, &pair) != nil || len(pair) != 2 || json.Unmarshal(pair[1], &kinds) != nil {
			return nil, invalid("invalid argument 0: element %d must be [call, traceTypes]", i)
		}
		want, err := wanted(kinds, 0)
		if err != nil {
			return nil, err
		}
		list[i] = callOf{pair[0], i, want}
	}
	return a.run(ctx, list, at, s)
}

// RawTransaction answers trace_rawTransaction: a signed transaction on top of the newest
// block, without sending it.
func (a *API) RawTransaction(ctx context.Context, raw hexutil.Bytes, kinds []string) (*Replayed, error) {
	want, err := wanted(kinds, 1)
	if err != nil {
		return nil, err
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	tx = tx.WithoutBlobTxSidecar()
	head := a.chain.CurrentBlock()
	msg, err := core.TransactionToMessage(tx, types.MakeSigner(a.chain.Config(), head.Number, head.Time), head.BaseFee)
	if err != nil {
		return nil, err
	}
	pending := []*replay.Call{{Message: msg, Tx: tx, Diff: want.diff}, nil}
	var answer *Replayed
	err = a.chain.Calls(ctx, head, func(*big.Int) (*replay.Call, error) {
		call := pending[0]
		pending = pending[1:]
		return call, nil
	}, func(o *replay.Outcome) error {
		answer = want.answer(o, nil, false)
		return nil
	})
	return answer, err
}

// callOf is a call of a list, and what to answer about it.
type callOf struct {
	raw      json.RawMessage
	position int
	want     kindsOf
}

// run executes calls on top of a block.
func (a *API) run(ctx context.Context, calls []callOf, at *rpc.BlockNumberOrHash, s *Settings) ([]*Replayed, error) {
	header, err := a.header(at)
	if err != nil {
		return nil, err
	}
	list := make([]*Replayed, 0, len(calls))
	err = a.chain.Calls(ctx, header, func(baseFee *big.Int) (*replay.Call, error) {
		if len(list) == len(calls) {
			return nil, nil
		}
		return a.message(calls[len(list)], baseFee)
	}, func(o *replay.Outcome) error {
		list = append(list, calls[len(list)].want.answer(o, nil, s.precompiles()))
		return nil
	})
	return list, err
}

// message reads a call object.
func (a *API) message(c callOf, baseFee *big.Int) (*replay.Call, error) {
	args, err := a.calls(c.raw)
	if err != nil {
		return nil, invalid("invalid argument 0: call %d: %v", c.position, err)
	}
	var named struct{ Gas *hexutil.Uint64 }
	most := a.limit.Gas
	if json.Unmarshal(c.raw, &named) == nil && named.Gas != nil {
		most = a.chain.GasCap
	}
	if err := args.CallDefaults(most, baseFee, a.chain.Config().ChainID); err != nil {
		return nil, err
	}
	msg := args.ToMessage(baseFee, true).SkipExecutionGasCapCheck()
	return &replay.Call{Message: msg, Tx: args.ToTransaction(types.DynamicFeeTxType), Diff: c.want.diff}, nil
}

// invalidParams is an error of the parameters.
type invalidParams string

func (e invalidParams) Error() string { return string(e) }

// ErrorCode is that of JSON-RPC.
func (invalidParams) ErrorCode() int { return -32602 }

func invalid(format string, args ...any) error { return invalidParams(fmt.Sprintf(format, args...)) }
