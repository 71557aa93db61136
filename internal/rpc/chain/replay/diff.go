package replay

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/state"
)

// Diff is what an execution changed, by account.
type Diff map[common.Address]*Change

// Change is an account before and after. One that was not there, or is gone, is nil.
type Change struct {
	Before, After *Account
	Slots         map[common.Hash][2]common.Hash // those that changed: before and after
}

// Account is an account without its storage.
type Account struct {
	Balance *big.Int
	Nonce   uint64
	Code    []byte
}

// newDiff reads what the prestateTracer found. It knows how accounts were, and which
// accounts and slots to look at. How they are now is in the state: the tracer takes an
// account for deleted that destroyed itself in a call which failed.
func newDiff(found json.RawMessage, after *state.StateDB) (Diff, error) {
	type account struct {
		Balance *hexutil.Big                `json:"balance"`
		Code    hexutil.Bytes               `json:"code"`
		Nonce   uint64                      `json:"nonce"`
		Storage map[common.Hash]common.Hash `json:"storage"`
	}
	var touched struct{ Pre, Post map[common.Address]account }
	if err := json.Unmarshal(found, &touched); err != nil {
		return nil, err
	}
	diff := Diff{}
	for addr := range both(touched.Pre, touched.Post) {
		was, existed := touched.Pre[addr]
		c := &Change{Slots: map[common.Hash][2]common.Hash{}}
		if existed {
			c.Before = &Account{Balance: new(big.Int), Nonce: was.Nonce, Code: was.Code}
			if was.Balance != nil {
				c.Before.Balance = was.Balance.ToInt()
			}
		}
		if after.Exist(addr) && !after.Empty(addr) {
			c.After = &Account{Balance: after.GetBalance(addr).ToBig(), Nonce: after.GetNonce(addr), Code: after.GetCode(addr)}
		}
		for slot := range both(was.Storage, touched.Post[addr].Storage) {
			if now := after.GetState(addr, slot); now != was.Storage[slot] {
				c.Slots[slot] = [2]common.Hash{was.Storage[slot], now}
			}
		}
		if c.changed() {
			diff[addr] = c
		}
	}
	return diff, nil
}

// both has the keys of two maps.
func both[K comparable, V any](a, b map[K]V) map[K]V {
	all := maps.Clone(a)
	if all == nil {
		all = map[K]V{}
	}
	maps.Copy(all, b)
	return all
}

func (c *Change) changed() bool {
	if c.Before == nil || c.After == nil {
		return c.Before != c.After
	}
	return len(c.Slots) > 0 || c.Before.Nonce != c.After.Nonce || c.Before.Balance.Cmp(c.After.Balance) != 0 || !bytes.Equal(c.Before.Code, c.After.Code)
}
