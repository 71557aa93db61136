package ledger

import (
	"cmp"
	"slices"

	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// Claim is the newest block of a node, as the node says.
type Claim struct {
	Node         string
	Number       uint64
	Hash, Parent [32]byte
	Fresh        bool // the node says so now; not if it is away
}

// vouchers are the nodes that gave hashes of the chain's blocks, each with the newest. Who
// gave the hash of a block gave those of all blocks before it, because each names its parent.
// So the heads that nodes report anyway are enough to count them.
type vouchers struct {
	claims    func() []Claim // nil: not known
	canonical func(number uint64) (store.Mark, bool, error)

	of         map[string]uint64
	fork, lost uint64 // of the chain that they gave them of
	final      uint64 // its last final block, as far as it was shown
}

// forget is for a chain that is not the one that the nodes gave hashes of.
func (s *vouchers) forget() { s.of, s.final = nil, 0 }

// newest are the newest blocks that nodes gave of a view's chain, the highest first.
func (s *vouchers) newest(v *view) []uint64 {
	if s.claims == nil {
		return nil
	}
	if s.lost != v.head.Lost {
		s.forget()
	}
	now := make(map[string]uint64, len(s.of))
	for _, c := range s.claims() {
		was, did := s.of[c.Node]
		if did && s.fork != v.head.Fork {
			was, did = min(was, s.final), s.final > 0 // another branch has the final blocks too
		}
		if number, says, yes := s.place(&c, v); says {
			was, did = max(was, number), yes
		}
		if did {
			now[c.Node] = was
		}
	}
	s.of, s.fork, s.lost, s.final = now, v.head.Fork, v.head.Lost, v.final
	list := make([]uint64, 0, len(now))
	for _, number := range now {
		list = append(list, number)
	}
	slices.SortFunc(list, func(a, b uint64) int { return cmp.Compare(b, a) })
	return list
}

// place finds a claim on the chain of a view. It says nothing about blocks that the view
// doesn't have; yes is false if the node has another block there.
func (s *vouchers) place(c *Claim, v *view) (number uint64, says, yes bool) {
	switch {
	case !c.Fresh || c.Number > v.last+1:
		return 0, false, false
	case c.Number == v.last+1:
		return v.last, true, c.Parent == v.hash
	case c.Number == v.last:
		return v.last, true, c.Hash == v.hash
	}
	m, ok, err := s.canonical(c.Number)
	return c.Number, ok && err == nil, m.Hash == c.Hash
}

// show makes a view the one that lookups go by, with the nodes that vouch for it.
func (f *follower) show(v *view) {
	v.vouched = f.vouchers.newest(v)
	v.linked = f.checkpoint.has(f.store)
	note(f.store, f.node.cfg.Origin, v)
	f.node.show(v)
}

// Vouched is how many nodes gave the hash of a block by now, and whether the block is linked to
// the checkpoint. Of a block that the copy doesn't have, one gave it to whoever asks.
func (n *Node) Vouched(number uint64, hash [32]byte) (agreed int, linked bool) {
	v, s := n.view.Load(), n.store.Load()
	if v == nil || s == nil || number > v.last {
		return 1, false
	}
	r := reader{store: s, view: v}
	return r.vouched(byBlock, store.Place{Number: number, Hash: hash})
}

// agreed is how many nodes gave the hash of a block of the view's chain. One gave it to us,
// also if it isn't known any more which.
func (v *view) agreed(number uint64) int {
	n := 0
	for n < len(v.vouched) && v.vouched[n] >= number {
		n++
	}
	return max(n, 1)
}
