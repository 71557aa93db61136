package native

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// errorRatio is how far above the least sufficient gas an estimate may be. It is
// go-ethereum's: the search below must take the same steps to give its numbers.
const errorRatio = 0.015

// estimateGas answers eth_estimateGas for a plain call object on an existing block.
func (p *Path) estimateGas(ctx context.Context, a *args) ([]byte, bool, error) {
	var c callObject
	if a.n != 2 || !c.parse(a.raw[0]) {
		return nil, false, nil
	}
	blk := p.block(a, 1)
	if blk == nil {
		return nil, false, nil
	}
	key := p.memo.key(memoEstimate, blk.hash, a.raw[0])
	if result, ok := p.memo.get(key); ok {
		return result, true, nil
	}
	gas, err := p.estimate(ctx, &c, blk)
	if err != nil {
		return nil, true, err
	}
	answer := quoteUint(gas)
	p.memo.put(key, answer)
	return answer, true, nil
}

func (p *Path) estimate(ctx context.Context, c *callObject, blk *block) (gas uint64, err error) {
	x, err := p.execution(blk)
	if err != nil {
		return 0, failed(err.Error())
	}
	defer x.close()
	return x.estimate(ctx, c)
}

// estimate searches for the gas that a call needs.
func (x *execution) estimate(ctx context.Context, c *callObject) (gas uint64, err error) {
	most := (&search{x: x, call: c}).upperBound()
	x.watched = most > lightGas
	err = x.lane(most)(ctx, x.timeout, func(ctx context.Context, limit time.Duration) error {
		return x.within(ctx, limit, func() (err error) {
			s := &search{x: x, call: c}
			gas, err = s.estimate()
			return err
		})
	})
	if errors.Is(err, lane.ErrAborted) {
		err = nodegate.ErrTimeout("native.estimate", err)
	}
	return gas, err
}

// search finds the gas a call needs, in the steps of go-ethereum's estimator.
type search struct {
	x    *execution
	call *callObject

	low, high uint64 // the call fails with low and succeeds with high

	// Of a call that is indifferent to gas it is known beforehand that it fails with
	// less than tooLittle and succeeds with enough or more.
	tooLittle, enough uint64
}

func (s *search) estimate() (uint64, error) {
	s.high = s.upperBound()
	if err := s.affordable(); err != nil {
		return 0, err
	}
	if gas, ok, err := s.plainTransfer(); ok || err != nil {
		return gas, err
	}
	result, err := s.try(s.high)
	if err != nil {
		return 0, s.invalid(err, s.high)
	}
	if result == nil || result.Failed() {
		return 0, s.hopeless(result)
	}
	s.low = result.UsedGas - 1
	s.foresee(result)
	if err := s.optimistic(result); err != nil {
		return 0, err
	}
	return s.bisect()
}

// upperBound is the block's gas limit or the caller's gas, within the fork's cap
// for one transaction and the engine's cap.
func (s *search) upperBound() uint64 {
	h, config := s.x.header, s.x.config
	bound := h.GasLimit
	if s.call.gas >= params.TxGas {
		bound = s.call.gas
	}
	if config.IsOsaka(h.Number, h.Time) && !config.IsAmsterdam(h.Number, h.Time) {
		bound = min(bound, params.MaxTxGas)
	}
	return min(bound, s.x.gasCap)
}

// plainTransfer settles a call without data to an account without code in one run.
func (s *search) plainTransfer() (uint64, bool, error) {
	if len(s.call.input) > 0 || s.call.to == nil || s.hasCode() {
		return 0, false, nil
	}
	result, err := s.try(params.TxGas)
	if errors.Is(err, lane.ErrAborted) {
		return 0, false, err
	}
	if err != nil || result == nil || result.Failed() {
		return 0, false, nil
	}
	return result.UsedGas, true, nil
}

func (s *search) hasCode() bool {
	acct, err := s.x.view.account(*s.call.to)
	if err != nil || acct == nil {
		return false
	}
	return s.x.view.CodeSize(*s.call.to, [32]byte(acct.CodeHash)) > 0
}

// try runs the call with some gas. A nil result is a limit below the intrinsic gas.
func (s *search) try(gas uint64) (*core.ExecutionResult, error) {
	result, err := s.x.run(s.call.message(gas))
	if errors.Is(err, core.ErrIntrinsicGas) || errors.Is(err, core.ErrGasLimitTooHigh) {
		return nil, nil
	}
	return result, err
}

// invalid words a call that can't be executed at all.
func (s *search) invalid(err error, gas uint64) error {
	if errors.Is(err, lane.ErrAborted) {
		return err
	}
	return failed(fmt.Sprintf("failed with %d gas: %v", gas, err))
}

// hopeless words a call that fails even with the most gas.
func (s *search) hopeless(result *core.ExecutionResult) error {
	if result == nil || errors.Is(result.Err, vm.ErrOutOfGas) {
		return failed(fmt.Sprintf("gas required exceeds allowance (%d)", s.high))
	}
	return vmError(result)
}

// optimistic tries what the first run used, with the share that nested calls hold back.
func (s *search) optimistic(first *core.ExecutionResult) error {
	guess := (first.MaxUsedGas + params.CallStipend) * 64 / 63
	if guess >= s.high {
		return nil
	}
	return s.narrow(guess)
}

func (s *search) bisect() (uint64, error) {
	for s.low+1 < s.high && float64(s.high-s.low)/float64(s.high) >= errorRatio {
		middle := min(s.low+(s.high-s.low)/2, s.low*2) // most calls need little more than they used
		if err := s.narrow(middle); err != nil {
			return 0, err
		}
	}
	return s.high, nil
}

// foresee works out from the first run what needs no other. A call needs what it
// used before refunds, and at each store the stipend must be left besides.
func (s *search) foresee(first *core.ExecutionResult) {
	s.tooLittle, s.enough = 0, math.MaxUint64
	if s.call.more.none() && s.x.indifferent(s.call.to) {
		s.tooLittle, s.enough = first.MaxUsedGas, first.MaxUsedGas+params.CallStipend+1
	}
}

func (s *search) narrow(gas uint64) error {
	switch {
	case gas < s.tooLittle:
		s.low = gas
		return nil
	case gas >= s.enough:
		s.high = gas
		return nil
	}
	result, err := s.try(gas)
	if err != nil {
		return s.invalid(err, gas)
	}
	if result == nil || result.Failed() {
		s.low = gas
	} else {
		s.high = gas
	}
	return nil
}
