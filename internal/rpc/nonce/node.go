package nonce

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// Life is how long a nonce is remembered: longer than a transaction takes from node to
// node. One that was dropped or replaced is believed in no longer than that.
const Life = 15 * time.Second

// MaxNonces is how many are remembered for one sender.
const MaxNonces = 256

// Store remembers the nonces of transactions that were sent within [Life].
type Store interface {
	Sent(ctx context.Context, network, sender string, nonce uint64) error
	Nonces(ctx context.Context, network, sender string) ([]uint64, error)
}

// Node counts what was just sent.
type Node struct {
	next    nodegate.Node
	network string
	store   Store
}

var _ nodegate.Feed = (*Node)(nil)

// New lets the senders of a network read their own transactions.
func New(next nodegate.Node, network string, store Store) *Node {
	return &Node{next: next, network: network, store: store}
}

// Head is the node's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe is the node's, where it can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}

// Call passes calls on, notes what was sent, and counts it.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	result, err := n.next.Call(ctx, name, params)
	switch {
	case err != nil:
	case row.Kind == method.Send:
		n.note(ctx, params)
	case row.CountsSent:
		result = n.count(ctx, params, result)
	}
	return result, err
}

// storeWithin is how long a store is waited for: without it nonces are what nodes say.
const storeWithin = 250 * time.Millisecond

// note remembers the nonce of a transaction that a node has taken.
func (n *Node) note(ctx context.Context, params []byte) {
	var room [2][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) == 0 {
		return
	}
	sender, nonce, ok := senderOf(list[0])
	if !ok {
		return // a type that is not known here
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeWithin)
	defer cancel()
	_ = n.store.Sent(ctx, n.network, sender, nonce) // its store logs what fails
}

// count adds to a node's pending nonce what was sent and follows it without a gap.
func (n *Node) count(ctx context.Context, params, result []byte) []byte {
	var room [3][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) < 2 || string(list[1]) != `"pending"` {
		return result
	}
	next, ok := hexjson.Quantity(result)
	sender, isText := jsonrpc.String(list[0])
	if !ok || !isText {
		return result
	}
	ctx, cancel := context.WithTimeout(ctx, storeWithin)
	defer cancel()
	sent, err := n.store.Nonces(ctx, n.network, strings.ToLower(string(sender)))
	if err != nil || len(sent) == 0 {
		return result
	}
	for slices.Contains(sent, next) {
		next++
	}
	return []byte(hexjson.Number(next))
}
