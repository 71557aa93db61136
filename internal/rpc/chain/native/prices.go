package native

import (
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"
)

// extras are what a call may have beside the fields of a plain one.
type extras struct {
	gasPrice, feeCap, tipCap *uint256.Int
	accessList               types.AccessList
	chainID                  *uint256.Int

	baseFee *big.Int // of the block; nil before London
}

// set reads a field. False is one that only a node understands: blobs, and authorizations.
func (e *extras) set(name, value []byte) bool {
	switch string(name) {
	case `"gasPrice"`:
		return number(&e.gasPrice, value)
	case `"maxFeePerGas"`:
		return number(&e.feeCap, value)
	case `"maxPriorityFeePerGas"`:
		return number(&e.tipCap, value)
	case `"chainId"`:
		return number(&e.chainID, value)
	case `"nonce"`: // go-ethereum doesn't look at it
		_, ok := quantity(value)
		return ok
	}
	return false
}

func number(dst **uint256.Int, value []byte) bool {
	*dst = new(uint256.Int)
	return (*dst).SetFromHex(string(value)) == nil
}

// setList reads a field that is a list.
func (e *extras) setList(name, raw []byte) bool {
	return string(name) == `"accessList"` && json.Unmarshal(raw, &e.accessList) == nil
}

// settle tells whether the fields go together, on this chain. What doesn't is for a node to
// word.
func (e *extras) settle(chainID, baseFee *big.Int) bool {
	e.baseFee = baseFee
	dynamic := e.feeCap != nil || e.tipCap != nil
	return !(dynamic && (e.gasPrice != nil || baseFee == nil)) && (e.chainID == nil || e.chainID.CmpBig(chainID) == 0)
}

// none tells whether the call is a plain one.
func (e *extras) none() bool { return e == nil || len(e.accessList) == 0 && !e.charged() }

// charged tells whether the call pays for its gas.
func (e *extras) charged() bool {
	for _, price := range []*uint256.Int{e.gasPrice, e.feeCap, e.tipCap} {
		if price != nil && !price.IsZero() {
			return true
		}
	}
	return false
}

// apply puts the fields into a message, with the prices that go-ethereum derives.
func (e *extras) apply(msg *core.Message) {
	msg.AccessList = e.accessList
	if e.gasPrice != nil {
		msg.GasPrice, msg.GasFeeCap, msg.GasTipCap = e.gasPrice, e.gasPrice, e.gasPrice
		return
	}
	if e.feeCap != nil {
		msg.GasFeeCap = e.feeCap
	}
	if e.tipCap != nil {
		msg.GasTipCap = e.tipCap
	}
	if e.charged() {
		msg.GasPrice = new(uint256.Int).Add(msg.GasTipCap, uint256.MustFromBig(e.baseFee))
		if msg.GasPrice.Cmp(msg.GasFeeCap) > 0 {
			msg.GasPrice = msg.GasFeeCap
		}
	}
}

// blockFee is the base fee that the call sees. It is zero for a call that doesn't pay: no
// price may be below the base fee.
func (e *extras) blockFee() *big.Int {
	var msg core.Message
	msg.GasPrice, msg.GasFeeCap, msg.GasTipCap = new(uint256.Int), new(uint256.Int), new(uint256.Int)
	if e.apply(&msg); msg.GasPrice.IsZero() {
		return new(big.Int)
	}
	return e.baseFee
}

// affordable holds the gas of a search to what the sender can pay for.
func (s *search) affordable() error {
	var msg core.Message
	if s.call.more == nil || !s.call.more.charged() {
		return nil
	}
	msg.GasPrice, msg.GasFeeCap, msg.GasTipCap = new(uint256.Int), new(uint256.Int), new(uint256.Int)
	s.call.more.apply(&msg)
	if msg.GasFeeCap.IsZero() {
		return nil
	}
	available := s.x.db.GetBalance(s.call.from).Clone()
	if s.call.value.Cmp(available) >= 0 {
		return failed(core.ErrInsufficientFundsForTransfer.Error())
	}
	available.Sub(available, &s.call.value)
	if allowance := available.Div(available, msg.GasFeeCap); allowance.IsUint64() {
		s.high = min(s.high, allowance.Uint64())
	}
	return nil
}
