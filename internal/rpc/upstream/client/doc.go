// Package client holds the connections to one remote node: JSON-RPC calls over kept
// HTTP/1.1 connections, and calls and subscriptions over a WebSocket. It knows
// nothing of Ethereum, of other nodes or of retries between them: that is the pool's
// business, in internal/rpc/upstream/pool.
//
// [Client] is the HTTP side. It writes every request itself, in one piece, and reads
// the answer with a parser of its own that takes less than HTTP allows: a length or
// chunks, never both, no folded lines, no redirects, gzip only where it is configured,
// everything bounded. A fuzz test holds it to net/http's. A connection is used by one
// call at a time, is kept afterwards, and is closed as soon as anything about it is odd.
// [Client.CallSafe] tries once more when a kept connection turns out to be closed by the
// node; a call that may do something, by [Client.Call], is never sent twice.
//
// [Socket] is the WebSocket side. One goroutine reads, in order; so an event is never
// taken for one of a subscription that began later, and none is lost that comes before
// the answer to its eth_subscribe. A reader that falls behind loses its subscription
// and nobody waits for it.
//
// Nothing that a node sends is trusted. A result is handed out only when it is one
// whole JSON value under the id that was asked, in a slice of its own. There are two
// kinds of failure: a [CallError] is the node's own answer, and the node is well; a
// [Fault] is everything else, and says whether the node may have seen the call.
//
// The parts, in the order of a call: config.go (what is configured, and the head of
// every request), pool.go (which connection), conn.go (one connection, its time),
// transport.go and proxy.go (how it is opened), client.go (the call), head.go, body.go and
// gzip.go (reading). Then socket.go and subscription.go.
package client
