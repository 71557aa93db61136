package ledger

import (
	"context"
	"errors"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logquery"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// findLogs answers a log query if the copy has all of its blocks. If the newest of them is
// being fetched, it waits a moment for it. A list that would be longer than most may end
// there.
func (n *Node) findLogs(ctx context.Context, f *logquery.Filter, most int) (answer, bool, error) {
	s, v := n.store.Load(), n.view.Load()
	if s == nil || v == nil {
		return answer{}, false, nil
	}
	head, known, fresh := n.now(ctx, v)
	if !v.covers(s, f, head, known) {
		if !fresh || !v.behind(head) || !mayCover(s, f, head) {
			return answer{}, false, nil
		}
		if v = n.await(ctx, head); v == nil || !v.covers(s, f, head, true) {
			return answer{}, false, nil
		}
	}
	return n.searchLogs(ctx, s, v, f, most)
}

// covers tells whether the copy has all blocks of a query, and they are on the chain of a
// head. The head is of now, or if it is not known the view's.
func (v *view) covers(s *store.Store, f *logquery.Filter, head nodegate.Head, known bool) bool {
	if v.head.Lost != head.Lost {
		return false
	}
	if f.Hash != nil {
		// A hash names one block, on the chain or not.
		at, ok, err := s.ByHash(*f.Hash)
		return err == nil && ok && at.Number <= head.Number
	}
	first, _, ok := s.Tip()
	return ok && f.From >= first.Number && v.holds(f.To, head, known)
}

// mayCover tells whether the copy may have all blocks of a query once it is at a head.
func mayCover(s *store.Store, f *logquery.Filter, head nodegate.Head) bool {
	first, _, ok := s.Tip()
	return f.Hash != nil || ok && f.From >= first.Number && f.To <= head.Number
}

// searchLogs searches the blocks of a query, all as they were at one moment.
func (n *Node) searchLogs(ctx context.Context, s *store.Store, v *view, f *logquery.Filter, most int) (a answer, ok bool, err error) {
	rows, err := s.Snapshot()
	if err != nil {
		return answer{}, false, nil
	}
	defer func() { _ = rows.Close() }() // nothing was written
	agreed, linked := v.vouchedLogs(f, rows)
	if agreed < n.cfg.Agree || !n.stillCovers(ctx, s, v, f, rows) {
		return answer{}, false, nil
	}
	found, err := n.search(ctx, rows, f, logquery.Limits{Logs: most, Bytes: n.cfg.MaxAnswer, Hold: nodegate.TraceFrom(ctx).Hold})
	switch {
	case errors.Is(err, nodegate.AccountBusy) || errors.Is(err, nodegate.Busy):
		return answer{}, false, err
	case errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled):
		return answer{}, false, nodegate.ErrTimeout("ledger.logs", err)
	case err != nil: // the store's: nodes are asked
		if errors.Is(err, nodegate.Damaged) {
			n.repairs.lose()
		}
		return answer{}, false, nil
	case found.Stop == logquery.Full && (most == 0 || found.Count < most):
		return answer{}, false, &nodegate.Error{Op: "ledger.logs", Code: nodegate.ResponseTooLarge, Msg: "response too large"}
	case found.Stop == logquery.Complete || found.Stop == logquery.Full:
		// All blocks are proven by their roots, those without a log that matches too.
		return answer{found.Logs, nodegate.LevelRoots, agreed, linked}, true, nil
	}
	n.noteHole(s, found)
	return answer{}, false, nil
}

// vouchedLogs is how many nodes gave the hashes of all blocks of a query, and whether they are
// linked to the checkpoint.
func (v *view) vouchedLogs(f *logquery.Filter, rows *store.Snapshot) (agreed int, linked bool) {
	if f.Hash == nil {
		return v.agreed(f.To), v.linked
	}
	at, ok, err := rows.ByHash(*f.Hash)
	if err == nil && ok {
		if m, ok, err := rows.Canonical(at.Number); err == nil && ok && m.Hash == at.Hash {
			return v.agreed(at.Number), v.linked
		}
	}
	return 1, false
}

// noteHole has the block at which a search ended fetched again, if it should have had logs.
func (n *Node) noteHole(s *store.Store, found logquery.Result) {
	if found.Stop != logquery.Hole {
		return
	}
	if m, ok, err := s.Canonical(found.At); err == nil && ok && !m.Hole {
		n.repairs.add(m.Hash)
	}
}

// stillCovers tells whether a snapshot is of the chain that a view is of, and the view
// covers the query still. The follower moves the store to another branch before it shows
// the view of it, and the head may have told of that branch meanwhile.
func (n *Node) stillCovers(ctx context.Context, s *store.Store, v *view, f *logquery.Filter, rows *store.Snapshot) bool {
	if head, known, _ := n.now(ctx, v); !v.covers(s, f, head, known) {
		return false
	}
	if f.Hash != nil {
		return true
	}
	m, ok, err := rows.Canonical(v.last)
	return err == nil && ok && m.Hash == v.hash
}

// search runs a query.
func (n *Node) search(ctx context.Context, rows *store.Snapshot, f *logquery.Filter, limits logquery.Limits) (found logquery.Result, err error) {
	if n.cfg.SearchTime > 0 {
		bounded, cancel := context.WithTimeout(ctx, n.cfg.SearchTime)
		defer cancel()
		ctx = bounded
	}
	background.Apart(func(t *background.Thread) {
		p := pace{ctx: ctx, thread: t, long: n.long}
		defer p.end()
		limits.Pace = p.step
		found, err = logquery.Run(ctx, rows, f, limits)
	})
	return found, err
}

// longSearch is after how many blocks and lists a search is a long one: some milliseconds.
const longSearch = 1024

// pace keeps a long search from holding up the requests that take microseconds: it goes on
// at low priority, and waits while its account has another one, or all cores but one have.
type pace struct {
	ctx    context.Context
	thread *background.Thread
	long   *fairshare.Pool

	steps   int
	account string
	placed  bool
}

func (p *pace) step() {
	if p.steps++; p.steps == longSearch {
		p.account = nodegate.GrantFrom(p.ctx).AccountID
		p.placed = p.long.Acquire(p.ctx, p.account) == nil // or the search is over
		p.thread.Lower()
	}
	p.thread.Rest()
}

// end comes after the search.
func (p *pace) end() {
	if p.placed {
		p.long.Release(p.account)
	}
}
