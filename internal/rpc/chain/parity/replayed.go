package parity

import (
	"bytes"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/replay"
)

// Replayed is what the methods answer that execute something again or on trial. Members are
// in Erigon's order.
type Replayed struct {
	Output          hexutil.Bytes                    `json:"output"`
	StateDiff       map[common.Address]accountChange `json:"stateDiff"`
	Trace           []*Trace                         `json:"trace"`
	VMTrace         any                              `json:"vmTrace"` // always null
	TransactionHash *common.Hash                     `json:"transactionHash,omitempty"`
}

// kindsOf is what a caller wants to see.
type kindsOf struct{ trace, diff bool }

// wanted reads the trace types of a parameter.
func wanted(kinds []string, position int) (k kindsOf, err error) {
	for _, kind := range kinds {
		switch kind {
		case "trace":
			k.trace = true
		case "stateDiff":
			k.diff = true
		case "vmTrace":
			return k, invalid("invalid argument %d: vmTrace is not supported: use %s without a tracer", position, method.DebugTraceTransaction)
		default:
			return k, invalid("invalid argument %d: unrecognized trace type: %s", position, kind)
		}
	}
	return k, nil
}

// answer writes what was asked for.
func (k kindsOf) answer(o *replay.Outcome, hash *common.Hash, precompiles bool) *Replayed {
	r := &Replayed{Output: o.Output(), Trace: []*Trace{}, TransactionHash: hash}
	if k.trace {
		r.Trace = tracesOf(o, precompiles)
	}
	if k.diff {
		r.StateDiff = make(map[common.Address]accountChange, len(o.Diff))
		for addr, c := range o.Diff {
			r.StateDiff[addr] = changeOf(c)
		}
	}
	return r
}

// accountChange is an account in a state diff. Each member is "=" for what stayed, {"+": new},
// {"-": old} or {"*": {"from": old, "to": new}}.
type accountChange struct {
	Balance any                    `json:"balance"`
	Code    any                    `json:"code"`
	Nonce   any                    `json:"nonce"`
	Storage map[common.Hash]change `json:"storage"`
}

type change map[string]any

type fromTo struct {
	From any `json:"from"`
	To   any `json:"to"`
}

// changeOf writes one account. Slots of an account that is gone are left out: nobody knows
// all of them.
func changeOf(c *replay.Change) accountChange {
	a := accountChange{Storage: map[common.Hash]change{}}
	switch {
	case c.Before == nil:
		a.Balance, a.Code, a.Nonce = one("+", c.After)
		for slot, v := range c.Slots {
			a.Storage[slot] = change{"+": v[1]}
		}
		return a
	case c.After == nil:
		a.Balance, a.Code, a.Nonce = one("-", c.Before)
		return a
	}
	b := c.Before
	a.Balance = between(b.Balance.Cmp(c.After.Balance) == 0, balance(b.Balance), balance(c.After.Balance))
	a.Code = between(bytes.Equal(b.Code, c.After.Code), hexutil.Bytes(b.Code), hexutil.Bytes(c.After.Code))
	a.Nonce = between(b.Nonce == c.After.Nonce, hexutil.Uint64(b.Nonce), hexutil.Uint64(c.After.Nonce))
	for slot, v := range c.Slots {
		a.Storage[slot] = change{"*": fromTo{v[0], v[1]}}
	}
	return a
}

func one(sign string, a *replay.Account) (b, code, nonce change) {
	return change{sign: balance(a.Balance)}, change{sign: hexutil.Bytes(a.Code)}, change{sign: hexutil.Uint64(a.Nonce)}
}

func between(same bool, from, to any) any {
	if same {
		return "="
	}
	return change{"*": fromTo{from, to}}
}

func balance(b *big.Int) *hexutil.Big { return (*hexutil.Big)(b) }
