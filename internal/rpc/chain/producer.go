package chain

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/eth"
	"github.com/ethereum/go-ethereum/eth/catalyst"
	"github.com/ethereum/go-ethereum/event"

	"github.com/nodegate/nodegate/internal/rpc/chain/txjournal"
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

	journal *txjournal.Journal // what the database can't keep; nil in memory
	room    room               // refuses changes while there is no space for them
	epoch   atomic.Int64       // counts how often blocks were taken back
	cuts    atomic.Int64       // counts how often old ones were, that a copy may be reading

	mu      lock                         // one change at a time
	busy    atomic.Bool                  // a block is being sealed or taken back
	durable atomic.Pointer[types.Header] // the newest head that is on disk; nil while blocks are taken back
	told    atomic.Pointer[told]         // what the layers above know of the chain
	broken  atomic.Pointer[error]        // the disk took a block no more: nothing is answered from then on
	life    context.Context              // ends when broken is set by fail
	end     context.CancelFunc           // of life
	ended   <-chan struct{}              // of life
	warned  string                       // the last reason for producing no block; only the loop uses it

	dir      string                   // of the settings; empty in memory
	settings atomic.Pointer[settings] // changed under mu only
	changed  chan struct{}            // the settings have
	period   time.Duration            // as configured; 0 mines when a transaction arrives
	first    uint64                   // number of the block that a reset goes back to
	senders  *senders                 // of transactions that nobody signed

	removed func(logs []*types.Log, all bool) // is told which logs a rewind takes back

	beaconTime uint64         // what the beacon takes for the time of the newest block
	coinbase   common.Address // of forged blocks
	extra      []byte         // the same
	gasCeil    uint64         // the same

	cancel context.CancelFunc
	done   sync.WaitGroup
}

// How long the producer waits before it offers leftover transactions to the miner again.
// Each time costs an empty block, so it waits longer each time, until a transaction arrives.
const (
	retryDelay   = time.Second
	longestRetry = 10 * time.Minute
)

// development is what development methods have left behind.
type development struct {
	settings *settings
	senders  *senders
	first    uint64
}

func newProducer(e *eth.Ethereum, beacon *catalyst.SimulatedBeacon, journal *txjournal.Journal, dev development, cfg Config) *producer {
	ctx, cancel := context.WithCancel(context.Background())
	p := &producer{
		eth: e, beacon: beacon, log: cfg.Log, cancel: cancel, journal: journal, room: room{cfg.Guard, newSizeBound(cfg.Dir, cfg.MaxBytes)},
		mu: newLock(), changed: make(chan struct{}, 1), dir: cfg.Dir, period: time.Duration(cfg.Period) * time.Second,
		coinbase: cfg.Genesis.Coinbase, extra: cfg.Genesis.ExtraData, beaconTime: e.BlockChain().CurrentBlock().Time,
		gasCeil: e.BlockChain().CurrentBlock().GasLimit, first: dev.first, senders: dev.senders,
	}
	p.settings.Store(dev.settings)
	if gas := dev.settings.GasLimit; gas > 0 {
		forging{p}.useGasLimit(gas)
	}
	p.life, p.end = context.WithCancel(context.Background())
	p.ended = p.life.Done()
	p.told.Store(new(told))
	p.tell()
	p.durable.Store(e.BlockChain().CurrentBlock())
	txs := make(chan core.NewTxsEvent, 64)
	sub := e.TxPool().SubscribeTransactions(txs, true)
	arrived := make(chan struct{}, 1)
	p.done.Go(func() { notice(ctx, txs, sub, arrived) })
	p.done.Go(func() { p.run(ctx, arrived) })
	return p
}

// notice turns the pool's events into one signal. It always reads: the pool waits
// for its listeners, and sealing waits for the pool.
func notice(ctx context.Context, txs <-chan core.NewTxsEvent, sub event.Subscription, arrived chan<- struct{}) {
	defer sub.Unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return
		case <-txs:
			select {
			case arrived <- struct{}{}:
			default:
			}
		}
	}
}

// run seals blocks when transactions arrive, where the chain automines, and at regular
// times, where it has an interval.
func (p *producer) run(ctx context.Context, arrived <-chan struct{}) {
	var retry <-chan time.Time
	delay := retryDelay
	tick := newTicker(p.interval())
	defer func() { tick.Stop() }()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.sealAndLog()
			continue
		case <-p.changed:
			if p.interval() != tick.every {
				tick.Stop()
				tick = newTicker(p.interval())
			}
		case <-arrived:
			delay = retryDelay
		case <-retry:
			delay = min(2*delay, longestRetry)
		}
		retry = nil
		if p.automines() && p.sealPending() {
			retry = time.After(delay)
		}
	}
}

// ticker ticks at the interval between blocks, or never.
type ticker struct {
	*time.Ticker
	every time.Duration
}

func newTicker(every time.Duration) ticker {
	t := ticker{time.NewTicker(cmp.Or(every, time.Hour)), every}
	if every == 0 {
		t.Stop()
	}
	return t
}

// interval is the time between blocks; 0 is none.
func (p *producer) interval() time.Duration {
	if ms := p.settings.Load().Interval; ms != nil {
		return time.Duration(*ms) * time.Millisecond //nolint:gosec // bounded where it is set
	}
	return p.period
}

// automines tells whether a transaction is mined when it comes.
func (p *producer) automines() bool {
	if on := p.settings.Load().Automine; on != nil {
		return *on
	}
	return p.period == 0
}

