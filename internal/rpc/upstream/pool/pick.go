package pool

import (
	"context"
	"slices"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// lastRank is the rank of the last tier.
const lastRank = 3

// What speaks against a node for a call, the weightiest last: each outweighs
// all before it together. Nodes with the smallest sum are candidates.
const (
	againstTier    = 1 // times its rank, at most lastRank
	againstPoorly  = (lastRank + 1) << iota
	againstTooWide // the node is known to refuse so wide a log query
	againstLacking // the block, the history or the method
	againstAside
)

// choice is what pick found.
type choice struct {
	node    *node
	against int
	busy    time.Duration // when there is no node: until the first is not busy; 0: there is none at all
}

// behind tells whether the chosen node has not come as far as the call asks.
func (c choice) behind(q *query) bool {
	return c.node != nil && q.numbered && c.node.Head.Load() < q.block
}

// pick chooses the node to ask: of those that nothing, or the least, speaks against,
// the better of two drawn at random. It does not yet take the node's credits.
func (ns *nodeSet) pick(q *query, tried []*node) choice {
	var room [16]*node
	best, list, soonest := againstAside<<1, room[:0], time.Duration(0)
	now := time.Now()
	for _, n := range ns.all() {
		if slices.Contains(tried, n) || q.only != nil && !slices.Contains(q.only, n) {
			continue
		}
		against := ns.against(n, q)
		if against > best {
			continue
		}
		if wait := n.busy(q.cost, now); wait > 0 {
			if soonest == 0 || wait < soonest {
				soonest = wait
			}
			continue
		}
		if against < best {
			best, list = against, room[:0]
		}
		list = append(list, n)
	}
	switch {
	case q.only != nil && (len(list) == 0 || best >= againstAside):
		q.only = nil // none of the preferred ones can be asked
		return ns.pick(q, tried)
	case len(list) == 0:
		return choice{busy: soonest}
	}
	return choice{node: ns.better(list, q), against: best}
}

func (ns *nodeSet) against(n *node, q *query) (sum int) {
	if !n.cfg.serves(q.method) {
		return againstAside << 2
	}
	switch ns.grade(n) {
	case unusable:
		return againstAside << 2
	case aside:
		sum = againstAside
	case poorly:
		sum = againstPoorly
	}
	sum |= againstTier * min(n.cfg.rank(), lastRank)
	if !n.allows(q) {
		sum |= againstTooWide
	}
	if n.lacks(q) {
		sum |= againstLacking
	}
	return sum
}

// lacks tells whether the node is known not to have what a call asks for.
func (n *node) lacks(q *query) bool {
	if !n.history.offers(q.method) {
		return true
	}
	if !q.numbered {
		return false
	}
	if from := n.Astray.Load(); from != 0 && q.block >= from {
		return true
	}
	head := n.Head.Load()
	return head < q.block || n.history.cut(q.info, q.block, head)
}

// clearly is how much smaller a score must be to count: nodes that are about as good
// as each other all get their share.
const clearly = 0.8

// better draws two and takes the one with the smaller score. A hash names no block,
// so among these the node whose history is known to reach back further comes first.
func (ns *nodeSet) better(list []*node, q *query) *node {
	if len(list) == 1 {
		return list[0]
	}
	a, b := drawTwo(list)
	if q.only != nil {
		if x, y := a.Head.Load(), b.Head.Load(); x != y { // of those that took a transaction, who has the newest block
			if y > x {
				return b
			}
			return a
		}
	}
	if q.hash != nil {
		if x, y := a.history.blocks.Load(), b.history.blocks.Load(); x != y {
			if y < x {
				return b
			}
			return a
		}
	}
	if b.score() < clearly*a.score() {
		return b
	}
	return a
}

// busy is how long the node can't take another call.
func (n *node) busy(cost int64, now time.Time) time.Duration {
	if n.inFlight.Load() >= maxInFlight {
		return shortRest
	}
	return n.credits.wait(cost, now)
}

// spare tells whether somebody else could be asked too, against whom less than a
// limit speaks.
func (ns *nodeSet) spare(q *query, tried []*node, limit int) bool {
	for _, n := range ns.all() {
		if !slices.Contains(tried, n) && ns.against(n, q) < limit {
			return true
		}
	}
	return false
}

// spotless tells whether somebody else could be asked too who has not failed since the last
// success.
func (ns *nodeSet) spotless(q *query, tried []*node) bool {
	for _, n := range ns.all() {
		if !slices.Contains(tried, n) && ns.against(n, q) < againstLacking && n.breaker.failures.Load() == 0 && n.Silent.Load() == 0 {
			return true
		}
	}
	return false
}

// blockWait is how long a call waits for a node to have a block that clients were told of.
const blockWait = time.Second

// choose picks a node. It waits a moment when none is there yet, and when no node
// has a block that clients know of.
func (ns *nodeSet) choose(ctx context.Context, q *query, tried []*node) choice {
	c := ns.pick(q, tried)
	most := time.Duration(0)
	switch {
	case c.node == nil && c.busy == 0 && len(tried) == 0:
		most = heads.StartWait - time.Since(ns.opened)
	case c.behind(q) && q.block <= ns.heads.Number():
		most = blockWait
	}
	if most <= 0 {
		return c
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	for {
		changed := ns.heads.Changes()
		if c = ns.pick(q, tried); c.node != nil && !c.behind(q) {
			return c
		}
		select {
		case <-changed:
		case <-timer.C:
			return c
		case <-ctx.Done():
			return c
		}
	}
}
