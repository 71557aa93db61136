package pool

import "slices"

// place is a block by its number and hash.
type place struct {
	number uint64
	hash   string // "": none
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

func (b *branch) has(p place) bool { return p.hash != "" && b.hash(p.number) == p.hash }

// take adds a block. It is false when the block contradicts the branch, or lies above
// it after a gap. A block that is at least as high then begins the branch anew, a
// lower one is that of a node on a branch of its own.
func (b *branch) take(h header) (fits bool) {
	if len(b.hashes) == 0 {
		b.restart(h)
		return true
	}
	here, below := b.hash(h.number), ""
	if h.number > 0 {
		below = b.hash(h.number - 1)
	}
	switch {
	case here == h.hash:
		b.deepen(h)
		return below == "" || below == h.parent
	case h.number < b.first:
		return true // nothing to compare it with, and nothing that it replaces
	case h.number < b.last():
		return false
	case below == "" || below != h.parent:
		b.restart(h)
		return false
	}
	b.hashes = append(b.hashes[:h.number-b.first], h.hash)
	if extra := len(b.hashes) - branchLength; extra > 0 {
		b.hashes, b.first = slices.Delete(b.hashes, 0, extra), b.first+uint64(extra)
	}
	return here == ""
}

// restart forgets all but a block and its parent.
func (b *branch) restart(h header) {
	b.first, b.hashes = h.number, append(b.hashes[:0], h.hash)
	b.deepen(h)
}

// deepen adds the parent of the lowest block.
func (b *branch) deepen(h header) {
	if h.number == b.first && h.number > 0 && len(b.hashes) < branchLength {
		b.first, b.hashes = b.first-1, slices.Insert(b.hashes, 0, h.parent)
	}
}

// merge compares a node's claim with what is known of the chain and with the node's
// claim before. It tells whether answers that were right by then may be wrong now.
func (h *heads) merge(c *claim) (forked bool) {
	was, now := c.merged, c.place()
	if was == now {
		return false
	}
	c.merged = now
	onBranch := was.hash == "" || h.branch.has(was)
	fits := h.branch.take(c.header)
	// What is final is kept whatever the fork is: a node that catches up costs nothing.
	final := was.hash != "" && was.number <= h.final()
	return !fits || !final && was.hash != c.parent && !(onBranch && h.branch.has(now))
}

// final is the newest block that clients were told is final.
func (h *heads) final() uint64 {
	if told := h.told.Load(); told != nil {
		return told.Finalized
	}
	return 0
}

// show notes which block clients are told of. It tells whether that one may not
// descend from the one before: two nodes may differ for a while, and another of them
// be the one that is followed.
func (h *heads) show(c *claim) (forked bool) {
	was, now := h.shown, c.place()
	h.shown = now
	return was.hash != "" && was != now && was.hash != c.parent && !(h.branch.has(was) && h.branch.has(now))
}

// astray is the first block that a node has otherwise than the chain that clients were
// told of; 0: none that is known of. A node that stays behind on an orphaned branch has
// blocks of the right numbers, and they are the wrong ones. Where its branch begins is
// only known if that is with its newest block, or else it is after the last final one.
func (h *heads) astray(c *claim) uint64 {
	if !h.branch.has(h.shown) {
		return 0 // two differ at the top: either may turn out to be right
	}
	switch here := h.branch.hash(c.number); {
	case here == "" || here == c.hash:
		return 0
	case c.number > 0 && h.branch.hash(c.number-1) == c.parent:
		return c.number
	}
	return h.final() + 1
}
