package chain

import (
	"crypto/rand"
	"errors"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/params"

	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/chain/forge"
)

// developer is what development methods do to a producer. Each takes the lock.
type developer struct{ *producer }

// configure changes the settings. They are on disk when it returns.
func (p developer) configure(change func(*settings) error) error {
	end, err := p.change()
	if err != nil {
		return err
	}
	defer end()
	return p.set(change)
}

// set is configure for whoever holds the lock.
func (p *producer) set(change func(*settings) error) error {
	s := p.settings.Load().clone()
	if err := change(s); err != nil {
		return err
	}
	if err := s.save(p.dir); err != nil {
		if disk.IsFull(err) {
			return disk.Full("chain.evm", err)
		}
		return err
	}
	p.settings.Store(s)
	select {
	case p.changed <- struct{}{}: // the loop looks at automine and interval
	default:
	}
	return nil
}

// next is the number of the block that comes next.
func (p *producer) next() uint64 { return p.eth.BlockChain().CurrentBlock().Number.Uint64() + 1 }

// sealNext seals one block. The lock is held. go-ethereum makes it unless something was
// set that it has no way to know.
func (p *producer) sealNext() error {
	now := uint64(time.Now().Unix()) //nolint:gosec // after 1970
	head := p.eth.BlockChain().CurrentBlock()
	if s := p.settings.Load(); s.plain(head) && max(now, p.beaconTime+1) == max(now, head.Time+1) {
		p.beacon.Commit()
		p.beaconTime = p.eth.BlockChain().CurrentBlock().Time
		return nil
	}
	return forging{p}.seal(head, now)
}

// forging makes the blocks of a producer that go-ethereum can't make.
type forging struct{ *producer }

// seal forges a block with what waits for one.
func (p forging) seal(head *types.Header, now uint64) error {
	source := newOffers(p.producer)
	if err := source.noteSenders(p.senders); err != nil {
		return err
	}
	if err := p.forge(forge.Plan{Time: p.nextTime(head, now), Source: source}); err != nil {
		return err
	}
	return p.afterForging(source, now)
}

// plain tells whether go-ethereum's own block is the right one, its time aside.
func (s *settings) plain(head *types.Header) bool {
	return s.Ahead == 0 && !s.forNext(head.Number.Uint64()+1) && s.Coinbase == nil && len(s.Waiting) == 0 &&
		(s.GasLimit == 0 || s.GasLimit == head.GasLimit)
}

// nextTime is the time of the next block.
func (p forging) nextTime(head *types.Header, now uint64) uint64 {
	s := p.settings.Load()
	if s.forNext(head.Number.Uint64()+1) && s.NextTime > head.Time {
		return s.NextTime
	}
	return max(uint64(max(int64(now)+s.Ahead, 0)), head.Time+1) //nolint:gosec // not negative
}

// forge makes a block by the plan and the settings, and writes it. The lock is held.
func (p forging) forge(plan forge.Plan) error {
	bc, s := p.eth.BlockChain(), p.settings.Load()
	head := bc.CurrentBlock()
	plan.Coinbase, plan.Extra, plan.GasLimit = p.coinbase, p.extra, core.CalcGasLimit(head.GasLimit, p.gasCeil)
	if s.Coinbase != nil {
		plan.Coinbase = *s.Coinbase
	}
	if s.GasLimit > 0 {
		plan.GasLimit = s.GasLimit
	}
	_, _ = rand.Read(plan.Random[:]) // never fails
	if plan.Change == nil && s.forNext(head.Number.Uint64()+1) {
		plan.BaseFee = s.baseFee()
		if s.NextRandom != nil {
			plan.Random = *s.NextRandom
		}
	}
	block, err := plan.Make(bc)
	if err != nil {
		return err
	}
	if err := block.Write(bc, p.eth.ChainDb()); err != nil {
		return err
	}
	p.settle()
	return p.eth.TxPool().Sync()
}

// finalEvery is how many blocks become final at once, as in go-ethereum's simulated beacon.
const finalEvery = 32

// settle marks what is safe and final, as go-ethereum does with its own blocks.
func (p forging) settle() {
	bc := p.eth.BlockChain()
	head := bc.CurrentBlock()
	bc.SetSafe(head)
	if header := bc.GetHeaderByNumber(head.Number.Uint64() / finalEvery * finalEvery); header != nil {
		bc.SetFinalized(header) // never goes back, see keepFinal
	}
}

