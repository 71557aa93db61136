package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
)

// devClock sets time, and how blocks are made.
type devClock struct{ *devMethods }

// maxJump keeps the sum of a timestamp and a jump far from overflow.
const maxJump = 100 * 365 * 24 * 3600

// increaseTime moves the chain's clock forward; the next block shows it.
func (d devClock) increaseTime(_ context.Context, _ *method.Row, params []json.RawMessage) ([]byte, error) {
	seconds, err := number(params, 0)
	if err != nil {
		return nil, err
	}
	if seconds > maxJump {
		return nil, devError("time moves forward by at most 100 years")
	}
	err = d.producer().configure(func(s *settings) error {
		if s.Ahead > maxJump {
			return errors.New("the chain's clock is 100 years ahead already: set it to a time, or reset the chain")
		}
		s.Ahead += int64(seconds) //nolint:gosec // bounded above
		return nil
	})
	if err != nil {
		return nil, changeError("", err)
	}
	return strconv.AppendUint(nil, seconds, 10), nil
}

// setTime moves the chain's clock to a time, and answers how far ahead that is.
func (d devClock) setTime(_ context.Context, _ *method.Row, params []json.RawMessage) ([]byte, error) {
	at, err := number(params, 0)
	if err != nil {
		return nil, err
	}
	if at > 1<<40 { // milliseconds, as Ganache takes them
		at /= 1000
	}
	now := time.Now().Unix()
	if err := d.checkTime(at); err != nil {
		return nil, err
	}
	ahead := int64(at) - now //nolint:gosec // bounded by checkTime
	if err := d.producer().configure(func(s *settings) error { s.Ahead = ahead; return nil }); err != nil {
		return nil, changeError("", err)
	}
	return strconv.AppendInt(nil, ahead, 10), nil
}

// checkTime refuses times that no block could have.
func (d devClock) checkTime(at uint64) error {
	head := d.engine.eth.BlockChain().CurrentBlock()
	if at <= head.Time {
		return badParam(0, fmt.Sprintf("the time %d is not after that of the newest block, %d", at, head.Time))
	}
	if now := uint64(time.Now().Unix()); at > max(now, head.Time)+maxJump { //nolint:gosec // after 1970
		return badParam(0, "the time is more than 100 years ahead")
	}
	return nil
}

func (d devClock) setNextTime(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	at, err := number(params, 0)
	if err != nil {
		return nil, err
	}
	return done(row, d.timeNext(at))
}

// timeNext sets the time of the next block.
func (d devClock) timeNext(at uint64) error {
	if err := d.checkTime(at); err != nil {
		return err
	}
	return d.forNext(func(s *settings) { s.NextTime = at })
}

// forNext sets something for the next block.
func (d devClock) forNext(change func(*settings)) error {
	p := d.producer()
	return p.configure(func(s *settings) error {
		s.prepare(p.next())
		change(s)
		return nil
	})
}

// wei is an amount, in hex or as JSON has it.
type wei struct{ big.Int }

// UnmarshalJSON reads both forms.
func (w *wei) UnmarshalJSON(text []byte) error {
	if len(text) > 100 { // to read a long one takes quadratic time
		return errors.New("want a number of at most 256 bits")
	}
	if _, ok := w.SetString(strings.Trim(string(text), `"`), 0); !ok || w.Sign() < 0 || w.BitLen() > 256 {
		return errors.New("want a number of at most 256 bits")
	}
	return nil
}

func (d devClock) setNextBaseFee(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	var fee wei
	if err := param(params, 0, &fee); err != nil {
		return nil, err
	}
	if fee.BitLen() > 128 {
		return nil, badParam(0, "the base fee has at most 128 bits")
	}
	return done(row, d.forNext(func(s *settings) { s.NextBaseFee = (*hexutil.Big)(&fee.Int) }))
}

func (d devClock) setRandom(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	var random common.Hash
	if err := param(params, 0, &random); err != nil {
		return nil, err
	}
	return done(row, d.forNext(func(s *settings) { s.NextRandom = &random }))
}

func (d devClock) setCoinbase(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	var a common.Address
	if err := param(params, 0, &a); err != nil {
		return nil, err
	}
	return done(row, d.producer().configure(func(s *settings) error { s.Coinbase = &a; return nil }))
}

func (d devClock) setGasLimit(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	gas, err := number(params, 0)
	if err != nil {
		return nil, err
	}
	if gas < minGasLimit || gas > maxGasLimit {
		return nil, badParam(0, fmt.Sprintf("a block's gas limit must be from %d to %d", minGasLimit, maxGasLimit))
	}
	p := d.producer()
	return done(row, p.configure(func(s *settings) error {
		s.GasLimit = gas
		forging(p).useGasLimit(gas)
		return nil
	}))
}

// useGasLimit keeps go-ethereum's own blocks at a gas limit.
func (p forging) useGasLimit(gas uint64) {
	p.gasCeil = gas
	p.eth.Miner().SetGasCeil(gas)
}

func (d devClock) setAutomine(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	var on bool
	if err := param(params, 0, &on); err != nil {
		return nil, err
	}
	return done(row, d.producer().configure(func(s *settings) error { s.Automine = &on; return nil }))
}

func (d devClock) getAutomine(context.Context, *method.Row, []json.RawMessage) ([]byte, error) {
	return json.Marshal(d.producer().automines())
}

// The bounds of the interval between blocks, in milliseconds.
const (
	minInterval = 100
	maxInterval = 24 * 3600 * 1000
)

func (d devClock) setInterval(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	return d.everyUnit(row, params, 1)
}

func (d devClock) setIntervalSeconds(_ context.Context, row *method.Row, params []json.RawMessage) ([]byte, error) {
	return d.everyUnit(row, params, 1000)
}

// everyUnit sets the interval in units of some milliseconds.
func (d devClock) everyUnit(row *method.Row, params []json.RawMessage, unit uint64) ([]byte, error) {
	n, err := number(params, 0)
	if err != nil {
		return nil, err
	}
	if n > maxInterval/unit || n > 0 && n*unit < minInterval {
		return nil, badParam(0, "an interval must be 100 milliseconds to a day, or 0 for none")
	}
	ms := n * unit
	return done(row, d.producer().configure(func(s *settings) error { s.Interval = &ms; return nil }))
}
