package heads

import "slices"

// Place is a block by its number and hash.
type Place struct {
	Number uint64
	Hash   string // "": none
}

// branchLength is how many of the newest blocks are known by their hashes.
const branchLength = 128

// branch is the newest blocks of one version of the chain as nodes reported them, each
// the parent of the next.
type branch struct {
	first  uint64 // the number of the lowest
	hashes []string
}

// last is the number of the highest; the branch is not empty.
func (b *branch) last() uint64 { return b.first + uint64(len(b.hashes)) - 1 }

// hash is that of a block; "" where it is not known.
func (b *branch) hash(number uint64) string {
	if at := number - b.first; number >= b.first && at < uint64(len(b.hashes)) {
		return b.hashes[at]
	}
	return ""
}

func (b *branch) has(p Place) bool { return p.Hash != "" && b.hash(p.Number) == p.Hash }

// take adds a block. It is false when the block contradicts the branch, or lies above
// it after a gap. A block that is at least as high then starts the branch over, a
// lower one is that of a node on a branch of its own.
func (b *branch) take(h Header) (fits bool) {
	if len(b.hashes) == 0 {
		b.restart(h)
		return true
	}
	here, below := b.hash(h.Number), ""
	if h.Number > 0 {
		below = b.hash(h.Number - 1)
	}
	switch {
	case here == h.Hash:
		b.deepen(h)
		return below == "" || below == h.Parent
	case h.Number < b.first:
		return true // nothing to compare it with, and nothing that it replaces
	case h.Number < b.last():
		return false
	case below == "" || below != h.Parent:
		b.restart(h)
		return false
	}
	b.hashes = append(b.hashes[:h.Number-b.first], h.Hash)
	if extra := len(b.hashes) - branchLength; extra > 0 {
		b.hashes, b.first = slices.Delete(b.hashes, 0, extra), b.first+uint64(extra)
	}
	return here == ""
}

// restart forgets all but a block and its parent.
func (b *branch) restart(h Header) {
	b.first, b.hashes = h.Number, append(b.hashes[:0], h.Hash)
	b.deepen(h)
}

// deepen adds the parent of the lowest block.
func (b *branch) deepen(h Header) {
	if h.Number == b.first && h.Number > 0 && len(b.hashes) < branchLength {
		b.first, b.hashes = b.first-1, slices.Insert(b.hashes, 0, h.Parent)
	}
}

// merge compares a node's claim with what is known of the chain and with the node's
// claim before. It tells whether answers that were right by then may be wrong now.
func (t *Tracker) merge(c *claim) (forked bool) {
	was, now := c.merged, c.Place()
	if was == now {
		return false
	}
	c.merged = now
	onBranch := was.Hash == "" || t.branch.has(was)
	fits := t.branch.take(c.Header)
	// What is final is kept whatever the fork is: a node that catches up costs nothing.
	final := was.Hash != "" && was.Number <= t.final()
	return !fits || !final && was.Hash != c.Parent && !(onBranch && t.branch.has(now))
}

// final is the newest block that clients were told is final.
func (t *Tracker) final() uint64 {
	if told := t.told.Load(); told != nil {
		return told.Finalized
	}
	return 0
}

// show notes which block clients are told of. It tells whether that one may not
// descend from the one before: two nodes may differ for a while, and another of them
// be the one that is followed.
func (t *Tracker) show(c *claim) (forked bool) {
	was, now := t.shown, c.Place()
	t.shown = now
	return was.Hash != "" && was != now && was.Hash != c.Parent && !(t.branch.has(was) && t.branch.has(now))
}

// astray is the first block that a node has otherwise than the chain that clients were
// told of; 0: none that is known of. A node that stays behind on an orphaned branch has
// blocks of the right numbers, and they are the wrong ones. Where its branch begins is
// only known if that is with its newest block, or else it is after the last final one.
func (t *Tracker) astray(c *claim) uint64 {
	if !t.branch.has(t.shown) {
		return 0 // two differ at the top: either may turn out to be right
	}
	switch here := t.branch.hash(c.Number); {
	case here == "" || here == c.Hash:
		return 0
	case c.Number > 0 && t.branch.hash(c.Number-1) == c.Parent:
		return c.Number
	}
	return t.final() + 1
}
