package chain

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate/internal/method"
)

// devState sets what accounts hold, and who may send without a key.
type devState struct{ *devMethods }

func (d devState) setBalance(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var a common.Address
	var amount wei
	if err := firstOf(param(list, 0, &a), param(list, 1, &amount)); err != nil {
		return nil, err
	}
	return done(row, d.producer().setState(func(db *state.StateDB) error {
		db.SetBalance(a, uint256.MustFromBig(&amount.Int), tracing.BalanceChangeUnspecified)
		return nil
	}))
}

func (d devState) setCode(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var a common.Address
	var code hexutil.Bytes
	if err := firstOf(param(list, 0, &a), param(list, 1, &code)); err != nil {
		return nil, err
	}
	if len(code) > 10*params.MaxCodeSize {
		return nil, badParam(1, fmt.Sprintf("the code has %d bytes, at most %d are allowed", len(code), 10*params.MaxCodeSize))
	}
	return done(row, d.producer().setState(func(db *state.StateDB) error {
		db.SetCode(a, code, tracing.CodeChangeUnspecified)
		return nil
	}))
}

// setNonce refuses to go back: contracts and transactions of the past would exist twice.
func (d devState) setNonce(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var a common.Address
	var nonce quantity
	if err := firstOf(param(list, 0, &a), param(list, 1, &nonce)); err != nil {
		return nil, err
	}
	if nonce >= 1<<62 {
		return nil, badParam(1, "the nonce is too large")
	}
	return done(row, d.producer().setState(func(db *state.StateDB) error {
		if now := db.GetNonce(a); uint64(nonce) < now {
			return badParam(1, fmt.Sprintf("the nonce %d is smaller than the account's, %d", nonce, now))
		}
		db.SetNonce(a, uint64(nonce), tracing.NonceChangeUnspecified)
		return nil
	}))
}

// setStorage sets one slot. An account without code, nonce and balance would be removed
// with its storage at the end of the block (EIP-161), so it is refused.
func (d devState) setStorage(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var a common.Address
	var value hexutil.Bytes
	slot, err := slotParam(list, 1)
	if err := firstOf(param(list, 0, &a), err, param(list, 2, &value)); err != nil {
		return nil, err
	}
	if len(value) != common.HashLength {
		return nil, badParam(2, fmt.Sprintf("the value has %d bytes, want 32", len(value)))
	}
	return done(row, d.producer().setState(func(db *state.StateDB) error {
		if db.Empty(a) {
			return errors.New("the account has no code, nonce or balance, so the chain can't keep storage for it: set one of them first")
		}
		db.SetState(a, slot, common.BytesToHash(value))
		return nil
	}))
}

// slotParam reads a slot: a quantity, or 32 bytes.
func slotParam(list []json.RawMessage, i int) (common.Hash, error) {
	var slot wei
	err := param(list, i, &slot)
	return common.BigToHash(&slot.Int), err
}

func (d devState) impersonate(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var a common.Address
	if err := param(list, 0, &a); err != nil {
		return nil, err
	}
	return done(row, d.producer().configure(func(s *settings) error {
		if slices.Contains(s.Impersonated, a) {
			return nil
		}
		if len(s.Impersonated) >= maxImpersonated {
			return fmt.Errorf("%d accounts are impersonated: stop impersonating one first", maxImpersonated)
		}
		s.Impersonated = append(s.Impersonated, a)
		return nil
	}))
}

func (d devState) stopImpersonating(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var a common.Address
	if err := param(list, 0, &a); err != nil {
		return nil, err
	}
	return done(row, d.producer().configure(func(s *settings) error {
		s.Impersonated = slices.DeleteFunc(s.Impersonated, func(other common.Address) bool { return other == a })
		return nil
	}))
}

func (d devState) autoImpersonate(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var on bool
	if err := param(list, 0, &on); err != nil {
		return nil, err
	}
	return done(row, d.producer().configure(func(s *settings) error { s.Everybody = on; return nil }))
}

// drop removes a transaction that waits.
func (d devState) drop(_ context.Context, row *method.Row, list []json.RawMessage) ([]byte, error) {
	var hash common.Hash
	if err := param(list, 0, &hash); err != nil {
		return nil, err
	}
	found, err := d.producer().drop(&hash)
	switch {
	case err != nil:
		return nil, changeError("", err)
	case row.Namespace() != method.SpaceAnvil:
		return json.Marshal(found)
	case found:
		return json.Marshal(hash)
	}
	return []byte("null"), nil
}

func (d devState) dropAll(_ context.Context, row *method.Row, _ []json.RawMessage) ([]byte, error) {
	_, err := d.producer().drop(nil)
	return done(row, err)
}
