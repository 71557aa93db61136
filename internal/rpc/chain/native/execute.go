package native

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// lightGas is how much gas a call may have among the others. Gas buys memory, this
// much some ten megabytes; calls with more take turns in the heavy lane.
const lightGas = 200_000_000

// lane is where a call with this gas begins.
func (e *engine) lane(gas uint64) func(context.Context, time.Duration, func(context.Context, time.Duration) error) error {
	if gas > lightGas {
		return e.lanes.RunSliced
	}
	return e.lanes.Run
}

// execution is what the runs of one call share: the block's context, the state
// and what was read of it. It belongs to one request.
type execution struct {
	*engine
	header  *types.Header
	view    view
	context vm.BlockContext
	gasCap  uint64 // for one call
	timeout time.Duration

	watched   bool   // at every instruction
	used      uint64 // gas, of all runs in a slice
	db        *guard.State
	contracts *guard.Contracts
	evm       *vm.EVM
	halt      func() // ends a run
	light     bool   // it runs among the others
}

func (p *Path) execution(blk *block) (*execution, error) {
	view, err := p.states.view(blk.header.Root)
	if err != nil {
		return nil, err
	}
	return &execution{engine: &p.engine, header: blk.header, view: view, context: blk.callContext(p.bc), gasCap: p.cfg.GasCap, timeout: p.cfg.CallTimeout}, nil
}

// open makes the state and the machine. Later runs find what the first one read.
func (x *execution) open() error {
	if x.evm != nil {
		return nil
	}
	db, err := state.NewWithReader(x.header.Root, x.engine.db, x.view)
	if err != nil {
		return err
	}
	rules := x.config.Rules(x.context.BlockNumber, x.context.Random != nil, x.context.Time)
	x.db, x.contracts = &guard.State{StateDB: db}, x.engine.contracts.Get(&rules)
	settings := vm.Config{NoBaseFee: true, EnablePreimageRecording: true}
	if x.watched {
		settings.Tracer = x.db.Watch()
	}
	x.evm = vm.NewEVM(x.context, x.db, x.config, settings)
	x.evm.SetJumpDestCache(x.jumps)
	x.evm.SetPrecompiles(x.contracts.Map)
	return nil
}

// close returns the machine's memory to its pool.
func (x *execution) close() {
	if x.evm != nil {
		x.evm.Release()
		x.engine.contracts.Put(x.contracts)
		x.evm, x.db, x.contracts = nil, nil, nil
	}
}

// within runs work on a machine that is stopped after limit.
func (x *execution) within(ctx context.Context, limit time.Duration, work func() error) error {
	if err := x.open(); err != nil {
		return err
	}
	start := time.Now()
	g := guard.New(start.Add(limit), workFor(limit))
	if limit > lane.LightLimit {
		g.LowPriority()
	}
	x.used = 0
	x.db.Guard = g
	x.contracts.Use(g)
	x.light, x.halt = limit <= lane.LightLimit, haltOf(g, x.evm)
	done := stopAfter(ctx, limit, x.halt)
	err := guard.Run(work)
	done()
	if x.view.missed() {
		x.miss(ctx, time.Since(start))
		return errMissed
	}
	if g.Stopped() || x.evm.Cancelled() {
		x.close() // a machine that was stopped stays stopped
		return lane.ErrAborted
	}
	if x.light && x.used > lane.DearGas {
		x.lanes.Took(ctx, x.used, time.Since(start))
	}
	return err
}

// longMiss is how long a run may go on without counting, though something that it read isn't
// known.
const longMiss = time.Millisecond

// miss ends a run that means nothing. One that took long counts as one that used much gas:
// else calls that always miss something would cost their account nothing.
func (x *execution) miss(ctx context.Context, took time.Duration) {
	x.close()
	if x.light && took > longMiss {
		x.lanes.Took(ctx, lane.DearGas+1, took)
	}
}

// workFor is the work that a slice may do beside its time.
func workFor(limit time.Duration) int64 {
	if limit <= lane.LightLimit {
		return lane.LightWork
	}
	return guard.Unlimited
}

// run executes the message and undoes what it did to the state. What a machine
// that was stopped answers is not to be believed; within sees to that.
func (x *execution) run(msg *core.Message) (*core.ExecutionResult, error) {
	before := x.db.StateDB.Snapshot()
	result, err := core.ApplyMessage(x.evm, msg, nil)
	switch {
	case x.view.missed():
		return nil, errMissed
	case x.evm.Cancelled():
		return nil, lane.ErrAborted
	case x.db.Error() != nil:
		return nil, x.db.Error()
	}
	x.db.RevertToSnapshot(before)
	if result != nil {
		x.used += result.MaxUsedGas
	}
	return result, err
}

// haltOf stops a machine and its guard.
func haltOf(g *guard.Guard, evm *vm.EVM) func() {
	return func() {
		g.Stop()
		evm.Cancel()
	}
}

// stopAfter halts at the limit, and a long run also when the caller goes away: a short one
// is over before that matters.
func stopAfter(ctx context.Context, limit time.Duration, halt func()) (done func()) {
	timer := time.AfterFunc(limit, halt)
	if limit <= lane.LightLimit {
		return func() { timer.Stop() }
	}
	stop := context.AfterFunc(ctx, halt)
	return func() {
		timer.Stop()
		stop()
	}
}
