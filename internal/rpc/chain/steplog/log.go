// Package steplog writes the log of every executed instruction that debug_traceCall and its
// kin answer with when no tracer is named.
//
// go-ethereum's own logger makes several small objects of every instruction and keeps them
// until the end. A trace of a loop then makes hundreds of megabytes of garbage a second,
// and the garbage collector slows everybody's requests down. A Log appends the same bytes
// to chunks that are used again; a fuzz test compares the two. Start at New.
package steplog

import (
	"encoding/json"
	"errors"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
)

// Log is the log of one transaction or call. Stop may be called by anybody, the rest
// belongs to the goroutine that executes.
type Log struct {
	cfg     logger.Config
	env     *tracing.VMContext
	storage map[common.Address]slots // what was read and written so far
	entry   []byte                   // the instruction that is being written
	text    text
	system  bool // a call of the protocol is running, which is not logged

	output []byte
	err    error
	gas    uint64
	reason atomic.Pointer[error] // why it was stopped
}

// New returns an empty log. Nil is the default configuration.
func New(cfg *logger.Config, chunks *Chunks) *Log {
	l := &Log{storage: map[common.Address]slots{}, text: text{from: chunks}}
	if cfg != nil {
		l.cfg = *cfg
	}
	return l
}

// Hooks are the events that the log listens to, except for instructions: Step has those.
func (l *Log) Hooks() *tracing.Hooks {
	return &tracing.Hooks{
		OnTxStart:           func(env *tracing.VMContext, _ *types.Transaction, _ common.Address) { l.env = env },
		OnTxEnd:             l.txEnd,
		OnSystemCallStartV2: func(*tracing.VMContext) { l.system = true },
		OnSystemCallEnd:     func() { l.system = false },
		OnExit:              l.exit,
	}
}

// Step logs an instruction and returns how many bytes it takes.
func (l *Log) Step(pc uint64, opcode byte, gas, cost uint64, scope tracing.OpContext, rData []byte, depth int, err error) int {
	if l.system || l.full() || l.reason.Load() != nil {
		return 0
	}
	op := vm.OpCode(opcode)
	b := appendHead(l.entry[:0], pc, op, gas, cost, depth, err)
	if stack := scope.StackData(); !l.cfg.DisableStack && stack != nil {
		b = appendStack(b, stack)
	}
	if l.cfg.EnableReturnData && len(rData) > 0 {
		b = append(appendHex(append(b, `,"returnData":"0x`...), rData), '"')
	}
	if memory := scope.MemoryData(); l.cfg.EnableMemory && len(memory) > 0 {
		b = appendMemory(b, memory)
	}
	if !l.cfg.DisableStorage && err == nil && (op == vm.SLOAD || op == vm.SSTORE) {
		b = appendStorage(b, l.touch(op, scope))
	}
	b = appendRefund(b, l.env.StateDB.GetRefund())
	l.entry = append(b, '}')
	l.text.add(l.entry)
	return len(l.entry)
}

// full tells that the client's limit is passed. go-ethereum goes on executing then, and
// logs no more.
func (l *Log) full() bool { return l.cfg.Limit != 0 && l.text.size > l.cfg.Limit }

// touch notes the slot that an instruction reads or writes, and returns all of the
// contract's so far. An instruction without its operands has none.
func (l *Log) touch(op vm.OpCode, scope tracing.OpContext) slots {
	stack, contract := scope.StackData(), scope.Address()
	n := len(stack)
	var key, value common.Hash
	switch {
	case op == vm.SLOAD && n >= 1:
		key = stack[n-1].Bytes32()
		value = l.env.StateDB.GetState(contract, key)
	case op == vm.SSTORE && n >= 2:
		key, value = stack[n-1].Bytes32(), stack[n-2].Bytes32()
	default:
		return nil
	}
	all := l.storage[contract].with(key, value)
	l.storage[contract] = all
	return all
}

func (l *Log) exit(depth int, output []byte, _ uint64, err error, _ bool) {
	if depth == 0 && !l.system {
		l.output, l.err = output, err
	}
}

func (l *Log) txEnd(receipt *types.Receipt, err error) {
	switch {
	case err == nil && receipt != nil:
		l.gas = receipt.GasUsed
	case err != nil && l.err == nil: // an error of the execution stays
		l.err = err
	}
}

// Stop ends the log. Its result is the reason.
func (l *Log) Stop(reason error) { l.reason.Store(&reason) }

// Result is the whole answer. The log is empty after it.
func (l *Log) Result() (json.RawMessage, error) {
	defer l.Free()
	if reason := l.reason.Load(); reason != nil {
		return nil, *reason
	}
	returned := l.output
	if l.err != nil && !errors.Is(l.err, vm.ErrExecutionReverted) {
		returned = nil
	}
	return appendResult(l.gas, l.err != nil, returned, &l.text), nil
}

// Free gives the log's memory back. It may be called twice.
func (l *Log) Free() { l.text.free() }
