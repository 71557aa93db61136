package ledger

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
		below = max(below, first.Number+(tip.Number-first.Number)/8+1)
	}
	if _, err := f.store.Prune(below); err != nil {
		f.log.Debug("the ledger could not prune blocks", "err", err)
	}
	if _, err := f.store.PruneSides(firstOf(tip.Number, keepSides)); err != nil {
		f.log.Debug("the ledger could not prune other branches", "err", err)
	}
}
