package heads

import "sync/atomic"

// Node is one node as far as its head goes. Who looks after the node writes Checked,
// Syncing and Silent; the tracker writes the rest.
type Node struct {
	Name   string
	Rank   int              // followed only when no node of a smaller one can be
	Aside  func() bool      // tells whether the node is ejected
	SetWhy func(why string) // is given the reason when the node's head is not believed

	Checked atomic.Bool   // it is of the right chain
	Syncing atomic.Bool   // it says so
	Doubted atomic.Bool   // its head is not believed
	Silent  atomic.Int32  // looks at it that failed, in a row
	Head    atomic.Uint64 // its newest block, as far as it is believed
	Astray  atomic.Uint64 // its first block of an orphaned branch; 0: it has none

	claim claim // under the tracker's lock
}

// claim is a node's newest block and how it was taken.
type claim struct {
	Header
	made            bool
	safe, finalized uint64
	root            Place  // the final one by its hash, as the node says
	stance          stance // on the block that clients were told is final
	held            int    // how often it was repeated without being believed
	merged          Place  // the last one that was believed and compared with the branch
}
