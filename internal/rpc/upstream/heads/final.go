package heads

import "github.com/nodegate/nodegate"

// stance is what a node last said of the block that clients were told is final.
type stance uint8

const (
	unsaid  stance = iota // nothing: it was not asked, or doesn't have a block of that number
	agrees                // it has that block
	differs               // it has another one there: its chain was started over, or is not the others'
)

// ReportFinal takes what the tags mean to a node, and what it has where the block is that
// clients were told is final.
func (t *Tracker) ReportFinal(n *Node, safe uint64, final, shown Place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n.claim.safe, n.claim.finalized, n.claim.root = safe, final.Number, final
	if shown.Hash != "" && t.sealed.Hash != "" && shown.Number == t.sealed.Number {
		n.claim.stance = differs
		if shown == t.sealed {
			n.claim.stance = agrees
		}
	}
	t.weigh()
}

// Sealed is the newest block that clients were told is final; without a hash if none is
// known by it.
func (t *Tracker) Sealed() Place {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sealed
}

// takeBack notices that final blocks were taken back, however far the new chain has come:
// a node has another block where the final one was, and none still has that one. As long
// as one has it, the other is on a chain of its own, and its word on what is final is not
// taken.
func (t *Tracker) takeBack(next *nodegate.Head, nodes []*Node) (taken bool) {
	var by *Node
	for _, n := range nodes {
		if n.Doubted.Load() || n.Aside() || n.Silent.Load() > 1 {
			continue
		}
		switch {
		case n.claim.stance == agrees:
			return false
		case n.claim.stance == differs && !n.Syncing.Load() && (by == nil || n.claim.finalized > by.claim.finalized):
			by = n
		}
	}
	if by == nil {
		return false
	}
	t.cfg.Log.Error("node has a different block at a finalized height: the chain was reset", "node", by.Name, "block", t.sealed.Number)
	next.Lost++
	t.unseal(next, by, nodes)
	return true
}

// unseal lets what one node says be all that is final.
func (t *Tracker) unseal(next *nodegate.Head, by *Node, nodes []*Node) {
	next.Safe, next.Finalized = by.claim.safe, by.claim.finalized
	t.sealed = Place{}
	for _, n := range nodes { // what one that is gone said of the old chain
		n.claim.safe, n.claim.finalized = min(n.claim.safe, next.Safe), min(n.claim.finalized, next.Finalized)
		n.claim.stance = unsaid
		if n != by {
			n.claim.root = Place{}
		}
	}
}

// seal remembers the newest final block by its hash, as a node says that is of the chain.
// On a chain that has no other yet that is the genesis block.
func (t *Tracker) seal(final uint64, nodes []*Node) {
	if t.sealed.Hash != "" && t.sealed.Number == final {
		return
	}
	for _, n := range nodes {
		if root := n.claim.root; root.Hash != "" && root.Number == final && !n.Doubted.Load() && n.claim.stance != differs {
			t.sealed, n.claim.stance = root, agrees
			return
		}
	}
}
