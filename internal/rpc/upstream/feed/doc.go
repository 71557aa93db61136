// Package feed makes the events of subscriptions to a network of remote nodes.
//
// A [Feed] follows the heads that all nodes report (follower.go), so that a
// subscription survives the death of a node. It gets the logs of each new block once for
// all readers (logs.go) and matches them against their filters (filter.go), and in the same
// way its receipts (receipts.go). Pending
// transactions come from one node's WebSocket (pending.go).
package feed
