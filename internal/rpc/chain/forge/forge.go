// Package forge makes blocks that go-ethereum's own rules would not: with a state that was
// set by hand, with transactions whose senders didn't sign, or with a time or a base fee of
// the caller's choice. Development tools ask for such blocks. Start at Plan.Make.
//
// A forged block is a block like any other to everything that reads the chain: its header
// has the root of its state, and its parts are written where go-ethereum writes them. Only
// executing it again would end elsewhere, and nothing does: the chain keeps every state.
package forge

import (
	"context"
	"errors"
	"fmt"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/consensus/misc/eip1559"
	"github.com/ethereum/go-ethereum/consensus/misc/eip4844"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/ethdb"
	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/trie"
)

// Plan is what the next block is to be.
type Plan struct {
	Time     uint64
	Coinbase common.Address
	GasLimit uint64
	BaseFee  *big.Int // nil: as the parent's fullness demands
	Random   common.Hash
	Extra    []byte

	Change func(*state.StateDB) error // sets state by hand, before the transactions; may be nil
	Source Source                     // of transactions; may be nil
}

// Tx is a transaction and who sends it, whoever signed it.
type Tx struct {
	*types.Transaction
	From   common.Address
	Forced bool // the sender didn't sign, and may be a contract
}

// Source offers transactions in the order in which a block takes them.
type Source interface {
	// Next is the next transaction to try, or nil.
	Next() *Tx
	// Took tells what became of the last one; after an error nothing of it is in the block.
	Took(err error)
}

// Block is a block that was made and not yet written.
type Block struct {
	*types.Block
	receipts []*types.Receipt
	state    *state.StateDB
	rules    params.Rules
}

// Make executes the plan on top of the chain's head. Nothing is written.
func (p Plan) Make(bc *core.BlockChain) (*Block, error) {
	parent := bc.CurrentBlock()
	header := p.header(bc.Config(), parent)
	db, err := bc.StateAtForkBoundary(parent, header)
	if err != nil {
		return nil, err
	}
	if bc.Config().IsAmsterdam(header.Number, header.Time) {
		return nil, errors.New("development methods don't know the fork Amsterdam yet")
	}
	w := &work{header: header, state: db, signer: types.MakeSigner(bc.Config(), header.Number, header.Time), gas: core.NewGasPool(header.GasLimit)}
	w.evm = vm.NewEVM(core.NewEVMBlockContext(header, bc, &header.Coinbase), db, bc.Config(), vm.Config{})
	defer w.evm.Release()
	core.PreExecution(context.Background(), header.ParentBeaconRoot, parent, bc.Config(), w.evm, header.Number, header.Time)
	if p.Change != nil {
		if err := p.Change(db); err != nil {
			return nil, err
		}
	}
	w.fill(p.Source)
	return w.finish(bc)
}

// header follows go-ethereum's miner, but for what the plan sets.
func (p Plan) header(config *params.ChainConfig, parent *types.Header) *types.Header {
	h := &types.Header{
		ParentHash: parent.Hash(), UncleHash: types.EmptyUncleHash, Number: new(big.Int).Add(parent.Number, common.Big1), Difficulty: new(big.Int),
		GasLimit: p.GasLimit, Time: p.Time, Coinbase: p.Coinbase, Extra: p.Extra, MixDigest: p.Random, BaseFee: p.BaseFee,
	}
	if h.BaseFee == nil && config.IsLondon(h.Number) {
		h.BaseFee = eip1559.CalcBaseFee(config, parent)
	}
	if config.IsCancun(h.Number, h.Time) {
		var excess uint64
		if config.IsCancun(parent.Number, parent.Time) {
			excess = eip4844.CalcExcessBlobGas(config, parent, h.Time)
		}
		h.BlobGasUsed, h.ExcessBlobGas, h.ParentBeaconRoot = new(uint64), &excess, new(common.Hash)
	}
	return h
}

// work is a block in the making.
type work struct {
	header   *types.Header
	state    *state.StateDB
	signer   types.Signer
	evm      *vm.EVM
	gas      *core.GasPool
	txs      []*types.Transaction
	receipts []*types.Receipt
	logs     []*types.Log
}

