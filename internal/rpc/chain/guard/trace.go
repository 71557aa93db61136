package guard

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/eth/tracers"
	"github.com/ethereum/go-ethereum/eth/tracers/logger"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/rpc/chain/steplog"
)

// boundedTracer is the name under which go-ethereum finds the tracer that wraps the one
// that the client asked for.
const boundedTracer = "nodegateBounded"

// noTimeout is what go-ethereum gets for a timeout. It stops a tracer at any moment, also
// before the first call, and some tracers panic at the end of such a transaction. The guard
// stops the whole execution instead, at the client's timeout or its own.
const noTimeout = "1h"

// traceConfig is what the bounded tracer is configured with.
type traceConfig struct {
	Tracer *string         // the client's; nil is the struct logger
	Config json.RawMessage // the client's
	Logger *logger.Config  // of the struct logger

	Timeout *time.Duration // the client's, for each transaction
}

// errNoGuard is for a trace outside any guard, which no method makes.
var errNoGuard = errors.New("a trace without a guard")

// BoundTrace makes a trace obey the guard of the goroutine that runs it. Clients may send
// code as a tracer where javascript says so: what it keeps in memory has no bound.
//
// The error says which tracers there are, or what a timeout is.
func BoundTrace(c *tracers.TraceConfig, javascript bool) error {
	if c.Tracer != nil {
		if err := checkTracer(*c.Tracer, c.TracerConfig, javascript); err != nil {
			return err
		}
	}
	own := traceConfig{Tracer: c.Tracer, Config: c.TracerConfig, Logger: c.Config}
	if c.Timeout != nil {
		d, err := time.ParseDuration(*c.Timeout)
		if err != nil {
			return fmt.Errorf("invalid timeout %.20q: want a duration like 5s or 500ms", *c.Timeout)
		}
		own.Timeout = &d
	}
	inner, err := json.Marshal(own)
	if err != nil {
		return err
	}
	name, timeout := boundedTracer, noTimeout
	c.Tracer, c.TracerConfig, c.Timeout = &name, inner, &timeout
	return nil
}

func installTracer() { tracers.DefaultDirectory.Register(boundedTracer, newBounded, false) }

// newBounded makes the client's tracer and puts the guard before its hooks.
func newBounded(ctx *tracers.Context, raw json.RawMessage, chain *params.ChainConfig) (*tracers.Tracer, error) {
	g := current()
	var c traceConfig
	if err := json.Unmarshal(raw, &c); err != nil || g == nil {
		return nil, errors.Join(errNoGuard, err)
	}
	g.within(c.Timeout)
	if c.Tracer == nil {
		return g.structLogger(c.Logger), nil
	}
	name := *c.Tracer
	if isCode(name) {
		name = codeOf(name)
	}
	inner, err := tracers.DefaultDirectory.New(name, ctx, c.Config, chain)
	if err != nil {
		return nil, err
	}
	stop := stopOf(inner)
	g.onStop(func() { stop(ErrStopped) })
	return &tracers.Tracer{Hooks: g.hooks(inner.Hooks, costOf(name, c.Config)), GetResult: g.fitting(inner.GetResult), Stop: stop}, nil
}

// stopOf is a tracer's Stop. Some of go-ethereum's have none, and it calls that all the same
// when a client's own timeout is over.
func stopOf(t *tracers.Tracer) func(error) {
	if t.Stop == nil {
		return func(error) {}
	}
	return t.Stop
}

// within stops the execution after a client's timeout, unless another transaction begins
// before that.
func (g *Guard) within(timeout *time.Duration) {
	if g.timer != nil {
		g.timer.Stop()
	}
	if timeout == nil {
		return
	}
	g.timer = time.AfterFunc(*timeout, g.Stop)
	g.atEnd = append(g.atEnd, func() { g.timer.Stop() })
}

// fitting bounds a result that nothing has counted while it grew.
func (g *Guard) fitting(result func() (json.RawMessage, error)) func() (json.RawMessage, error) {
	return func() (json.RawMessage, error) {
		g.check()
		text, err := result()
		g.check()
		g.fit(len(text))
		return text, err
	}
}

// Bound puts the guard of this goroutine before hooks that keep call frames with their input
// and output.
func Bound(h *tracing.Hooks) *tracing.Hooks {
	g := current()
	if g == nil {
		return h
	}
	return g.hooks(h, costOf("flatCallTracer", nil))
}

// Mark remembers how much the execution of this goroutine has kept, for a caller that may
// drop what follows: back counts from here again.
func Mark() (back func()) {
	g := current()
	if g == nil {
		return func() {}
	}
	left := g.output
	return func() { g.output = left }
}

