// Package require refuses answers about blocks and state that are not verified well enough. It is
// a node over a node, between the ledger and the cache: it gets the calls that the ledger and
// proofs can't answer. Start at [Node.Call].
package require
