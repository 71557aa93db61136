package ledger

import (
	"sync/atomic"
	"time"
)

// counts are what a ledger counts since it was opened.
type counts struct {
	answered atomic.Uint64 // lookups that it understands and answered
	passed   atomic.Uint64 // those that it passed on
	reorgs   atomic.Uint64
	refused  atomic.Uint64 // blocks of nodes that it could not prove
	repaired atomic.Uint64 // blocks that were fetched again
	fetched  atomic.Uint64 // blocks of nodes that were proven
	taken    atomic.Uint64 // blocks that another server had fetched
}

// Status is how a ledger is.
type Status struct {
	Off         bool   // the network is not followed; Problem says why
	Open        bool   // there is a copy, which the figures below are of
	First, Last uint64 // the blocks of the chain that it has, if Blocks isn't 0
	Blocks      uint64
	Data, Index int64 // bytes on disk: what blocks are, and what serves to find them

	Head    uint64 // the network's newest block, as far as it is known
	Lag     uint64 // blocks that the copy is behind it
	Agreed  int    // nodes that gave the hash of the newest block; 0 if it has none
	HeadAge time.Duration

	// Missing is how many blocks a backfill is still to fetch; 0 without one. MissingTime is how
	// long that takes at least.
	Missing     uint64
	MissingTime time.Duration

	Answered, Passed uint64
	Reorgs, Refused  uint64
	Repaired         uint64
	Fetched, Taken   uint64 // blocks of nodes, and of other servers
	Damaged          int    // blocks that are to be fetched again
	Problem          string
}

// Status returns how the ledger is.
func (n *Node) Status() Status {
	c := &n.counts
	s := Status{
		Answered: c.answered.Load(), Passed: c.passed.Load(), Reorgs: c.reorgs.Load(), Refused: c.refused.Load(), Repaired: c.repaired.Load(),
		Fetched: c.fetched.Load(), Taken: c.taken.Load(), Damaged: n.repairs.waiting(),
	}
	if n.cfg.Last != nil {
		if head, age, ok := n.cfg.Last(); ok {
			s.Head, s.HeadAge = head.Number, age
		}
	}
	if why := n.off.Load(); why != nil {
		s.Off, s.Problem = true, why.Error()
		return s
	}
	rows := n.store.Load()
	if rows == nil {
		s.Problem = "no node has said which chain it is, or the folder can't be opened"
		return s
	}
	s.Open = true
	if first, tip, ok := rows.Tip(); ok {
		s.First, s.Last, s.Blocks = first.Number, tip.Number, tip.Number-first.Number+1
	}
	s.Lag = s.Head - min(s.Head, s.Last)
	s.Data, s.Index = rows.Bytes()
	if rate := n.cfg.Backfill; rate > 0 {
		s.Missing = missing(rows, n.cfg.Blocks)
		s.MissingTime = time.Duration(s.Missing) * time.Second / time.Duration(rate)
	}
	if v := n.view.Load(); v != nil {
		s.Agreed = v.agreed(v.last)
	}
	if err := rows.Failed(); err != nil {
		s.Problem = err.Error()
	}
	return s
}
