package native

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/nodegate/nodegate/internal/chain/lane"
)

// lightGas is how much gas a call may have among the others. Gas buys memory, this
// much some ten megabytes; calls with more take turns in the heavy lane.
const lightGas = 200_000_000

// lane is where a call begins.
func (p *Path) lane(c *callObject) func(context.Context, time.Duration, func(context.Context, time.Duration) error) error {
	if c.gas > lightGas {
		return p.lanes.RunHeavy
	}
	return p.lanes.Run
}

// execution is what the runs of one call share: the block's context, the state
// and what was read of it. It belongs to one request.
type execution struct {
	path    *Path
	header  *types.Header
	view    *stateView
	context vm.BlockContext

	db  *state.StateDB
	evm *vm.EVM
}

func (p *Path) execution(blk *block) (*execution, error) {
	view, err := p.states.view(blk.header.Root)
	if err != nil {
		return nil, err
	}
	return &execution{path: p, header: blk.header, view: view, context: blk.callContext(p.bc)}, nil
}

// open makes the state and the machine. Later runs find what the first one read.
func (x *execution) open() (err error) {
	if x.evm != nil {
		return nil
	}
	if x.db, err = state.NewWithReader(x.header.Root, x.path.db, x.view); err != nil {
		return err
	}
	x.evm = vm.NewEVM(x.context, x.db, x.path.bc.Config(), vm.Config{NoBaseFee: true})
	x.evm.SetJumpDestCache(x.path.bc.JumpDestCache())
	return nil
}

// close returns the machine's memory to its pool.
func (x *execution) close() {
	if x.evm != nil {
		x.evm.Release()
		x.evm, x.db = nil, nil
	}
}

// within runs work on a machine that is stopped after limit.
func (x *execution) within(ctx context.Context, limit time.Duration, work func() error) error {
	if err := x.open(); err != nil {
		return err
	}
	done := stopAfter(ctx, limit, x.evm)
	err := work()
	done()
	if x.evm.Cancelled() {
		x.close() // a machine that was stopped stays stopped
		return lane.ErrAborted
	}
	return err
}

// run executes the message and undoes what it did to the state. What a machine
// that was stopped answers is not to be believed; within sees to that.
func (x *execution) run(msg *core.Message) (*core.ExecutionResult, error) {
	before := x.db.Snapshot()
	result, err := core.ApplyMessage(x.evm, msg, nil)
	switch {
	case x.evm.Cancelled():
		return nil, lane.ErrAborted
	case x.db.Error() != nil:
		return nil, x.db.Error()
	}
	x.db.RevertToSnapshot(before)
	return result, err
}

// stopAfter stops the machine at the limit, and a long run also when the caller
// goes away: a short one is over before that matters.
func stopAfter(ctx context.Context, limit time.Duration, evm *vm.EVM) (done func()) {
	timer := time.AfterFunc(limit, evm.Cancel)
	if limit <= lane.LightLimit {
		return func() { timer.Stop() }
	}
	stop := context.AfterFunc(ctx, evm.Cancel)
	return func() {
		timer.Stop()
		stop()
	}
}
