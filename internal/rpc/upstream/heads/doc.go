// Package heads follows the chain's head over a network's nodes.
//
// A [Tracker] takes the head that each node reports ([Tracker.Report]) and decides what
// clients may be told ([Tracker.Head]). Nodes are not taken at their word: belief.go.
// branch.go compares the hashes of their blocks and tells when the chain has another
// version, which caches above rely on. final.go notices when final blocks are taken
// back. Several servers share the highest block that clients know of: shared.go.
package heads
