package native

import (
	"context"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
)

// errAborted is an execution that was stopped before it ended.
var errAborted = errors.New("execution aborted")

// execution is what the runs of one call share: the block's context and state.
// It belongs to one request.
type execution struct {
	path    *Path
	header  *types.Header
	view    *stateView
	context vm.BlockContext
}

func (p *Path) execution(blk *block) (*execution, error) {
	view, err := p.states.view(blk.header.Root)
	if err != nil {
		return nil, err
	}
	return &execution{path: p, header: blk.header, view: view, context: blk.callContext(p.bc)}, nil
}

// run executes the message on a state of its own, for at most limit.
func (x *execution) run(ctx context.Context, msg *core.Message, limit time.Duration) (*core.ExecutionResult, error) {
	db, err := state.NewWithReader(x.header.Root, x.path.db, x.view)
	if err != nil {
		return nil, err
	}
	evm := vm.NewEVM(x.context, db, x.path.bc.Config(), vm.Config{NoBaseFee: true})
	evm.SetJumpDestCache(x.path.bc.JumpDestCache())
	defer evm.Release()
	defer stopAfter(ctx, limit, evm)()
	result, err := core.ApplyMessage(evm, msg, nil)
	if evm.Cancelled() {
		return nil, errAborted
	}
	if db.Error() != nil {
		return nil, db.Error()
	}
	return result, err
}

// stopAfter ends the run at its limit, and a long one also when the caller goes
// away: a short run is over before that matters.
func stopAfter(ctx context.Context, limit time.Duration, evm *vm.EVM) (done func()) {
	timer := time.AfterFunc(limit, evm.Cancel)
	if limit <= lightLimit {
		return func() { timer.Stop() }
	}
	stop := context.AfterFunc(ctx, evm.Cancel)
	return func() {
		timer.Stop()
		stop()
	}
}
