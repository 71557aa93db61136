// Package replay executes transactions of the chain again, and calls on top of its blocks,
// and records what happened inside: call frames and changes of state. The namespaces trace
// and ots answer from that. Start at Chain.Block and Chain.Calls.
//
// Everything runs in the goroutine of the caller and under its guard, which bounds time
// and output as for go-ethereum's own traces.
package replay

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"

	"github.com/nodegate/nodegate/internal/rpc/chain/guard"
)

// Chain is the chain whose transactions are executed again.
type Chain struct {
	*core.BlockChain
	// GasCap is the most gas of a call.
	GasCap uint64
	// Behind is who sent a transaction that seems to come from an address. Transactions of
	// impersonated senders carry a signature that nobody made.
	Behind func(common.Address) (from common.Address, forged bool)
}

// Outcome is what one execution did.
type Outcome struct {
	Frames []*Frame // in the order in which they began; the first is the transaction's own
	Diff   Diff     // nil where it was not asked for

	drop func()
}

// Drop tells that nothing of the outcome is kept: it doesn't count against the bound on
// output.
func (o *Outcome) Drop() { o.drop() }

// Find is the block of a transaction, and its place in it; nil where there is none.
func (c *Chain) Find(hash common.Hash) (block *types.Block, index int, err error) {
	entry, _ := c.GetCanonicalTransaction(hash)
	switch {
	case entry != nil:
		return c.GetBlock(entry.BlockHash, entry.BlockIndex), int(entry.Index), nil //nolint:gosec // a block has few transactions
	case !c.TxIndexDone():
		return nil, 0, errors.New("transaction indexing is in progress")
	}
	return nil, 0, nil
}

// Output is what the transaction returned.
func (o *Outcome) Output() []byte { return o.Frames[0].Output }

// Block executes the transactions of a block again, from the first one to the last one that
// is wanted, and reports each to use. An error of use ends it.
func (c *Chain) Block(ctx context.Context, block *types.Block, last int, diff bool, use func(i int, o *Outcome) error) error {
	if last < 0 {
		return nil
	}
	parent := c.GetHeader(block.ParentHash(), block.NumberU64()-1)
	if parent == nil {
		return fmt.Errorf("parent block %d(%x) not found", block.NumberU64()-1, block.ParentHash())
	}
	db, err := c.StateAtForkBoundary(parent, block.Header())
	if err != nil {
		return err
	}
	e := &execution{chain: c, db: db, env: core.NewEVMBlockContext(block.Header(), c, nil), diff: diff}
	e.begin(ctx, parent, block)
	signer := types.MakeSigner(c.Config(), block.Number(), block.Time())
	for i, tx := range block.Transactions()[:last+1] {
		msg, err := core.TransactionToMessage(tx, signer, block.BaseFee())
		if err != nil {
			return err
		}
		if from, forged := c.Behind(msg.From); forged {
			msg.From = from
			msg = msg.SkipEOACheck()
		}
		o, err := e.run(ctx, msg, tx, i)
		if err != nil {
			return fmt.Errorf("transaction %d of block %d can't be executed again: %w", i, block.NumberU64(), err)
		}
		if err := use(i, o); err != nil {
			return err
		}
	}
	return nil
}

// Transaction executes one transaction of a block again.
func (c *Chain) Transaction(ctx context.Context, block *types.Block, index int, diff bool) (found *Outcome, err error) {
	err = c.Block(ctx, block, index, diff, func(i int, o *Outcome) error {
		if found = o; i < index {
			o.Drop()
		}
		return nil
	})
	return found, err
}

// Call is a call that is executed on top of a block.
type Call struct {
	Message *core.Message
	Tx      *types.Transaction // the same, as tracers see it
	Diff    bool
}

// Calls executes calls one after the other on top of a block, each on the state that the
// one before it left. They are made by next, which sees the block's base fee and ends them
// with a nil call.
func (c *Chain) Calls(ctx context.Context, header *types.Header, next func(baseFee *big.Int) (*Call, error), use func(*Outcome) error) error {
	db, err := c.StateAt(header.Root, header.Number, header.Time)
	if err != nil {
		return err
	}
	for i := 0; ; i++ {
		call, err := next(header.BaseFee)
		if err != nil || call == nil {
			return err
		}
		env := core.NewEVMBlockContext(header, c, nil)
		if call.Message.GasPrice.Sign() == 0 { // a call that pays nothing needs no base fee
			env.BaseFee = new(big.Int)
		}
		if fee := call.Message.BlobGasFeeCap; fee != nil && fee.Sign() == 0 {
			env.BlobBaseFee = new(big.Int)
		}
		e := &execution{chain: c, db: db, env: env, diff: call.Diff}
		o, err := e.run(ctx, call.Message, call.Tx, i)
		if err != nil {
			return fmt.Errorf("first run for txIndex %d error: %w", i, err)
		}
		if err := use(o); err != nil {
			return err
		}
	}
}

// execution is a block in which messages are executed.
type execution struct {
	chain *Chain
	db    *state.StateDB
	env   vm.BlockContext
	diff  bool
}

// begin does what comes before the transactions of a block.
func (e *execution) begin(ctx context.Context, parent *types.Header, block *types.Block) {
	evm := vm.NewEVM(e.env, e.db, e.chain.Config(), vm.Config{})
	defer evm.Release()
	core.PreExecution(ctx, block.BeaconRoot(), parent, e.chain.Config(), evm, block.Number(), block.Time())
}

// run executes one message and keeps its changes for the next one.
func (e *execution) run(ctx context.Context, msg *core.Message, tx *types.Transaction, index int) (*Outcome, error) {
	rules := e.chain.Config().Rules(e.env.BlockNumber, e.env.Random != nil, e.env.Time)
	rec, err := newRecorder(rules, e.chain.Config(), e.diff)
	if err != nil {
		return nil, err
	}
	drop, hooks := guard.Mark(), guard.Bound(rec.hooks())
	evm := vm.NewEVM(e.env, state.NewHookedState(e.db, hooks), e.chain.Config(), vm.Config{Tracer: hooks, NoBaseFee: true})
	defer evm.Release()
	e.db.SetTxContext(tx.Hash(), index, uint32(index+1)) //nolint:gosec // a block has few transactions
	gas := core.NewGasPool(msg.GasLimit)
	if _, _, err := core.ApplyTransactionWithEVM(ctx, msg, gas, e.db, e.env.BlockNumber, common.Hash{}, e.env.Time, tx, evm); err != nil {
		return nil, err
	}
	if err := e.db.Error(); err != nil {
		return nil, err
	}
	o, err := rec.outcome(e.db)
	if err != nil {
		return nil, err
	}
	o.drop = drop
	return o, nil
}
