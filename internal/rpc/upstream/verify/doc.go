// Package verify checks answers of remote nodes by what the answers themselves show: that
// a header hashes to its hash, a transaction to its own, that indices and hashes agree
// within a block, its receipts and its logs, that logs match the filter, that lists have
// the roots which a checked header names, and that Merkle proofs hold.
//
// Start at Checker.Check. It returns a Finding when an answer is false, or can't be told
// from a false one: chains hash some headers and transactions in their own way. Whether
// that is so is not for one node to say. The pool asks a second node, and when both make
// the same claim it calls Checker.Except, after which that shape of data is no longer
// checked on this network.
//
// Checker.Encode makes the same checks of a block that is to be stored, and returns what
// they encoded on the way: the bytes that its hash commits to. It proves all of them, and
// leaves out what it can't prove.
//
// The functions read JSON that is known to be well-formed and work on its tokens: object.go
// splits objects into fields, rlp.go encodes fields, and header.go, transaction.go and
// receipt.go know the fields of each kind. Nothing here asks a node.
package verify
