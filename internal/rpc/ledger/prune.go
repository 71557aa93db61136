package ledger

import "time"

// pruneEvery is after how many blocks the bounds are looked at.
const pruneEvery = 64

// keepSides is how long blocks of other branches are kept, in blocks. Nodes keep them for
// about as long.
const keepSides = 256

// prune keeps the copy within its bounds. An error shows when the next block is written,
// and what is left is removed the next time.
func (f *follower) prune() {
	first, tip, ok := f.store.Tip()
	blocks := f.node.cfg.Blocks
	if !ok || tip.Number >= f.pruned && tip.Number-f.pruned < min(pruneEvery, blocks) {
		return
	}
	f.pruned = tip.Number
	below := firstOf(tip.Number, blocks)
	if data, index := f.store.Bytes(); data+index > f.node.cfg.Disk {
		// What is removed frees disk space only when the database gets to it.
		below = max(below, eighth(first.Number, tip.Number))
	}
	if _, err := f.store.Prune(below); err != nil {
		f.log.Debug("the ledger could not prune blocks", "err", err)
	}
	if _, err := f.store.PruneSides(firstOf(tip.Number, keepSides)); err != nil {
		f.log.Debug("the ledger could not prune other branches", "err", err)
	}
}

// eighth is the first block that stays if an eighth of a copy is removed.
func eighth(first, last uint64) uint64 { return first + (last-first)/8 + 1 }

// shrinkEvery is how long the database gets to free the space of what was removed.
const shrinkEvery = 30 * time.Second

// shrink makes space on a full disk: accounts and chains need it more than a copy does. It
// removes an eighth of the blocks, and leaves as many as a new copy has.
func (f *follower) shrink(now time.Time) {
	first, tip, ok := f.store.Tip()
	if !ok || now.Before(f.shrinkAt) {
		return
	}
	below := min(eighth(first.Number, tip.Number), firstOf(tip.Number, firstBlocks))
	if below <= first.Number {
		return
	}
	f.shrinkAt = now.Add(shrinkEvery)
	f.log.Warn("the disk is full: the ledger removes its oldest blocks", "from", first.Number, "to", below-1)
	if _, err := f.store.Prune(below); err != nil {
		f.log.Debug("the ledger could not prune blocks", "err", err)
	}
}
