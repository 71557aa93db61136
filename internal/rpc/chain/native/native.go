// Package native answers the specification's methods straight from the
// blockchain object: pre-encoded transactions and receipts by block hash, raw
// trie nodes for proofs and state, pooled EVM runs and an exact memo of calls.
//
// It takes only plain shapes: canonical parameters as the layer above writes
// them, blocks that exist, answers that are not errors of form. Everything else is
// handed over to go-ethereum's API, so that each rule is written once. Where both
// answer, they answer the same bytes.
//
// All it keeps is bounded by its Config and can be rebuilt from the chain.
package native

import (
	"context"
	"time"

	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// Config bounds the path.
type Config struct {
	AnswerBytes uint64 // pre-encoded answers and remembered calls
	StateBytes  uint64 // cached accounts and slots
	GasCap      uint64 // the engine's cap for one call
	CallTimeout time.Duration
	Lanes       *lane.Lanes // where long calls wait their turn
}

// Path is the native path over one blockchain. It is safe for concurrent use.
type Path struct {
	engine
	bc     *core.BlockChain
	canon  canonicalIndex
	states *stateCache
	memo   *memo
}

// New builds the path. Nothing is read from the chain before the first request.
func New(bc *core.BlockChain, cfg Config) (*Path, error) {
	p := &Path{bc: bc}
	err := p.engine.init(bc.Config(), state.NewMPTDatabase(bc.TrieDB(), bc.CodeDB()), bc.JumpDestCache(), cfg)
	if err != nil {
		return nil, err
	}
	if p.memo, err = newMemo(cfg.AnswerBytes / 4); err != nil {
		return nil, err
	}
	if p.states, err = newStateCache(bc, cfg.StateBytes); err != nil {
		return nil, err
	}
	return p, p.canon.init(bc, cfg.AnswerBytes*3/4)
}

// Answer answers one call, or reports handled=false to hand it over.
func (p *Path) Answer(ctx context.Context, name string, params []byte) (result []byte, handled bool, err error) {
	var a args
	if !a.parse(params) {
		return nil, false, nil
	}
	switch name {
	case method.EthGetStorageAt:
		return p.storageAt(&a)
	case method.EthGetProof:
		return p.proof(ctx, &a)
	case method.EthGetTransactionByHash:
		return p.transactionByHash(&a)
	case method.EthGetTransactionByBlockHashAndIndex:
		return p.transactionByIndex(&a)
	case method.EthGetTransactionReceipt:
		return p.receipt(&a)
	case method.EthGetBlockReceipts:
		return p.blockReceipts(&a)
	case method.EthCall:
		return p.call(ctx, &a)
	case method.EthEstimateGas:
		return p.estimateGas(ctx, &a)
	case method.EthBlockNumber:
		return p.blockNumber(&a)
	case method.EthChainID:
		return p.chainID(&a)
	case method.EthSyncing:
		return jsonFalse, a.n == 0, nil // a chain without peers has nothing to sync
	}
	return nil, false, nil
}

func (p *Path) blockNumber(a *args) ([]byte, bool, error) {
	if a.n != 0 {
		return nil, false, nil
	}
	return quoteUint(p.bc.CurrentBlock().Number.Uint64()), true, nil
}

func (p *Path) chainID(a *args) ([]byte, bool, error) {
	id := p.bc.Config().ChainID
	if a.n != 0 || !id.IsUint64() {
		return nil, false, nil
	}
	return quoteUint(id.Uint64()), true, nil
}
