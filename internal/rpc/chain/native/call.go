package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// Kinds of remembered results.
const (
	memoCall     = 'c'
	memoEstimate = 'e'
)

// call answers eth_call for a plain call object on an existing block.
func (p *Path) call(ctx context.Context, a *args) ([]byte, bool, error) {
	var c callObject
	if a.n != 2 || !c.parse(a.raw[0]) || !c.hasGas || c.gas > p.cfg.GasCap {
		return nil, false, nil
	}
	blk := p.block(a, 1)
	if blk == nil {
		return nil, false, nil
	}
	key := p.memo.key(memoCall, blk.hash, a.raw[0])
	if result, ok := p.memo.get(key); ok {
		return result, true, nil
	}
	answer, err := p.execute(ctx, &c, blk)
	if err != nil {
		return nil, true, err
	}
	p.memo.put(key, answer)
	return answer, true, nil
}

// execute returns what the call returns, as JSON.
func (p *Path) execute(ctx context.Context, c *callObject, blk *block) (answer []byte, err error) {
	x, err := p.execution(blk)
	if err != nil {
		return nil, failed(err.Error())
	}
	defer x.close()
	return x.answer(ctx, c)
}

// answer returns what a call returns, as JSON.
func (x *execution) answer(ctx context.Context, c *callObject) (answer []byte, err error) {
	x.watched = c.gas > lightGas
	var result *core.ExecutionResult
	err = x.lane(c.gas)(ctx, x.timeout, func(ctx context.Context, limit time.Duration) error {
		err := x.within(ctx, limit, func() (err error) {
			result, err = x.run(c.message(c.gas).SkipExecutionGasCapCheck())
			return err
		})
		if err == nil && result.Err == nil {
			answer, err = encodeWithin(limit, result.ReturnData)
		}
		return err
	})
	switch {
	case errors.Is(err, lane.ErrAborted):
		return nil, nodegate.ErrTimeout("native.call", err)
	case refused(err):
		return nil, err
	case err != nil:
		return nil, failed(fmt.Sprintf("err: %v (supplied gas %d)", err, c.gas))
	}
	if result.Err != nil {
		return nil, vmError(result)
	}
	return answer, nil
}

// refused reports an error of the heavy lane that says all there is to say.
func refused(err error) bool {
	return errors.Is(err, nodegate.Busy) || errors.Is(err, nodegate.AccountBusy) || errors.Is(err, nodegate.Timeout)
}

// encodeWithin is QuoteHex. Megabytes are encoded in the heavy lane.
func encodeWithin(limit time.Duration, data []byte) ([]byte, error) {
	if limit <= lane.LightLimit && len(data) > lane.LightResult {
		return nil, lane.ErrAborted
	}
	return QuoteHex(data), nil
}

// vmError words a failed execution as go-ethereum does.
func vmError(result *core.ExecutionResult) error {
	if !errors.Is(result.Err, vm.ErrExecutionReverted) {
		return failed(result.Err.Error())
	}
	return reverted(result.Revert())
}

// reverted decodes Error(string) and Panic(uint256); other data stays as it is.
func reverted(data []byte) error {
	msg := vm.ErrExecutionReverted.Error()
	if reason, err := abi.UnpackRevert(data); err == nil {
		msg += ": " + reason
	}
	return &nodegate.Error{Op: "native.call", Code: nodegate.Reverted, Msg: msg, Data: json.RawMessage(QuoteHex(data))}
}

func failed(msg string) error {
	return &nodegate.Error{Op: "native.call", Code: nodegate.ExecutionFailed, Msg: msg}
}