// structLogger logs every instruction, until the log is larger than any answer may be.
func (g *Guard) structLogger(c *logger.Config) *tracers.Tracer {
	own := logger.Config{}
	if c != nil {
		own = *c
	}
	cut := own.Limit > 0 && int64(own.Limit) <= g.output // it stops logging there, and that is no error
	if !cut {
		own.Limit = 0
	}
	l := steplog.New(&own, g.chunks)
	g.atEnd = append(g.atEnd, l.Free)
	hooks := *l.Hooks()
	hooks.OnOpcode = func(pc uint64, op byte, gas, cost uint64, scope tracing.OpContext, rData []byte, depth int, err error) {
		g.traced()
		if !cut {
			g.fit(steplog.AtLeast(&own, scope, rData))
		}
		n := l.Step(pc, op, gas, cost, scope, rData, depth, err)
		if !cut {
			g.keep(n + len(","))
		}
	}
	return &tracers.Tracer{Hooks: &hooks, GetResult: l.Result, Stop: l.Stop}
}

// traceCost is what a tracer keeps of the events it sees, in bytes of its answer.
type traceCost struct {
	frame     int  // of a call frame
	level     int  // of a call frame, for each level that it is deep
	data      int  // of a byte of its input, output and logs
	preimages int  // of a byte that is hashed
	topOnly   bool // only the outermost frame counts
}

// costOf is what one of go-ethereum's tracers keeps. Those that are not listed keep
// accounts and slots, each of which costs thousands of gas.
func costOf(name string, config json.RawMessage) traceCost {
	const frame = len(`{"from":"","gas":"0x0","gasUsed":"0x0","to":"","input":"0x","type":"CALL"},`) + 84
	switch name {
	case "callTracer":
		var c struct{ OnlyTopCall bool }
		_ = json.Unmarshal(config, &c) // the tracer itself has accepted it
		return traceCost{frame: frame, data: 2, topOnly: c.OnlyTopCall}
	case "flatCallTracer": // each frame has a number for each level
		return traceCost{frame: frame, level: len("99, "), data: 2}
	case "4byteTracer":
		return traceCost{frame: len(`"0x01234567-0":1,`)}
	case "keccak256PreimageTracer":
		return traceCost{preimages: 2}
	case "erc7562Tracer":
		return traceCost{frame: frame, data: 2, preimages: 2}
	case muxTracer: // several at once, and they can be nested
		n := max(1, bytes.Count(config, []byte(`Tracer"`)))
		return traceCost{frame: n * frame, level: n * len("99, "), data: 2 * n, preimages: 2 * n}
	}
	return traceCost{}
}

// hooks asks the guard before a tracer's own hooks.
func (g *Guard) hooks(inner *tracing.Hooks, cost traceCost) *tracing.Hooks {
	h := *inner
	h.OnOpcode = nil
	h.OnOpcodeV2 = func(pc uint64, op byte, gas, opCost tracing.Gas, scope tracing.OpContext, rData []byte, depth int, err error) {
		g.traced()
		if cost.preimages > 0 && vm.OpCode(op) == vm.KECCAK256 {
			g.keep(cost.preimages * hashed(scope))
		}
		inner.EmitOpcode(pc, op, gas, opCost, scope, rData, depth, err)
	}
	h.OnEnter = nil
	h.OnEnterV2 = func(depth int, typ byte, from, to common.Address, input []byte, gas tracing.Gas, value *big.Int) {
		if depth == 0 || !cost.topOnly {
			g.keep(cost.frame + cost.level*depth + cost.data*len(input))
		}
		inner.EmitEnter(depth, typ, from, to, input, gas, value)
	}
	if inner.OnLog != nil {
		h.OnLog = func(log *types.Log) {
			if !cost.topOnly {
				g.keep(cost.data * len(log.Data))
			}
			inner.OnLog(log)
		}
	}
	h.OnExit, h.OnExitV2 = g.exits(inner, cost)
	if inner.OnTxEnd != nil {
		h.OnTxEnd = func(receipt *types.Receipt, err error) {
			if !g.Stopped() {
				inner.OnTxEnd(receipt, err)
			}
		}
	}
	return &h
}

// exits counts what call frames return. An execution that was stopped unwinds through
// these hooks and OnTxEnd, with results that no tracer expects; it needs none of them.
func (g *Guard) exits(inner *tracing.Hooks, cost traceCost) (tracing.ExitHook, tracing.ExitHookV2) {
	count := func(depth int, output []byte) bool {
		if g.Stopped() {
			return false
		}
		if depth == 0 || !cost.topOnly {
			g.keep(cost.data * len(output))
		}
		return true
	}
	if inner.OnExitV2 != nil {
		return nil, func(depth int, output []byte, left tracing.Gas, err error, reverted bool) {
			if count(depth, output) {
				inner.OnExitV2(depth, output, left, err, reverted)
			}
		}
	}
	return func(depth int, output []byte, used uint64, err error, reverted bool) {
		if count(depth, output) && inner.OnExit != nil {
			inner.OnExit(depth, output, used, err, reverted)
		}
	}, nil
}

// hashed is how many bytes KECCAK256 is about to hash. Memory has not grown yet, and gas
// bounds how far it can.
func hashed(scope tracing.OpContext) int {
	stack := scope.StackData()
	if len(stack) < 2 {
		return 0
	}
	size := stack[len(stack)-2]
	if !size.IsUint64() || size.Uint64() > 1<<32 {
		return 0 // more than any gas buys: the instruction fails
	}
	return int(size.Uint64())
}
