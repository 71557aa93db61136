package chain

import (
	"errors"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/internal/rpc/chain/txjournal"
)

func markOf(h *types.Header) txjournal.Mark {
	return txjournal.Mark{Number: h.Number.Uint64(), Hash: h.Hash()}
}

// noteHead tells the journal which block is on disk, so that a database that lost blocks
// is noticed at the next start. Without space the note is missing until the next one.
func (p *producer) noteHead(head *types.Header) error {
	return p.kept(p.journal.Head(markOf(head)))
}

// noteRewind tells the journal what is about to happen, and that transactions which came
// before are forgotten once it has.
func (p *producer) noteRewind(to *types.Header) error {
	p.epoch.Add(1)
	if err := p.journal.Rewind(markOf(to)); err != nil {
		return errors.Join(err, p.kept(err))
	}
	return nil
}

// kept stops the network when the journal can't be synced any more: it would acknowledge
// what it doesn't keep. A full disk passes.
func (p *producer) kept(err error) error {
	if errors.Is(err, txjournal.ErrFailed) || errors.Is(err, txjournal.ErrDamaged) {
		p.fail(err)
		return err
	}
	if disk.IsFull(err) {
		return nil
	}
	return err
}

// shorten compacts the journal when that is worth it. The lock is held.
func (p *producer) shorten() error {
	if !p.journal.Due() {
		return nil
	}
	return p.compact()
}

// compact takes out of the journal what is not in the pool. The lock is held, so every
// block is on disk.
func (p *producer) compact() error {
	return p.kept(p.journal.Compact(markOf(p.eth.BlockChain().CurrentBlock()), func(h txjournal.Hash) bool {
		return p.eth.TxPool().Has(h)
	}))
}

// tidy does shorten for whoever doesn't hold the lock. The transactions of a revert that
// came in between are not needed either.
func (p *producer) tidy(epoch int64) error {
	if !p.journal.Due() && epoch == p.epoch.Load() {
		return nil
	}
	if p.mu.acquire(p.ended) != nil {
		return p.failure()
	}
	defer p.mu.release()
	return p.compact()
}
