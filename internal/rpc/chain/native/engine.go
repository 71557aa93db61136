package native

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/maypok86/otter/v2"

	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// engine is what executions need beside a block and its state.
type engine struct {
	config *params.ChainConfig
	db     *state.MPTDatabase // only carries the type; reads go through views
	jumps  vm.JumpDestCache
	cfg    Config
	lanes  *lane.Lanes

	contracts guard.Pool
	known     table[common.Hash, bool] // whether code is indifferent to gas, by its hash
}

// maxKnownCodes bounds what is remembered about contracts' code.
const maxKnownCodes = 8192

func (e *engine) init(config *params.ChainConfig, db *state.MPTDatabase, jumps vm.JumpDestCache, cfg Config) (err error) {
	e.config, e.db, e.jumps, e.cfg, e.lanes = config, db, jumps, cfg, cfg.Lanes
	e.known, err = otter.New(&otter.Options[common.Hash, bool]{MaximumSize: maxKnownCodes})
	return err
}

// view is a state that calls read.
type view interface {
	state.Reader
	account(addr common.Address) (*types.StateAccount, error) // read only
	// missed tells that something was read which isn't known: what was executed means nothing.
	missed() bool
}
