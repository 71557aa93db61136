package guard

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/params"
)

// State is a state that asks a guard where an EVM passes by: at every call frame, of which
// it takes a snapshot, and at every hash, whose preimage it offers when the EVM is
// configured to record them. Between two of these and the jumps, code can do no more than
// its length allows.
type State struct {
	*state.StateDB
	Guard *Guard
}

// Snapshot begins a call frame.
func (s *State) Snapshot() int {
	s.Guard.spend(params.WarmStorageReadCostEIP2929, 0)
	return s.StateDB.Snapshot()
}

// AddPreimage is a hash. It is not kept.
func (s *State) AddPreimage(_ common.Hash, data []byte) {
	words := (uint64(len(data)) + 31) / 32
	s.Guard.spend(params.Keccak256Gas+words*params.Keccak256WordGas, 0)
}

// Watch asks at every instruction, for executions with so much gas that a few instructions
// between two frames could copy gigabytes. It costs about half of the EVM's speed.
func (s *State) Watch() *tracing.Hooks {
	return &tracing.Hooks{OnOpcode: func(uint64, byte, uint64, uint64, tracing.OpContext, []byte, int, error) { s.Guard.check() }}
}
