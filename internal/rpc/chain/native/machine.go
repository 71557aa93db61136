package native

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/triedb"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
)

// Machine executes calls over state that somebody else reads, as Path does over the state
// of its chain and within the same limits. It is safe for concurrent use.
type Machine struct{ engine }

// NewMachine makes a machine for the chain of a genesis file, or one whose forks are known.
//
// Returns an error if the forks are not known, or are not Ethereum's.
func NewMachine(chainID uint64, genesis []byte, cfg Config) (*Machine, error) {
	config, err := rulesOf(chainID, genesis)
	if err != nil {
		return nil, err
	}
	m := new(Machine)
	db := state.NewMPTDatabase(triedb.NewDatabase(rawdb.NewMemoryDatabase(), nil), nil)
	return m, m.engine.init(config, db, core.NewJumpDestCache(), cfg)
}

// Block is a block that calls are executed on.
type Block struct {
	header  *types.Header
	context vm.BlockContext
}

// Block reads a header as nodes send it. Not ok is one that doesn't have the hash, or that
// can't be a block of this chain.
func (m *Machine) Block(raw []byte, hash [32]byte) (*Block, bool) {
	h := new(types.Header)
	if json.Unmarshal(raw, h) != nil || h.Hash() != hash || !fits(h, m.config) {
		return nil, false
	}
	return &Block{header: h, context: m.contextOf(h)}, true
}

// contextOf is the EVM's view of a block.
func (m *Machine) contextOf(h *types.Header) vm.BlockContext {
	return core.NewEVMBlockContext(h, onlyRules{m.config}, &h.Coinbase)
}

// onlyRules is a chain of which nothing is known but its rules.
type onlyRules struct{ config *params.ChainConfig }

func (o onlyRules) Config() *params.ChainConfig               { return o.config }
func (onlyRules) CurrentHeader() *types.Header                { return nil }
func (onlyRules) GetHeader(common.Hash, uint64) *types.Header { return nil }
func (onlyRules) GetHeaderByNumber(uint64) *types.Header      { return nil }
func (onlyRules) GetHeaderByHash(common.Hash) *types.Header   { return nil }
func (onlyRules) Engine() consensus.Engine                    { return nil }

// The most gas that a call may have: as many times the block's gas limit, or at least so much.
const (
	gasCapFactor = 10
	leastGasCap  = 50_000_000
)

// Task is a call that is executed, again and again until all that it reads is known. It
// belongs to one request.
type Task struct {
	machine   *Machine
	call      callObject
	estimates bool
	header    *types.Header
	ancestry  *types.Header // whose ancestors BLOCKHASH finds
	moved     bool          // it has another number than its own
	context   vm.BlockContext
	accounts  stateOverride
	gasCap    uint64
	left      time.Duration // of the call timeout
}

// Task reads a call object and its overrides, as the layers above write them. Not ok is what
// only a node can answer: calls with blobs or authorizations, and what is wrong with others.
func (m *Machine) Task(row *method.Row, b *Block, call []byte, overrides ...[]byte) (*Task, bool) {
	t := &Task{machine: m, estimates: row.Answer == method.GasAnswer, header: b.header, ancestry: b.header, context: b.context, left: m.cfg.CallTimeout}
	t.call.more = new(extras)
	t.gasCap = max(gasCapFactor*b.header.GasLimit, leastGasCap)
	if !t.call.parse(call) || !t.estimates && (!t.call.hasGas || t.call.gas > t.gasCap) || len(overrides) > 2 {
		return nil, false
	}
	for i, read := range [...]func([]byte) bool{t.readState, t.readBlock} {
		if i < len(overrides) && string(overrides[i]) != "null" && !read(overrides[i]) {
			return nil, false
		}
	}
	if !t.call.more.settle(m.config.ChainID, t.header.BaseFee) {
		return nil, false
	}
	t.context.BaseFee = t.call.more.blockFee()
	return t, true
}

// Run executes the call. Missed is that something was not known, and nothing else means
// anything then.
func (t *Task) Run(ctx context.Context, r Reads) (result []byte, missed bool, err error) {
	if t.left <= 0 {
		return nil, false, nodegate.ErrTimeout("native.task", context.DeadlineExceeded)
	}
	start := time.Now()
	defer func() { t.left -= time.Since(start) }()
	v := &partView{reads: t.accounts.over(r)}
	x := &execution{engine: &t.machine.engine, header: t.header, view: v, context: t.context, gasCap: t.gasCap, timeout: t.left}
	v.x = x
	x.context.GetHash = v.hashOf(t.ancestry, t.moved)
	defer x.close()
	if t.estimates {
		var gas uint64
		if gas, err = x.estimate(ctx, &t.call); err == nil {
			result = quoteUint(gas)
		}
	} else {
		result, err = x.answer(ctx, &t.call)
	}
	return result, v.isMissed, err
}
