package filter

import (
	"context"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Node keeps the filters of one network with their owners.
type Node struct {
	next  nodegate.Node
	table table
}

var _ nodegate.Feed = (*Node)(nil)

// New puts owners over a network's filters.
func New(next nodegate.Node) *Node { return &Node{next: next} }

// Call passes methods on. Those of filters get the node's id in place of the client's.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	switch {
	case row.Kind != method.Sticky:
		return n.next.Call(ctx, name, params)
	case row.NewFilter:
		return n.create(ctx, name, params)
	}
	return n.use(ctx, row, name, params)
}

// create has the node make a filter and hides its id.
func (n *Node) create(ctx context.Context, name string, params []byte) ([]byte, error) {
	grant := nodegate.GrantFrom(ctx)
	if err := n.table.room(grant.AccountID, time.Now()); err != nil {
		return nil, err
	}
	theirs, err := n.next.Call(ctx, name, params)
	if err != nil {
		return nil, err
	}
	return n.table.add(grant, theirs, time.Now()), nil
}

// use answers a call about a filter to its owner. To anybody else there is none.
func (n *Node) use(ctx context.Context, row *method.Row, name string, params []byte) ([]byte, error) {
	var room [2][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) != 1 {
		return n.next.Call(ctx, name, params) // it says what is wrong with them
	}
	id, _ := jsonrpc.String(list[0])
	grant := nodegate.GrantFrom(ctx)
	theirs := n.table.find(grant, string(id), time.Now())
	switch {
	case theirs == nil && row.EndsFilter:
		return []byte("false"), nil
	case theirs == nil:
		return nil, errNotFound
	case row.EndsFilter:
		n.table.remove(string(id))
	}
	return n.next.Call(ctx, name, slices.Concat([]byte{'['}, theirs, []byte{']'}))
}

// errNotFound is in Geth's words.
var errNotFound = &nodegate.Error{Op: "filter", Code: nodegate.ExecutionFailed, Msg: "filter not found"}

// Head is the node's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe is the node's, where it can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}