// afterForging forgets what was for this block only, and keeps the clock where the block
// has moved it.
func (p forging) afterForging(source *offers, now uint64) error {
	head := p.eth.BlockChain().CurrentBlock()
	s := p.settings.Load()
	given := s.forNext(head.Number.Uint64()) && s.NextTime == head.Time
	if len(source.gone) == 0 && !s.forNext(head.Number.Uint64()) {
		return nil
	}
	if err := p.eth.ChainDb().SyncKeyValue(); err != nil { // a transaction must not leave the file before its block is on disk
		p.fail(err)
		return err
	}
	return p.set(func(s *settings) error {
		if given {
			s.Ahead = int64(head.Time) - int64(now) //nolint:gosec // times are far from overflow
		}
		s.prepare(head.Number.Uint64() + 1)
		s.Waiting = source.left(s.Waiting)
		return nil
	})
}

// setState seals a block without transactions that sets state by hand. Its time is that
// of its parent: to a tool no block was made, and no time has passed.
func (p developer) setState(change func(*state.StateDB) error) error {
	_, err := p.commit(func() error {
		head := p.eth.BlockChain().CurrentBlock()
		if err := forging(p).forge(forge.Plan{Time: head.Time, Change: change}); err != nil {
			return err
		}
		if s := p.settings.Load(); !s.forNext(head.Number.Uint64() + 1) {
			return nil
		}
		return p.set(func(s *settings) error { // it is for the block behind this one now
			s.Next++
			return nil
		})
	})
	return err
}

// blocksAtOnce is how many blocks are sealed before answers and others' changes get their
// turn. A block takes about 4 ms.
const blocksAtOnce = 10

// mine seals blocks, some seconds apart.
func (p developer) mine(count, apart uint64, more func() error) error {
	for begin := uint64(0); begin < count; begin += blocksAtOnce {
		if err := more(); err != nil {
			return err
		}
		_, err := p.commit(func() error {
			for i := begin; i < min(begin+blocksAtOnce, count); i++ {
				if err := p.sealApart(i, apart); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// sealApart seals a block that long after the one before it, unless it is the first.
func (p developer) sealApart(i, apart uint64) error {
	if i > 0 && apart > 0 {
		next := p.eth.BlockChain().CurrentBlock().Time + apart
		p.settings.Store(p.settings.Load().at(p.next(), next)) // on disk with the block's own changes
	}
	if _, late := p.executables(); len(late) > 0 { // go-ethereum would leave them out, and a tool counts on what it has sent
		return forging(p).seal(p.eth.BlockChain().CurrentBlock(), uint64(time.Now().Unix())) //nolint:gosec // after 1970
	}
	return p.sealNext()
}

// at are the same settings with another time of the next block.
func (s *settings) at(number, time uint64) *settings {
	c := s.clone()
	c.prepare(number)
	c.NextTime = time
	return c
}

// drop removes a transaction that waits, and reports whether it was there. go-ethereum's
// pool can only be emptied, so the others are put back.
func (p developer) drop(hash *common.Hash) (found bool, err error) {
	end, err := p.change()
	if err != nil {
		return false, err
	}
	defer end()
	pool := p.eth.TxPool()
	pending, queued := pool.Content()
	var others []*types.Transaction
	for _, list := range []map[common.Address][]*types.Transaction{pending, queued} {
		for _, txs := range list {
			for _, tx := range txs {
				if hash == nil || tx.Hash() == *hash {
					found = true
				} else {
					others = append(others, tx)
				}
			}
		}
	}
	if found {
		pool.Clear()
		err = errors.Join(pool.Sync(), errors.Join(pool.Add(others, true)...), p.compact())
	}
	return p.dropWaiting(hash) || found, err
}

// dropWaiting is drop for transactions of impersonated senders.
func (p developer) dropWaiting(hash *common.Hash) bool {
	s := p.settings.Load()
	left := make([]waitingTx, 0, len(s.Waiting))
	for _, w := range s.Waiting {
		if tx := w.tx(); hash != nil && tx != nil && tx.Hash() != *hash {
			left = append(left, w)
		}
	}
	if len(left) == len(s.Waiting) {
		return false
	}
	return p.set(func(s *settings) error { s.Waiting = left; return nil }) == nil
}

// minGasLimit and maxGasLimit bound what evm_setBlockGasLimit takes.
const (
	minGasLimit = params.MinGasLimit
	maxGasLimit = 1_000_000_000
)
