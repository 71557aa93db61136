package chain

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/event"
)

// producer seals blocks: at once when a transaction arrives, or one a period.
//
// go-ethereum has such a loop too. It spins when the pool holds a transaction that
// the miner won't take, and it lets the finalized block go back to a multiple of
// 32 on an imported chain; this one does neither.
type producer struct {
	eth    *eth.Ethereum
	beacon *catalyst.SimulatedBeacon
	log    *slog.Logger

	mu sync.Mutex // one block at a time

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// retryDelay is how long the producer waits before it offers leftover
// transactions to the miner again.
const retryDelay = time.Second

func newProducer(e *eth.Ethereum, beacon *catalyst.SimulatedBeacon, period time.Duration, log *slog.Logger) *producer {
	ctx, cancel := context.WithCancel(context.Background())
	p := &producer{eth: e, beacon: beacon, log: log, cancel: cancel}
	txs := make(chan core.NewTxsEvent, 64)
	sub := e.TxPool().SubscribeTransactions(txs, true)
	p.done.Add(1)
	go p.run(ctx, period, txs, sub)
	return p
}

func (p *producer) close() {
	p.cancel()
	p.done.Wait()
}

func (p *producer) run(ctx context.Context, period time.Duration, txs <-chan core.NewTxsEvent, sub event.Subscription) {
	defer p.done.Done()
	defer sub.Unsubscribe()
	if period > 0 {
		p.runPeriodic(ctx, period, txs)
		return
	}
	p.runOnDemand(ctx, txs)
}

func (p *producer) runPeriodic(ctx context.Context, period time.Duration, txs <-chan core.NewTxsEvent) {
	tick := time.NewTicker(period)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-txs: // they wait for the tick
		case <-tick.C:
			p.sealAndLog()
		}
	}
}

func (p *producer) runOnDemand(ctx context.Context, txs <-chan core.NewTxsEvent) {
	var retry <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-txs:
		case <-retry:
		}
		retry = nil
		if p.sealPending() {
			retry = time.After(retryDelay)
		}
	}
}

// sealPending seals until the pool is empty or the miner takes nothing more. It
// reports whether executable transactions are left.
func (p *producer) sealPending() bool {
	for {
		if err := p.eth.TxPool().Sync(); err != nil {
			return false // the pool is closed
		}
		waiting, _ := p.eth.TxPool().Stats()
		if waiting == 0 {
			return false
		}
		if taken := p.sealAndLog(); taken == 0 {
			return true
		}
	}
}

// sealAndLog seals one block and returns how many transactions it holds.
func (p *producer) sealAndLog() int {
	header, err := p.seal()
	if err != nil {
		p.log.Warn("no block produced", "err", err)
		return 0
	}
	body := p.eth.BlockChain().GetBody(header.Hash())
	if body == nil {
		return 0
	}
	return len(body.Transactions)
}

// seal produces one block now.
func (p *producer) seal() (*types.Header, error) {
	return p.commit(func() error {
		p.beacon.Commit()
		return nil
	})
}

// jump seals an empty block that many seconds after its parent; the blocks that
// follow go on from there. The pool must be empty.
func (p *producer) jump(seconds uint64) (*types.Header, error) {
	return p.commit(func() error {
		return p.beacon.AdjustTime(time.Duration(seconds) * time.Second)
	})
}

// commit runs one sealing and sees that it took, that finality didn't go back and
// that the block is on disk.
func (p *producer) commit(seal func() error) (*types.Header, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	bc := p.eth.BlockChain()
	parent, final := bc.CurrentBlock(), bc.CurrentFinalBlock()
	if err := seal(); err != nil {
		return nil, err
	}
	head := bc.CurrentBlock()
	if head.Hash() == parent.Hash() {
		return nil, errors.New("the block was refused")
	}
	p.keepFinal(final)
	return head, p.flush()
}

// keepFinal puts the finalized block back where it was if sealing moved it down:
// what was once final stays final.
func (p *producer) keepFinal(before *types.Header) {
	bc := p.eth.BlockChain()
	now := bc.CurrentFinalBlock()
	if before != nil && (now == nil || now.Number.Cmp(before.Number) < 0) {
		bc.SetFinalized(before)
	}
}

// flush puts the block on disk before anyone can see it acknowledged by a power cut.
func (p *producer) flush() error {
	return p.eth.ChainDb().SyncKeyValue()
}

// rewind makes an earlier canonical block the head again.
func (p *producer) rewind(hash common.Hash) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	bc := p.eth.BlockChain()
	header := bc.GetHeaderByHash(hash)
	if header == nil {
		return errors.New("unknown block")
	}
	p.beacon.Rollback()
	if err := bc.SetHead(header.Number.Uint64()); err != nil {
		return err
	}
	return p.eth.TxPool().Sync()
}
