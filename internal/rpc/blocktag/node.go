package blocktag

import (
	"context"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
)

// Node resolves the tags of the calls to one network.
type Node struct {
	next nodegate.Node
	seen *atomic.Pointer[view] // the furthest view that anybody was given
}

var _ nodegate.Feed = (*Node)(nil)

// New puts the resolution of tags over a network's nodes.
func New(next nodegate.Node) *Node {
	n := &Node{next: next, seen: new(atomic.Pointer[view])}
	n.seen.Store(newView(nodegate.Head{}))
	return n
}

// Beside resolves tags for another node of the same network, to the blocks that n resolves
// them to.
func (n *Node) Beside(next nodegate.Node) *Node { return &Node{next: next, seen: n.seen} }

// Call passes a method on with its tags resolved, and answers eth_blockNumber itself.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	var err error
	switch {
	case row.Block != method.None:
		params, err = n.resolveBlock(ctx, row, params)
	case row.Truth == method.OfARange:
		params, err = n.resolveLogs(ctx, params)
	case name == method.EthBlockNumber && (len(params) == 0 || string(params) == "[]"):
		v, err := n.view(ctx)
		if err != nil {
			return nil, err
		}
		return v.latest, nil
	}
	if err != nil {
		return nil, err
	}
	return n.next.Call(ctx, name, params)
}

// Head is the newest block that was ever told.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) {
	v, err := n.view(ctx)
	if err != nil {
		return nodegate.Head{}, err
	}
	return v.Head, nil
}

// Subscribe passes a subscription on where the node below can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}
