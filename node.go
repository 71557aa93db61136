package nodegate

import "context"

// Node answers JSON-RPC calls of one network. Every layer between the edge and
// an engine is a Node over a Node: the method checks, the rollup fee model, the
// embedded chain.
type Node interface {
	// Call executes one method. params is one JSON array, or nil for none; the
	// node must not keep or change it. The result is one JSON value that is
	// shared between callers: read it, never write to it.
	//
	// Every error is an *Error. Returns MethodNotFound for a method the node does
	// not offer, InvalidParams for parameters it can't use, Reverted when the EVM
	// reverted, and Timeout when ctx or the node's own limit ended the call.
	Call(ctx context.Context, method string, params []byte) ([]byte, error)

	// Head describes the newest block. It costs no more than a pointer read on
	// an embedded node and a cached value on a remote one.
	//
	// Returns NoNode when nothing behind the network can say.
	Head(ctx context.Context) (Head, error)
}

// Head is what the layers above a node need to know of its newest block.
type Head struct {
	Number   uint64
	GasLimit uint64

	// Safe and Finalized are what the tags mean; 0 where the chain has no such block
	// yet, or a final one was taken back.
	Safe, Finalized uint64

	// Fork tells one version of the chain from the next. It counts up from 1, together
	// with the head that brings it, when a node reports a block that contradicts what
	// was reported before (another hash at its number, or another parent than the block
	// below it) or can't be compared with it. A head may be lower than the one before
	// only with a new fork: the chain itself was set back. 0 where nobody watches.
	Fork uint64

	// Lost counts how often blocks that had been final were taken back, together with
	// the fork that did it: the chain was recreated. What was kept as final under
	// another count is not true any more.
	Lost uint64
}

// Feed is the optional ability of a Node to push events; find it by a type
// assertion. A layer that wraps a Node and wants to keep the ability passes it on.
type Feed interface {
	// Subscribe starts a subscription with the parameters of eth_subscribe. Its events
	// are given to take, in order, and then why it ended. After ctx has ended nothing is
	// promised to come, though an event may.
	//
	// Returns InvalidParams for parameters the node does not know.
	Subscribe(ctx context.Context, params []byte, take Take) error
}

// Take is given what a subscription brings: one event, with NotEnded, or nil and why the
// subscription ended, which comes once and last. An event is one JSON value; it is shared
// with other readers and never written to. Take returns at once: it must not wait for
// anything, nor call the node.
type Take func(event []byte, end End)

// End says why a subscription ended.
type End uint8

const (
	NotEnded   End = iota
	Closed         // whoever subscribed has left, or the node was closed: no event before the end is missing
	EventsLost     // the node could not keep up with the chain: events are missing from here on
)

// Network is one chain that the service exposes under a name.
type Network struct {
	Name string
	// Alias is a second prefix of the layer2_ methods, or "".
	Alias string
	// Node is the top of the network's stack of nodes.
	Node Node
	// Traced says that the layers below tell what they did with a call (see Trace).
	Traced bool
	// Parallel is how many calls of one batch may be in progress at once. Remote nodes
	// are waited for, so several pay; an embedded chain computes, and 0 is one.
	Parallel int
}
