package dashboard

import "time"

// LedgerState is how the verified copy of a remote chain is.
type LedgerState struct {
	First, Last    uint64 // its blocks, if there are any
	Blocks, Window int64  // how many there are, and may be
	Lag            uint64 // behind the network
	Bytes          int64  // on disk

	Agreed int // nodes that gave the hash of the newest block; 0 without one

	Missing     int64         // blocks that a backfill is still to fetch
	MissingTime time.Duration // how long that takes at least

	Answered, Passed int64 // lookups that it understands: from the copy, and from nodes

	Damaged int    // blocks that are to be fetched again
	Off     bool   // the network has none
	Problem string // why it is off or doesn't follow the chain, or ""
}

// Lookups is how many lookups the ledger understood.
func (l *LedgerState) Lookups() int64 { return l.Answered + l.Passed }

// Left is how long a backfill takes, to the second.
func (l *LedgerState) Left() time.Duration { return l.MissingTime.Round(time.Second) }
