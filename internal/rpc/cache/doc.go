// Package cache keeps answers of a network's nodes for as long as they are true. It is
// a node over a node: it stands below internal/rpc/blocktag, so that calls arrive with block
// numbers in the place of tags, and above whatever asks the nodes.
//
// How long an answer is true follows from what it speaks of, which internal/method
// knows for every method:
//
//   - what can't change (the chain id, an answer of a finalized block, what a block hash
//     names) stays until the room is needed;
//   - an answer of a block that is not final yet lives until the chain reorganizes, and
//     is asked for once more when the block is final;
//   - what changes with every block (the gas price) lives for one block;
//   - null, errors, pending blocks and blocks beyond the head are never kept.
//
// Every answer that may change carries the head and the fork as they were before the
// node was asked (see nodegate.Head). It is given out only while the network's head
// says the same: whoever was shown a head never gets an answer that this head replaced.
// There is nothing to invalidate, so nothing can be forgotten: what is no longer true
// just isn't found and falls out in time.
//
// Identical calls that are in progress at the same time become one (flight.go). A second
// level, which several servers share, may stand behind the memory (Shared); it gets
// final answers only.
//
// Start at Cache.Call; plan.go decides how long an answer may be kept.
package cache
