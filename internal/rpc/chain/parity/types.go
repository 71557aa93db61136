package parity

import (
	"errors"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// The types of traces.
const (
	typeCall    = "call"
	typeCreate  = "create"
	typeDestroy = "suicide"
	typeReward  = "reward"
)

// Trace is one call frame, or the reward of a block. Members are in Erigon's order.
type Trace struct {
	Action              any          `json:"action"`
	BlockHash           *common.Hash `json:"blockHash,omitempty"`
	BlockNumber         *uint64      `json:"blockNumber,omitempty"`
	Error               string       `json:"error,omitempty"`
	Result              any          `json:"result"`
	Subtraces           int          `json:"subtraces"`
	TraceAddress        []int        `json:"traceAddress"`
	TransactionHash     *common.Hash `json:"transactionHash,omitempty"`
	TransactionPosition *uint64      `json:"transactionPosition,omitempty"`
	Type                string       `json:"type"`

	from, to common.Address // what filters look at
}

type callAction struct {
	From     common.Address `json:"from"`
	CallType string         `json:"callType"`
	Gas      hexutil.Uint64 `json:"gas"`
	Input    hexutil.Bytes  `json:"input"`
	To       common.Address `json:"to"`
	Value    *hexutil.Big   `json:"value"`
}

type callResult struct {
	GasUsed hexutil.Uint64 `json:"gasUsed"`
	Output  hexutil.Bytes  `json:"output"`
}

type createAction struct {
	From           common.Address `json:"from"`
	CreationMethod string         `json:"creationMethod"`
	Gas            hexutil.Uint64 `json:"gas"`
	Init           hexutil.Bytes  `json:"init"`
	Value          *hexutil.Big   `json:"value"`
}

type createResult struct {
	Address common.Address `json:"address"`
	Code    hexutil.Bytes  `json:"code"`
	GasUsed hexutil.Uint64 `json:"gasUsed"`
}

type destroyAction struct {
	Address       common.Address `json:"address"`
	RefundAddress common.Address `json:"refundAddress"`
	Balance       *hexutil.Big   `json:"balance"`
}

// mined are the traces of a transaction, with its place on the chain.
func mined(o *replay.Outcome, block *types.Block, index int, precompiles bool) []*Trace {
	traces := tracesOf(o, precompiles)
	hash, number, position, tx := block.Hash(), block.NumberU64(), uint64(index), block.Transactions()[index].Hash() //nolint:gosec // not negative
	for _, t := range traces {
		t.BlockHash, t.BlockNumber, t.TransactionHash, t.TransactionPosition = &hash, &number, &tx, &position
	}
	return traces
}

// tracesOf writes the frames of an execution. Calls of precompiled contracts that send
// nothing are left out unless they are asked for; then they are counted as children.
func tracesOf(o *replay.Outcome, precompiles bool) []*Trace {
	traces := make([]*Trace, 0, len(o.Frames))
	var number numbering
	for _, f := range o.Frames {
		if f.Bare && !precompiles {
			continue
		}
		t := traceOf(f)
		if precompiles {
			t.TraceAddress = number.next(f.Depth, t)
		}
		traces = append(traces, t)
	}
	return traces
}

// numbering counts the children of frames where all are shown.
type numbering struct{ open []*Trace }

func (n *numbering) next(depth int, t *Trace) []int {
	t.Subtraces = 0
	n.open = append(n.open[:min(depth, len(n.open))], t)
	if len(n.open) == 1 {
		return []int{}
	}
	parent := n.open[len(n.open)-2]
	parent.Subtraces++
	return append(slices.Clone(parent.TraceAddress), parent.Subtraces-1)
}

// traceOf writes one frame.
func traceOf(f *replay.Frame) *Trace {
	t := &Trace{Subtraces: f.Children, TraceAddress: f.Address, from: f.From, to: f.To}
	if t.TraceAddress == nil {
		t.TraceAddress = []int{}
	}
	switch {
	case f.Op == vm.SELFDESTRUCT:
		t.Type, t.Action = typeDestroy, destroyAction{f.From, f.To, (*hexutil.Big)(f.Value)}
		return t
	case f.Created():
		t.Type, t.Action = typeCreate, createAction{f.From, lower(f.Op), hexutil.Uint64(f.Gas), f.Input, (*hexutil.Big)(f.Value)}
		t.Result = createResult{f.To, f.Output, hexutil.Uint64(f.GasUsed)}
	default:
		t.Type, t.Action = typeCall, callAction{f.From, lower(f.Op), hexutil.Uint64(f.Gas), f.Input, f.To, (*hexutil.Big)(f.Value)}
		t.Result = callResult{hexutil.Uint64(f.GasUsed), f.Output}
	}
	switch {
	case errors.Is(f.Err, vm.ErrExecutionReverted):
		t.Error = "Reverted"
	case f.Err != nil:
		t.Error, t.Result = f.Err.Error(), nil
	}
	return t
}

func lower(op vm.OpCode) string { return strings.ToLower(op.String()) }
