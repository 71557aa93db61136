package pool

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
)

// stance is what a node last said of the block that clients were told is final.
type stance uint8

const (
	unsaid  stance = iota // nothing: it was not asked, or doesn't have a block of that number
	agrees                // it has that block
	differs               // it has another one there: its chain was begun anew, or is not the others'
)

// reportFinal takes what the tags mean to a node, and what it has where the block is that
// clients were told is final.
func (p *Pool) reportFinal(n *node, safe uint64, final, shown place) {
	h := &p.heads
	h.mu.Lock()
	defer h.mu.Unlock()
	n.claim.safe, n.claim.finalized, n.claim.root = safe, final.number, final
	if shown.hash != "" && shown.number == h.sealed.number {
		n.claim.stance = differs
		if shown == h.sealed {
			n.claim.stance = agrees
		}
	}
	p.weigh()
}

// atSeal is the block that a node has where the one is that clients were told is final;
// none if it has none. The node is asked only if its own final block is not at that number.
func (p *Pool) atSeal(ctx context.Context, n *node, final place) (place, error) {
	p.heads.mu.Lock()
	sealed := p.heads.sealed
	p.heads.mu.Unlock()
	if sealed.hash == "" || final.number == sealed.number {
		return final, nil
	}
	raw := hexNumber(sealed.number)
	shown, err := p.block(ctx, n, raw[1:len(raw)-1])
	if refused(err) || errors.Is(err, errNoBlock) {
		return place{}, nil
	}
	return shown.place(), err
}

// takeBack notices that final blocks were taken back, however far the new chain has come:
// a node has another block where the final one was, and none still has that one. As long
// as one has it, the other is on a chain of its own, and its word on what is final is not
// taken.
func (p *Pool) takeBack(next *nodegate.Head, nodes []*node) (taken bool) {
	var by *node
	for _, n := range nodes {
		if n.doubted.Load() || n.breaker.open() || n.silent.Load() > 1 {
			continue
		}
		switch {
		case n.claim.stance == agrees:
			return false
		case n.claim.stance == differs && !n.syncing.Load() && (by == nil || n.claim.finalized > by.claim.finalized):
			by = n
		}
	}
	if by == nil {
		return false
	}
	p.log.Error("node has a different block at a finalized height: the chain was reset", "node", by.cfg.Name, "block", p.heads.sealed.number)
	next.Lost++
	p.heads.unseal(next, by, nodes)
	return true
}

// unseal lets what one node says be all that is final.
func (h *heads) unseal(next *nodegate.Head, by *node, nodes []*node) {
	next.Safe, next.Finalized = by.claim.safe, by.claim.finalized
	h.sealed = place{}
	for _, n := range nodes { // what one that is gone said of the old chain
		n.claim.safe, n.claim.finalized = min(n.claim.safe, next.Safe), min(n.claim.finalized, next.Finalized)
		n.claim.stance = unsaid
		if n != by {
			n.claim.root = place{}
		}
	}
}

// seal remembers the newest final block by its hash, as a node says that is of the chain.
func (h *heads) seal(final uint64, nodes []*node) {
	if h.sealed.number == final {
		return
	}
	for _, n := range nodes {
		if root := n.claim.root; root.hash != "" && root.number == final && !n.doubted.Load() && n.claim.stance != differs {
			h.sealed, n.claim.stance = root, agrees
			return
		}
	}
}
