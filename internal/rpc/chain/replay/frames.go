package replay

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/params"
)

// Frame is a call, a creation or a self-destruction.
type Frame struct {
	Op            vm.OpCode
	Depth         int
	From, To      common.Address
	Input, Output []byte
	Value         *big.Int // never nil
	Gas, GasUsed  uint64
	Err           error // why it failed, or nil

	Address  []int // which child of which child it is
	Children int
	Bare     bool // a call of a precompiled contract that sends nothing; not in traces
}

// Created tells whether the frame is a creation.
func (f *Frame) Created() bool { return f.Op == vm.CREATE || f.Op == vm.CREATE2 }

// recorder keeps the frames of one execution. The changes of state are those that
// go-ethereum's prestateTracer finds.
type recorder struct {
	precompiled []common.Address
	frames      []*Frame
	open        []*Frame
	state       *tracers.Tracer // nil where no diff is wanted
}

func newRecorder(rules params.Rules, config *params.ChainConfig, diff bool) (*recorder, error) {
	r := &recorder{precompiled: vm.ActivePrecompiles(rules)}
	if !diff {
		return r, nil
	}
	var err error
	r.state, err = tracers.DefaultDirectory.New("prestateTracer", new(tracers.Context), json.RawMessage(`{"diffMode":true}`), config)
	return r, err
}

// hooks are those of the recorder, and of the tracer of changes where there is one.
func (r *recorder) hooks() *tracing.Hooks {
	h := &tracing.Hooks{OnEnter: r.enter, OnExit: r.exit}
	if r.state != nil {
		h.OnTxStart, h.OnTxEnd, h.OnOpcode = r.state.OnTxStart, r.state.OnTxEnd, r.state.OnOpcode
	}
	return h
}

func (r *recorder) enter(depth int, typ byte, from, to common.Address, input []byte, gas uint64, value *big.Int) {
	f := &Frame{Op: vm.OpCode(typ), Depth: depth, From: from, To: to, Input: bytes.Clone(input), Gas: gas, Value: new(big.Int)}
	if value != nil {
		f.Value.Set(value)
	}
	calls := f.Op == vm.CALL || f.Op == vm.STATICCALL || f.Op == vm.DELEGATECALL || f.Op == vm.CALLCODE
	f.Bare = depth > 0 && calls && f.Value.Sign() == 0 && slices.Contains(r.precompiled, to)
	if len(r.open) > 0 && !f.Bare {
		parent := r.open[len(r.open)-1]
		f.Address = append(slices.Clone(parent.Address), parent.Children)
		parent.Children++
	}
	r.frames, r.open = append(r.frames, f), append(r.open, f)
}

func (r *recorder) exit(_ int, output []byte, gasUsed uint64, err error, _ bool) {
	f := r.open[len(r.open)-1]
	f.Output, f.GasUsed, f.Err = bytes.Clone(output), gasUsed, err
	r.open = r.open[:len(r.open)-1]
}

// outcome is what was recorded, now that the execution has ended.
func (r *recorder) outcome(after *state.StateDB) (*Outcome, error) {
	if len(r.frames) == 0 { // no transaction is without one
		r.frames = []*Frame{{Op: vm.CALL, Value: new(big.Int)}}
	}
	o := &Outcome{Frames: r.frames}
	if r.state == nil {
		return o, nil
	}
	found, err := r.state.GetResult()
	if err != nil {
		return nil, err
	}
	o.Diff, err = newDiff(found, after)
	return o, err
}
