// Package ledger answers lookups of a remote network from a copy of its newest blocks. It
// fetches each block and its receipts once, proves them against the block's hash and the
// roots of its header, stores them, and follows the chain through reorgs.
//
// Start at Node, which stands between the block tags and the cache. It answers a call with
// the bytes that go-ethereum would, or passes it on: a lookup in a form that it doesn't know,
// of a block that it doesn't have, or of one that it can't be sure is still on the chain. It
// never answers that something doesn't exist, but uncles where a header shows that there are none.
//
//	node.go      Node: what is answered here, and what is passed on
//	query.go     calls that it understands
//	view.go      which blocks may be answered for, and waiting for the newest
//	answer.go    answers from stored blocks
//	kept.go      answers that were written before
//	logs.go      log queries
//	follow.go    the follower: one goroutine that keeps the copy at the head
//	pace.go      networks that have no ledger: their blocks come too fast, or can't be proven
//	vouch.go     how many nodes gave the hash of a block
//	checkpoint.go  a block that the chain must have
//	resume.go    a start while no node can be reached
//	reorg.go     other branches
//	fetch.go     a block and its receipts from nodes, proven
//	share.go     blocks that another server fetched
//	members.go   what nodes say beyond what roots cover
//	backfill.go  older blocks than the copy began with
//	prune.go     the bounds of the copy
//	repair.go    damaged blocks, and receipts that were missing, fetched again
//	prove.go     proving all blocks of the copy again
//	status.go    figures for operators
//
// What a node said is proven with a verify.Checker of the ledger's own, which makes no
// exceptions. A block that can't be proven is not stored.
package ledger
