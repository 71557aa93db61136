package require

import (
	"context"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
)

// Node passes on calls whose answers can have the level that is required.
type Node struct {
	next  nodegate.Node
	level nodegate.Level
	// events tells that the nodes' subscriptions get proven events only.
	events bool
}

var _ nodegate.Feed = (*Node)(nil)

// New puts the requirement over a network's nodes. With LevelNone there is none. events tells
// that the nodes' subscriptions get proven events only.
func New(next nodegate.Node, level nodegate.Level, events bool) nodegate.Node {
	if level == nodegate.LevelNone {
		return next
	}
	return &Node{next: next, level: level, events: events}
}

// Call passes a call on, and refuses an answer that is not verified well enough. What is not
// about blocks or state needs no level: the network's id, prices, sending.
//
// Returns Unverified.
func (n *Node) Call(ctx context.Context, name string, params []byte) ([]byte, error) {
	row := method.Of(name)
	if row.Needs == method.Nothing && row.Kind != method.Other {
		return n.next.Call(ctx, name, params)
	}
	if !n.possible(row) {
		return nil, n.refusal()
	}
	trace := nodegate.TraceFrom(ctx)
	trace.Verified, trace.Agreed = nodegate.LevelNone, 0
	result, err := n.next.Call(nodegate.WithTrace(ctx, trace), name, params)
	if err == nil && !trace.Verified.Reaches(n.level) {
		return nil, n.refusal()
	}
	return result, err
}

// possible tells whether nodes can answer a method at the level at all.
func (n *Node) possible(row *method.Row) bool {
	switch n.level {
	case nodegate.LevelAgreed:
		return row.Kind == method.Read
	case nodegate.LevelHeader:
		return row.ShowsHeader()
	}
	return false
}

// Head is the network's.
func (n *Node) Head(ctx context.Context) (nodegate.Head, error) { return n.next.Head(ctx) }

// Subscribe passes on subscriptions where their events are proven. The nodes refuse the kinds that
// they can't prove.
//
// Returns Unverified.
func (n *Node) Subscribe(ctx context.Context, params []byte, take nodegate.Take) error {
	if !n.events {
		return n.refusal()
	}
	return rpc.Subscribe(ctx, n.next, params, take)
}

// refusal is the error of what the level doesn't allow.
func (n *Node) refusal() error {
	switch n.level {
	case nodegate.LevelAgreed:
		return errDisagreeable
	case nodegate.LevelHeader:
		return errHeaderless
	}
	return errUnproven
}

var (
	errUnproven = unverified("this network only returns verified responses, and the ledger doesn't have the requested data. Request a recent block, transaction, receipt or log")

	errHeaderless = unverified("this network only returns verified responses. The ledger doesn't have the requested data, and from nodes it accepts only blocks whose header matches their hash. Request a block that exists, or a recent transaction, receipt or log")

	errDisagreeable = unverified("this network only returns responses that several nodes agree on, and this call can be sent to only one node. Use a method that reads blocks or state")
)

func unverified(msg string) error {
	return &nodegate.Error{Op: "require.call", Code: nodegate.Unverified, Msg: msg}
}