// fill takes what the source offers until the block is full.
func (w *work) fill(source Source) {
	if source == nil {
		return
	}
	for tx := source.Next(); tx != nil; tx = source.Next() {
		source.Took(w.apply(tx))
	}
}

// apply executes one transaction. One that can't be executed leaves nothing behind.
func (w *work) apply(tx *Tx) error {
	msg, err := core.TransactionToMessage(tx.Transaction, w.signer, w.header.BaseFee)
	if err != nil {
		return err
	}
	if msg.From = tx.From; tx.Forced {
		msg = msg.SkipEOACheck()
	}
	if err := w.fitsBlobs(tx.Transaction); err != nil {
		return err
	}
	bare := tx.WithoutBlobTxSidecar()
	w.state.SetTxContext(bare.Hash(), len(w.txs), uint32(len(w.txs)+1)) //nolint:gosec // a block has few transactions
	snapshot, gas := w.state.Snapshot(), w.gas.Snapshot()
	receipt, _, err := core.ApplyTransactionWithEVM(context.Background(), msg, w.gas, w.state, w.header.Number, common.Hash{}, w.header.Time, bare, w.evm)
	if err != nil {
		w.state.RevertToSnapshot(snapshot)
		w.gas.Set(gas)
		return err
	}
	if w.header.BlobGasUsed != nil {
		*w.header.BlobGasUsed += receipt.BlobGasUsed
	}
	w.txs, w.receipts, w.logs = append(w.txs, bare), append(w.receipts, receipt), append(w.logs, receipt.Logs...)
	return nil
}

// ErrFull says that a transaction has no room in this block.
var ErrFull = core.ErrGasLimitReached

// fitsBlobs checks what executing doesn't.
func (w *work) fitsBlobs(tx *types.Transaction) error {
	if tx.Type() != types.BlobTxType {
		return nil
	}
	most := uint64(eip4844.MaxBlobsPerBlock(w.evm.ChainConfig(), w.header.Time)) * params.BlobTxBlobGasPerBlob
	if w.header.BlobGasUsed == nil || *w.header.BlobGasUsed+tx.BlobGas() > most {
		return ErrFull
	}
	return nil
}

// finish runs what comes behind the transactions and puts the block together.
func (w *work) finish(bc *core.BlockChain) (*Block, error) {
	body := &types.Body{Transactions: w.txs}
	if bc.Config().IsShanghai(w.header.Number, w.header.Time) {
		body.Withdrawals = types.Withdrawals{}
	}
	requests, _, err := core.PostExecution(context.Background(), bc.Config(), w.header.Number, w.header.Time, w.logs, body.Withdrawals, w.evm, uint32(len(w.txs)+1)) //nolint:gosec // as above
	if err != nil {
		return nil, err
	}
	if requests != nil {
		hash := types.CalcRequestsHash(requests)
		w.header.RequestsHash = &hash
	}
	bc.Engine().Finalize(bc, w.header, w.state, body)
	w.header.GasUsed = w.gas.Used()
	rules := bc.Config().Rules(w.header.Number, true, w.header.Time)
	w.header.Root = w.state.IntermediateRoot(rules)
	if err := w.state.Error(); err != nil {
		return nil, err
	}
	return &Block{types.NewBlock(w.header, body, w.receipts, trie.NewStackTrie(nil)), w.receipts, w.state, rules}, nil
}

// Write puts the block into the database and makes it the chain's head.
func (b *Block) Write(bc *core.BlockChain, db ethdb.Database) error {
	root, err := b.state.Commit(b.rules, b.NumberU64())
	if err != nil {
		return err
	}
	if root != b.Root() {
		return fmt.Errorf("the state of block %d has the root %s, want %s", b.NumberU64(), root, b.Root())
	}
	if err := bc.TrieDB().Commit(root, false); err != nil {
		return err
	}
	batch := db.NewBatch()
	rawdb.WriteBlock(batch, b.Block)
	rawdb.WriteReceipts(batch, b.Hash(), b.NumberU64(), b.receipts)
	if err := batch.Write(); err != nil {
		return err
	}
	_, err = bc.SetCanonical(b.Block)
	return err
}
