package pool

import (
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/rpc/upstream/feed"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// nodeSet is the network's nodes: who there is, how good each is to ask, and which one a
// call goes to.
type nodeSet struct {
	network string
	maxLag  uint64
	log     *slog.Logger
	heads   *heads.Tracker
	opened  time.Time

	list     atomic.Pointer[[]*node]
	ejecting sync.Mutex
	differed atomic.Int64 // when a disagreement was logged last, in Unix nanoseconds
}

func newNodeSet(cfg Config, log *slog.Logger, h *heads.Tracker) *nodeSet {
	ns := &nodeSet{network: cfg.Network, maxLag: cfg.MaxLag, log: log, heads: h, opened: time.Now()}
	ns.list.Store(new([]*node))
	return ns
}

// all are the nodes at this moment. The list is never written to.
func (ns *nodeSet) all() []*node { return *ns.list.Load() }

// set makes these the nodes.
func (ns *nodeSet) set(nodes []*node) {
	followed := make([]*heads.Node, len(nodes))
	for i, n := range nodes {
		followed[i] = &n.Node
	}
	ns.list.Store(&nodes)
	ns.heads.Follow(followed)
}

// find is the node that the tracker of heads means; nil when it was removed.
func (ns *nodeSet) find(followed *heads.Node) *node {
	for _, n := range ns.all() {
		if &n.Node == followed {
			return n
		}
	}
	return nil
}

// somebodyWell tells whether another node is well. While none is, those that were put
// aside are looked at all the time.
func (ns *nodeSet) somebodyWell(n *node) bool {
	for _, other := range ns.all() {
		if other != n && ns.grade(other) == well && other.breaker.failures.Load() < failuresInARow {
			return true
		}
	}
	return false
}

// anyLink tells whether any node has a WebSocket address.
func (ns *nodeSet) anyLink() bool {
	for _, n := range ns.all() {
		if n.link != nil {
			return true
		}
	}
	return false
}

// bestLink is the open socket of the best node that has one.
func (ns *nodeSet) bestLink() feed.Subscriber {
	var best feed.Subscriber
	grade := unusable
	for _, n := range ns.all() {
		if s := n.link.current(); s != nil && n.Checked.Load() && ns.grade(n) < grade {
			best, grade = s, ns.grade(n)
		}
	}
	return best
}
