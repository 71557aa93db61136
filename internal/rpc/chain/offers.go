package chain

import (
	"errors"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/txpool"
	"github.com/ethereum/go-ethereum/core/txpool/txorder"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/holiman/uint256"

	"github.com/nodegate/nodegate/internal/rpc/chain/forge"
)

// offers are the transactions that wait for a forged block: first those of impersonated
// senders in the order in which they came, then the pool's by what they pay.
type offers struct {
	waiting []waitingTx
	gone    map[int]error // of the waiting ones by place: nil is in the block
	at      int

	signer types.Signer
	pools  []*txorder.TransactionsByPriceAndNonce // plain transactions and those with blobs
	shown  bool                                   // the last one came from the first pool
}

// newOffers looks at what waits now. The lock is held.
func newOffers(p *producer) *offers {
	signer := types.LatestSigner(p.eth.BlockChain().Config())
	o := &offers{waiting: p.settings.Load().Waiting, gone: map[int]error{}, at: -1, signer: signer}
	if p.eth.TxPool().Sync() != nil {
		return o // the pool is closed
	}
	version := byte(types.BlobSidecarVersion0)
	if head := p.eth.BlockChain().CurrentBlock(); p.eth.BlockChain().Config().IsOsaka(head.Number, head.Time) {
		version = types.BlobSidecarVersion1
	}
	_, late := p.executables() // one that becomes pending now is offered twice, and refused the second time
	for _, filter := range []txpool.PendingFilter{{}, {BlobTxs: true, BlobVersion: version}} {
		pending, _ := p.eth.TxPool().Pending(filter)
		if !filter.BlobTxs {
			addLate(pending, late)
		}
		o.pools = append(o.pools, txorder.NewTransactionsByPriceAndNonce(signer, pending, nil))
	}
	return o
}

// addLate puts transactions behind those of the same sender.
func addLate(pending map[common.Address][]*txpool.LazyTransaction, late map[common.Address][]*types.Transaction) {
	for from, txs := range late {
		for _, tx := range txs {
			pending[from] = append(pending[from], &txpool.LazyTransaction{
				Hash: tx.Hash(), Tx: tx, Time: tx.Time(), Gas: tx.Gas(),
				GasFeeCap: uint256.MustFromBig(tx.GasFeeCap()), GasTipCap: uint256.MustFromBig(tx.GasTipCap()),
			})
		}
	}
}

// executables are the transactions of the pool that a block could take, by sender: those that
// are pending, and the late ones, which are queued although their nonces follow. go-ethereum
// moves a transaction to the pending ones after it has accepted it, and if the pool is reset
// before that, it leaves the transaction in the queue until the next block.
func (p *producer) executables() (pending, late map[common.Address][]*types.Transaction) {
	pending, queued := p.eth.TxPool().Content()
	late = map[common.Address][]*types.Transaction{}
	for from, txs := range queued {
		next := p.eth.TxPool().Nonce(from)
		if known := pending[from]; len(known) > 0 {
			next = known[len(known)-1].Nonce() + 1
		}
		for len(txs) > 0 && txs[0].Nonce() == next {
			late[from] = append(late[from], txs[0])
			txs, next = txs[1:], next+1
		}
	}
	return pending, late
}

// noteSenders keeps who sends the transactions that nobody signed.
func (o *offers) noteSenders(s *senders) error {
	for _, w := range o.waiting {
		if tx := w.tx(); tx != nil {
			if err := s.add(tx, w.From, o.signer); err != nil {
				return err
			}
		}
	}
	return nil
}

// Next is the next transaction to try.
func (o *offers) Next() *forge.Tx {
	for o.at++; o.at < len(o.waiting); o.at++ {
		w := o.waiting[o.at]
		if tx := w.tx(); tx != nil {
			return &forge.Tx{Transaction: tx, From: w.From, Forced: true}
		}
		o.gone[o.at] = errors.New("it can't be read") // the file was written by hand
	}
	for len(o.pools) > 0 {
		if tx := o.fromPool(); tx != nil {
			return tx
		}
		o.pools = o.pools[1:]
	}
	return nil
}

// fromPool is the best one of the first pool.
func (o *offers) fromPool() *forge.Tx {
	for lazy, _ := o.pools[0].Peek(); lazy != nil; lazy, _ = o.pools[0].Peek() {
		if tx := lazy.Resolve(); tx != nil {
			if from, err := types.Sender(o.signer, tx); err == nil {
				o.shown = true
				return &forge.Tx{Transaction: tx, From: from}
			}
		}
		o.pools[0].Pop()
	}
	return nil
}

// Took notes what became of the last one. A sender whose transaction doesn't fit has to
// wait with all that follow.
func (o *offers) Took(err error) {
	switch {
	case !o.shown:
		if !errors.Is(err, core.ErrNonceTooHigh) && !errors.Is(err, forge.ErrFull) {
			o.gone[o.at] = err
		}
	case err == nil, errors.Is(err, core.ErrNonceTooLow):
		o.pools[0].Shift()
	default:
		o.pools[0].Pop()
	}
}

// left are the waiting transactions that are neither in the block nor impossible.
func (o *offers) left(waiting []waitingTx) (left []waitingTx) {
	for i, w := range waiting {
		if _, gone := o.gone[i]; !gone {
			left = append(left, w)
		}
	}
	return left
}

func (w waitingTx) is(hash common.Hash) bool {
	tx := w.tx()
	return tx != nil && tx.Hash() == hash
}

// tx is nil for one that can't be read.
func (w waitingTx) tx() *types.Transaction { return w.read }
