// Package proven answers what accounts hold from Merkle proofs. It is a node over a node,
// between the block tags and the ledger of a network of remote nodes.
//
// A proof leads from the state root in a block's header to an account, its storage and the
// hash of its code. The header comes from the ledger, or from a node, and must hash to its
// hash. The proof comes from a node and must lead to the header's state root; the pool drops
// one that doesn't, asks another node, and ejects the node that lied (see nodegate.Want).
//
// Start at Node.Call. Proofs that clients ask for are always checked. Balances, nonces, code
// and storage are answered from proofs where Config.Values says so: nothing that a node says
// of them is given out without one, except of the pending block, which has no state root.
// Where there is a Config.Machine, calls are executed here. A run that reads something that
// isn't known is void; all that it lacked is asked for, and the call is executed again.
//
//	node.go     Node: what is proven here, and what is passed on
//	query.go    calls that it understands
//	header.go   the headers that proofs lead to
//	account.go  accounts, slots and code from proofs
//	answer.go   answers, with the bytes that go-ethereum gives
//	execute.go  calls that are executed here, over proven state
//	witness.go  what such a call has read, and what it lacks
//	hint.go     what such a call probably reads, to ask for it at once
//	work.go     what was done for one call, and who pays for it
//	store.go    what is kept: by state root, storage root or code hash, so it never gets old
//	flight.go   proofs that several callers wait for
package proven
