package native

import (
	"encoding/json"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// stateOverride is what a call finds in accounts instead of what they have. It is read as
// go-ethereum reads it.
type stateOverride map[common.Address]*accountOverride

type accountOverride struct {
	Nonce            *hexutil.Uint64             `json:"nonce"`
	Code             *hexutil.Bytes              `json:"code"`
	Balance          *hexutil.Big                `json:"balance"`
	State            map[common.Hash]common.Hash `json:"state"`
	StateDiff        map[common.Hash]common.Hash `json:"stateDiff"`
	MovePrecompileTo *common.Address             `json:"movePrecompileToAddress"`

	hash common.Hash // of Code
}

// reserved tells whether an address may be a precompiled contract's.
func reserved(a common.Address) bool { return [18]byte(a[:18]) == [18]byte{} }

// readState reads the first override. Not ok leaves it to a node: what can't be read, and
// whatever touches precompiled contracts.
func (t *Task) readState(raw []byte) bool {
	if json.Unmarshal(raw, &t.accounts) != nil {
		return false
	}
	for address, o := range t.accounts {
		switch {
		case o == nil:
			delete(t.accounts, address)
			continue
		case reserved(address), o.MovePrecompileTo != nil, o.State != nil && o.StateDiff != nil:
			return false
		}
		if o.Code != nil {
			o.hash = crypto.Keccak256Hash(*o.Code)
		}
	}
	return true
}

// over reads a state with the overrides over it. go-ethereum ends a transaction after it has
// set them, so that nothing tells them from what was there before.
func (s stateOverride) over(r Reads) Reads {
	if len(s) == 0 {
		return r
	}
	o := r
	o.Account = func(address [20]byte) (Account, bool) {
		a, known := r.Account(address)
		if own := s[address]; own != nil && known {
			own.change(&a)
		}
		return a, known
	}
	o.Slot = func(address [20]byte, slot [32]byte) ([32]byte, bool) {
		if own := s[address]; own != nil {
			if own.State != nil {
				return own.State[slot], true
			}
			if value, set := own.StateDiff[slot]; set {
				return value, true
			}
		}
		return r.Slot(address, slot)
	}
	o.Code = func(address [20]byte, hash [32]byte) ([]byte, bool) {
		if own := s[address]; own != nil && own.Code != nil && own.hash == hash {
			return *own.Code, true
		}
		return r.Code(address, hash)
	}
	return o
}

// change puts an override into an account. One without any content leaves it as it is.
func (o *accountOverride) change(a *Account) {
	if o.Nonce != nil {
		a.Nonce, a.Exists = uint64(*o.Nonce), true
	}
	if o.Code != nil {
		a.Code, a.Exists = o.hash, true
	}
	if o.Balance != nil {
		o.Balance.ToInt().FillBytes(a.Balance[:])
		a.Exists = true
	}
	if o.State != nil {
		a.Storage, a.Exists = types.EmptyRootHash, true
	}
	if len(o.StateDiff) > 0 {
		a.Exists = true
	}
}

// blockOverride is what a call finds in its block instead of what it has.
type blockOverride struct {
	Number        *hexutil.Big
	Difficulty    *hexutil.Big
	Time          *hexutil.Uint64
	GasLimit      *hexutil.Uint64
	FeeRecipient  *common.Address
	PrevRandao    *common.Hash
	BaseFeePerGas *hexutil.Big
	BlobBaseFee   *hexutil.Big
	BeaconRoot    *common.Hash
	Withdrawals   *types.Withdrawals
}

// readBlock reads the second override. Not ok leaves it to a node: what can't be read, what
// is no override of a call, and blocks that the rules have no place for.
func (t *Task) readBlock(raw []byte) bool {
	var o blockOverride
	if json.Unmarshal(raw, &o) != nil || o.BeaconRoot != nil || o.Withdrawals != nil || o.Number != nil && !o.Number.ToInt().IsUint64() {
		return false
	}
	changed := o.header(t.header)
	if !usable(changed, t.machine.config) {
		return false
	}
	if t.estimates { // go-ethereum estimates on a block with such a header
		t.moved = changed.Number.Cmp(t.header.Number) != 0
		t.context, t.ancestry = t.machine.contextOf(changed), changed
	} else {
		o.applyTo(t)
	}
	if o.BlobBaseFee != nil {
		t.context.BlobBaseFee = o.BlobBaseFee.ToInt()
	}
	t.header = changed
	return true
}

// header is a header with the overrides.
func (o *blockOverride) header(h *types.Header) *types.Header {
	h = types.CopyHeader(h)
	if o.Number != nil {
		h.Number = o.Number.ToInt()
	}
	if o.Difficulty != nil && h.Difficulty.Sign() != 0 {
		h.Difficulty = o.Difficulty.ToInt()
	}
	if o.Time != nil {
		h.Time = uint64(*o.Time)
	}
	if o.GasLimit != nil {
		h.GasLimit = uint64(*o.GasLimit)
	}
	if o.FeeRecipient != nil {
		h.Coinbase = *o.FeeRecipient
	}
	if o.PrevRandao != nil {
		h.MixDigest = *o.PrevRandao
	}
	if o.BaseFeePerGas != nil {
		h.BaseFee = o.BaseFeePerGas.ToInt()
	}
	return h
}

// applyTo changes what a call sees of its block.
func (o *blockOverride) applyTo(t *Task) {
	c := &t.context
	if o.Number != nil {
		c.BlockNumber = new(big.Int).Set(o.Number.ToInt())
	}
	if o.Difficulty != nil {
		c.Difficulty = o.Difficulty.ToInt()
	}
	if o.Time != nil {
		c.Time = uint64(*o.Time)
	}
	if o.GasLimit != nil {
		c.GasLimit = uint64(*o.GasLimit)
	}
	if o.FeeRecipient != nil {
		c.Coinbase = *o.FeeRecipient
	}
	if o.PrevRandao != nil {
		c.Random = o.PrevRandao
	}
}
