package filter

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Config is what the filters of a network need.
type Config struct {
	Network string
	Store   Store
	// LogBlocks is how many blocks eth_getFilterLogs may span.
	LogBlocks uint64
}

// Node answers the methods of filters over a network's node.
type Node struct {
	next    nodegate.Node
	cfg     Config
	pending *pendings
}

var _ nodegate.Feed = (*Node)(nil)

// New puts filters over a network's node.
func New(next nodegate.Node, cfg Config) *Node {
	return &Node{next: next, cfg: cfg, pending: &pendings{next: next, network: cfg.Network, store: cfg.Store}}
}

// Call answers the methods of filters and passes all others on.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	switch {
	case row.Kind != method.Sticky:
		return n.next.Call(ctx, name, params)
	case row.NewFilter:
		return n.create(ctx, row.Finds, params)
	}
	h, err := n.find(ctx, params)
	switch {
	case err != nil:
		return nil, err
	case row.EndsFilter:
		return h.remove(ctx)
	case row.Finds == method.FindsLogs:
		return n.allLogs(ctx, h)
	}
	return n.changes(ctx, h)
}

// Head is the node's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe is the node's, where it can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}

// find names the filter that a call is about. The caller's key is part of the name: to
// anybody else there is no such filter.
func (n *Node) find(ctx context.Context, params []byte) (handle, error) {
	var room [2][]byte
	list, ok := jsonrpc.Elements(room[:0], params)
	if !ok || len(list) == 0 {
		return handle{}, invalid("missing value for required argument 0")
	}
	id, ok := jsonrpc.String(list[0])
	if !ok {
		return handle{}, invalid("invalid argument 0: non-string, want the id of a filter")
	}
	const longest = 64
	return n.handle(ctx, string(id[:min(len(id), longest)])), nil
}

// handle is one filter in the store.
type handle struct {
	store                Store
	network, account, id string
}

func (n *Node) handle(ctx context.Context, id string) handle {
	grant := nodegate.GrantFrom(ctx)
	return handle{n.cfg.Store, n.cfg.Network, grant.AccountID, grant.KeyID + " " + id}
}

func (h handle) create(ctx context.Context, places int, state []byte) (bool, error) {
	return h.store.Create(ctx, h.network, h.account, h.id, places, state)
}

// load returns the state of a filter that is there.
func (h handle) load(ctx context.Context) ([]byte, error) {
	state, err := h.store.Load(ctx, h.network, h.account, h.id)
	if err == nil && state == nil {
		return nil, errNotFound
	}
	return state, err
}

func (h handle) save(ctx context.Context, before, after []byte) (bool, error) {
	return h.store.Save(ctx, h.network, h.account, h.id, before, after)
}

// newID is an id that nobody can guess.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	b[0] |= 0x80           // some clients drop leading zeros
	return "0x" + hex.EncodeToString(b[:])
}

func (h handle) remove(ctx context.Context) ([]byte, error) {
	removed, err := h.store.Remove(ctx, h.network, h.account, h.id)
	if err != nil {
		return nil, err
	}
	if removed {
		return []byte("true"), nil
	}
	return []byte("false"), nil
}

// errNotFound is in Geth's words.
var errNotFound = &nodegate.Error{Op: "filter", Code: nodegate.ExecutionFailed, Msg: "filter not found"}

func invalid(msg string) error {
	return &nodegate.Error{Op: "filter", Code: nodegate.InvalidParams, Msg: msg}
}

var errTooMany = &nodegate.Error{
	Op: "filter", Code: nodegate.AccountBusy, RetryAfter: time.Minute,
	Msg: "too many filters are open: uninstall some, or wait until they expire",
}