// sealPending seals until the pool is empty or the miner takes nothing more. It
// reports whether executable transactions are left.
func (p *producer) sealPending() bool {
	for {
		if p.executable() == 0 {
			return false
		}
		if taken := p.sealAndLog(); taken == 0 {
			return true
		}
	}
}

// executable counts the transactions that the next block could take. The pool
// forgets whoever waits for its Sync when a second one comes, so nothing calls it
// without holding mu.
func (p *producer) executable() int {
	if p.mu.acquire(p.ended) != nil {
		return 0
	}
	defer p.mu.release()
	if err := p.eth.TxPool().Sync(); err != nil {
		return 0 // the pool is closed
	}
	if waiting, _ := p.eth.TxPool().Stats(); waiting == 0 {
		return 0
	}
	return nextBlock{p.eth, p.settings.Load()}.payable()
}

// sealAndLog seals one block and returns how many transactions it holds.
func (p *producer) sealAndLog() int {
	header, err := p.seal()
	if err != nil {
		p.warn(err)
		return 0
	}
	p.warned = ""
	body := p.eth.BlockChain().GetBody(header.Hash())
	if body == nil {
		return 0
	}
	return len(body.Transactions)
}

// warn logs why there is no block, once as long as the reason stays the same: it is
// tried again every second.
func (p *producer) warn(err error) {
	if text := err.Error(); text != p.warned {
		p.warned = text
		p.log.Warn("can't produce a block", "err", err)
	}
}

// seal produces one block now.
func (p *producer) seal() (*types.Header, error) { return p.commit(p.sealNext) }

// commit runs one sealing and sees that it took, that finality didn't go back and
// that the block is on disk.
func (p *producer) commit(seal func() error) (*types.Header, error) {
	end, err := p.change()
	if err != nil {
		return nil, err
	}
	defer end()
	bc := p.eth.BlockChain()
	parent, final := bc.CurrentBlock(), bc.CurrentFinalBlock()
	err = seal()
	p.keepFinal(final)
	p.tell()
	head := bc.CurrentBlock()
	if head.Hash() == parent.Hash() {
		return nil, cmp.Or(err, errors.New("the block was refused"))
	}
	return head, errors.Join(err, p.flush(head), p.shorten())
}

// change begins a change of the chain and returns its end. Nothing of the change can
// be seen before busy is set, and all of it is on disk before busy is cleared.
//
// Returns NoNode when the disk has failed, and InsufficientStorage while it is full or the
// chain is too large.
func (p *producer) change() (end func(), err error) {
	if err := p.room.check(); err != nil {
		return nil, err
	}
	if p.mu.acquire(p.ended) != nil {
		return nil, p.failure()
	}
	if err := p.failure(); err != nil {
		p.mu.release()
		return nil, err
	}
	p.busy.Store(true)
	return func() {
		p.busy.Store(false)
		p.mu.release()
	}, nil
}

// await returns when everything that an answer could have seen is on disk. Whoever is
// told about a block may rely on it, so every answer passes here; it costs two reads
// unless a block is being sealed at this moment.
//
// Returns NoNode when the disk has failed: nobody knows what it holds.
func (p *producer) await() error {
	if p.busy.Load() && p.visible() {
		if p.mu.acquire(p.ended) == nil { // held until the block is flushed
			p.mu.release()
		}
	}
	return p.failure()
}

// visible tells whether the chain shows anything that is not on disk yet. The head
// alone doesn't say: go-ethereum writes a block's number and its transactions, where
// receipts are found, and moves the head only then.
func (p *producer) visible() bool {
	bc, durable := p.eth.BlockChain(), p.durable.Load()
	return durable == nil || durable != bc.CurrentBlock() || bc.GetCanonicalHash(durable.Number.Uint64()+1) != (common.Hash{})
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

// flush puts the block on disk. A sync that failed is not tried again: what it should
// have written may be lost although the next one says that all is well.
func (p *producer) flush(head *types.Header) error {
	if err := p.eth.ChainDb().SyncKeyValue(); err != nil {
		p.fail(err)
		return err
	}
	p.durable.Store(head)
	return p.noteHead(head)
}

// rewind makes an earlier canonical block the head again, and changes the settings with it.
func (p developer) rewind(hash common.Hash, change func(*settings)) error {
	end, err := p.change()
	if err != nil {
		return err
	}
	defer end()
	bc := p.eth.BlockChain()
	header := bc.GetHeaderByHash(hash)
	if header == nil {
		return errors.New("unknown block")
	}
	gone, all := p.logsAbove(header)
	if err := p.noteRewind(header); err != nil {
		return err
	}
	if old, err := p.eth.ChainDb().Ancients(); err != nil || header.Number.Uint64()+1 < old {
		p.cuts.Add(1)
	}
	p.durable.Store(nil) // blocks go before the head moves; every answer waits
	if err := bc.SetHead(header.Number.Uint64()); err != nil {
		p.tell()
		return errors.Join(err, p.flush(bc.CurrentBlock()))
	}
	// The pool takes the dropped blocks' transactions back; a revert forgets them.
	p.beacon.Rollback()
	head := bc.CurrentBlock()
	bc.SetSafe(head)
	if bc.CurrentFinalBlock() == nil {
		bc.SetFinalized(head)
	}
	p.tell()
	p.removed(gone, all)
	return errors.Join(p.eth.TxPool().Sync(), p.flush(head), p.compact(), p.set(func(s *settings) error {
		change(s)
		return nil
	}))
}
