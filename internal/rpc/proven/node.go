package proven

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
	"github.com/nodegate/nodegate/internal/rpc/chain/native"
	"github.com/nodegate/nodegate/internal/rpc/upstream/verify"
)

// Config is what proofs are made with.
type Config struct {
	// Values has balances, nonces, code and storage answered from proofs. Without it only
	// proofs that clients ask for are checked.
	Values bool
	// Source is the nodes, below every cache. It honors nodegate.Want.
	Source nodegate.Node
	// Hash is the hash of one of the newest blocks as the nodes reported it; not ok where
	// it isn't known. Nil is never known.
	Hash func(number uint64) (hash [32]byte, ok bool)
	// Vouched is how many nodes gave the hash of a block, and whether it is linked to a block
	// that the operator knows. Nil is one node, and that it isn't.
	Vouched func(number uint64, hash [32]byte) (agreed int, linked bool)

	Stack string // layer-2 stack, or ""
	Bytes int64  // memory for what was proven
	// Machine executes calls over proven state; nil leaves them to the nodes.
	Machine *native.Machine
}

// Node answers what it can prove, and passes on everything else.
type Node struct {
	next    nodegate.Node
	cfg     Config
	checker *verify.Checker
	store   *store
	flights flights
	held    atomic.Bool  // a proof has held: this chain has the tries of Ethereum
	noLists atomic.Int64 // until when no node is asked for access lists, in nanoseconds since 1970
}

var _ nodegate.Feed = (*Node)(nil)

// New puts proofs over a network's node.
func New(next nodegate.Node, cfg Config) *Node {
	return &Node{next: next, cfg: cfg, checker: verify.New(cfg.Stack), store: newStore(cfg.Bytes), flights: newFlights()}
}

// Call answers from proofs, or passes the call on.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	switch {
	case row.Answer == method.ProofAnswer:
		return n.proof(ctx, row, params)
	case row.Part != method.NoPart && n.cfg.Values:
		return n.value(ctx, row, params)
	case n.cfg.Machine != nil && executes(row):
		return n.execute(ctx, row, params)
	}
	return n.next.Call(ctx, name, params)
}

// Head is the node's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe passes a subscription on where the node below can push events.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	return rpc.Subscribe(ctx, n.next, params, take)
}

// proof answers a call for a proof. One that can't be checked, because its block has no
// header that can, is for the node below to answer.
func (n *Node) proof(ctx context.Context, row *method.Row, params []byte) ([]byte, error) {
	q, ok := read(row, params)
	if !ok || q.block.by == byPending {
		return n.next.Call(ctx, row.Name, params)
	}
	var w work
	h, err := n.header(ctx, &q.block, &w)
	if err != nil {
		return n.next.Call(ctx, row.Name, params)
	}
	result, lied, err := n.wholeProof(ctx, h, q, &w)
	if err == nil {
		n.tell(ctx, &w, h)
		return result, nil
	}
	if lied && n.held.Load() || !lied && !fromNode(err) {
		return nil, err
	}
	return n.next.Call(ctx, row.Name, params) // an error as the node words it, or a chain with other tries
}

// fromNode tells whether an error is a node's answer. Others say that there is none now: to
// ask again would take as long, and a call of the nodes that are too busy already.
func fromNode(err error) bool {
	return errors.Is(err, nodegate.NodeFault) || errors.Is(err, nodegate.MethodNotFound)
}

// value answers what an account holds. What a node says without a proof is never returned.
func (n *Node) value(ctx context.Context, row *method.Row, params []byte) ([]byte, error) {
	q, ok := read(row, params)
	switch {
	case !ok:
		return n.refused(ctx, row.Name, params)
	case q.block.by == byPending:
		return n.next.Call(ctx, row.Name, params)
	}
	var w work
	h, err := n.header(ctx, &q.block, &w)
	if errors.Is(err, errNoBlock) {
		return n.refused(ctx, row.Name, params)
	}
	var result []byte
	if err == nil {
		h, result, err = n.settled(ctx, &q.block, h, &w, func(h *header) ([]byte, error) { return n.answer(ctx, row, q, h, &w) })
	}
	if err != nil {
		return nil, explain(err)
	}
	n.tell(ctx, &w, h)
	nodegate.TraceFrom(ctx).Formed = true
	return result, nil
}

// settled answers by a header. If no node can, and the chain has another block at its number
// by now, it answers by that one.
func (n *Node) settled(ctx context.Context, b *block, h *header, w *work, answer func(*header) ([]byte, error)) (*header, []byte, error) {
	result, err := answer(h)
	if err == nil || b.by == byHash || ctx.Err() != nil {
		return h, result, err
	}
	now, again := n.header(ctx, b, w)
	if again != nil || now.Hash == h.Hash {
		return h, nil, err
	}
	result, err = answer(now)
	return now, result, err
}

// refused passes on a call that can't be proven, for the error that a node answers with.
func (n *Node) refused(ctx context.Context, name string, params []byte) ([]byte, error) {
	if _, err := n.next.Call(ctx, name, params); err != nil {
		return nil, err
	}
	return nil, errUnproven
}

var (
	errUnproven = &nodegate.Error{
		Op: "proven.call", Code: nodegate.Unverified,
		Msg: "this network only returns proven state, and this call can't be proven. Name an existing block by its number, its hash or latest",
	}
	errNoProofs = &nodegate.Error{
		Op: "proven.call", Code: nodegate.Unverified,
		Msg: "this network only returns proven state, and none of its nodes returns proofs",
	}
)

// methodMissing is the JSON-RPC code of nodes for a method that they don't offer.
const methodMissing = -32601

// explain words an error of a call for a proof for a client that didn't ask for one.
func explain(err error) error {
	if missingMethod(err) {
		return errNoProofs
	}
	return err
}

// missingMethod tells whether an error says that no node offers the method.
func missingMethod(err error) bool {
	e := nodegate.AsError(err)
	return e.Code == nodegate.MethodNotFound || e.Code == nodegate.NodeFault && e.Number == methodMissing
}
