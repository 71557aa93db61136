package chain

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/disk"
)

// settings are what development methods have set beside the state itself. They are on disk
// before the method is answered, and are never changed: a change replaces them.
type settings struct {
	Clock
	Coinbase *common.Address `json:"coinbase,omitempty"`
	GasLimit uint64          `json:"gas_limit,omitempty"` // 0: the chain's own

	Automine *bool   `json:"automine,omitempty"`    // nil: as configured
	Interval *uint64 `json:"interval_ms,omitempty"` // milliseconds between blocks; nil: as configured

	Impersonated []common.Address `json:"impersonated,omitempty"`
	Everybody    bool             `json:"impersonate_everybody,omitempty"`
	Waiting      []waitingTx      `json:"waiting,omitempty"` // of impersonated senders
}

// Clock is what a snapshot remembers of the settings: when the next block is, and how.
type Clock struct {
	Ahead int64 `json:"ahead,omitempty"` // seconds that the chain's clock is ahead

	Next        uint64       `json:"next,omitempty"` // number of the block that the values below are for
	NextTime    uint64       `json:"next_time,omitempty"`
	NextBaseFee *hexutil.Big `json:"next_base_fee,omitempty"`
	NextRandom  *common.Hash `json:"next_random,omitempty"`
}

// waitingTx is a transaction of an impersonated sender that waits for a block. The pool
// would refuse it: nobody has signed it.
type waitingTx struct {
	From common.Address `json:"from"`
	Raw  hexutil.Bytes  `json:"raw"`

	read *types.Transaction // of Raw; nil where it can't be read
}

// wait is a transaction that waits. It is read here and not when somebody looks for it, since
// every look-up of a transaction by anyone goes through all that wait.
func wait(from common.Address, raw []byte) waitingTx {
	w, tx := waitingTx{From: from, Raw: raw}, new(types.Transaction)
	if tx.UnmarshalBinary(raw) == nil {
		w.read = tx
	}
	return w
}

// The bounds of settings.
const (
	maxImpersonated = 1000
	maxWaitingTxs   = 1000
	maxWaitingBytes = 8 << 20
)

const settingsName = "development" // a file of the chain's folder

// readSettings reads what was set before this start.
func readSettings(dir string) (*settings, error) {
	s := new(settings)
	if dir == "" {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, settingsName))
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err == nil {
		err = json.Unmarshal(text, s)
	}
	for i, w := range s.Waiting {
		s.Waiting[i] = wait(w.From, w.Raw)
	}
	if err != nil {
		return nil, badData("chain.open", "the development settings "+filepath.Join(dir, settingsName)+" can't be read: restore the file from a backup, or remove it to lose only these settings", err)
	}
	return s, nil
}

// save puts the settings on disk.
func (s *settings) save(dir string) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return disk.WriteFile(filepath.Join(dir, settingsName), text)
}

// clone is a copy to change.
func (s *settings) clone() *settings {
	c := *s
	c.Impersonated, c.Waiting = slices.Clone(s.Impersonated), slices.Clone(s.Waiting)
	return &c
}

// forNext tells whether something is set for the block with this number.
func (c *Clock) forNext(number uint64) bool {
	return c.Next == number && (c.NextTime > 0 || c.NextBaseFee != nil || c.NextRandom != nil)
}

// prepare makes the values of the next block be about this number.
func (c *Clock) prepare(number uint64) {
	if c.Next != number {
		c.Next, c.NextTime, c.NextBaseFee, c.NextRandom = number, 0, nil, nil
	}
}

// baseFee is nil where none is set.
func (c *Clock) baseFee() *big.Int { return (*big.Int)(c.NextBaseFee) }
