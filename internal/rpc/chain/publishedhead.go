package chain

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate"
)

// told is the head as the layers above know it. It never changes.
type told struct {
	nodegate.Head
	hash common.Hash
	lost bool // a final block was taken back: nothing counts as final any more
}

// tell publishes the head. The lock is held: the block is whole, with what is safe and
// final, and no answer may speak of it before the lock is free. So whoever was told of a
// block finds it in Head, and an answer that was asked for under a head is never older.
func (p *producer) tell() {
	bc := p.eth.BlockChain()
	head, was := bc.CurrentBlock(), p.told.Load()
	now := &told{hash: head.Hash(), lost: was.lost}
	now.Number, now.GasLimit, now.Fork, now.Lost = head.Number.Uint64(), head.GasLimit, was.Fork, was.Lost
	if now.hash != was.hash && head.ParentHash != was.hash {
		now.Fork++ // set back, or another branch; the first one is 1
	}
	now.Safe, now.Finalized = numberOf(bc.CurrentSafeBlock()), numberOf(bc.CurrentFinalBlock())
	if now.Finalized < was.Finalized {
		now.lost = true
		now.Lost++
	}
	if now.lost {
		now.Finalized = 0
	}
	p.told.Store(now)
}

// numberOf is 0 where there is no such block.
func numberOf(h *types.Header) uint64 {
	if h == nil {
		return 0
	}
	return h.Number.Uint64()
}
