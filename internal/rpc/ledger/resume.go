package ledger

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// noted is what is kept beside the blocks, for a start while no node can be reached: which
// blocks were on the chain when a node last said so.
type noted struct {
	Origin          []byte
	Number          uint64
	Hash            []byte
	Safe, Finalized uint64
	GasLimit        uint64
	Seen            int64 // Unix seconds
	Vouched         []uint64
}

// note keeps a view beside the blocks.
func note(s *store.Store, origin [32]byte, v *view) {
	row, err := json.Marshal(noted{
		Origin: origin[:], Number: v.last, Hash: v.hash[:], Safe: v.head.Safe, Finalized: v.final, GasLimit: v.head.GasLimit,
		Seen: time.Now().Unix(), Vouched: v.vouched,
	})
	if err == nil {
		store.SetNote(s, row)
	}
}

// resumeAfter is how many attempts in a row have to fail first: nodes take a moment to report
// a block after every start.
const resumeAfter = 3

// resumption is a start while no node can be reached.
type resumption struct{ tried bool }

// begin answers from the copy as it was, if no node has reported a block since the start.
// Whether the nodes still have that chain shows when one does. A copy of other nodes is left
// alone: it may be of another chain.
func (r *resumption) begin(ctx context.Context, f *follower) {
	cfg := &f.node.cfg
	if r.tried || cfg.Existing == nil || f.fails < resumeAfter {
		return
	}
	if _, err := f.fetch.source.Head(ctx); err == nil || ctx.Err() != nil {
		return
	}
	r.tried = true
	s, err := cfg.Existing(ctx)
	if err != nil {
		return
	}
	v := viewOf(s, cfg.Origin[:])
	if lacks, err := f.checkpoint.lacks(s); v == nil || lacks || err != nil {
		cfg.Release()
		return
	}
	v.linked = f.checkpoint.has(s)
	f.node.store.Store(s)
	f.node.show(v)
	f.log.Warn("no node can be reached: the ledger answers from the copy as it was", "block", v.last, "seen", v.seen.UTC())
}

// viewOf is the view that was noted beside a copy; nil if there is none, or it doesn't fit.
func viewOf(s *store.Store, origin []byte) *view {
	row, err := store.Note(s)
	var n noted
	if err != nil || row == nil || json.Unmarshal(row, &n) != nil || !bytes.Equal(n.Origin, origin) || len(n.Hash) != 32 {
		return nil
	}
	m, ok, err := s.Canonical(n.Number)
	if err != nil || !ok || !bytes.Equal(m.Hash[:], n.Hash) {
		return nil
	}
	v := at(n.Number, m.Hash, nodegate.Head{Number: n.Number, GasLimit: n.GasLimit, Safe: n.Safe, Finalized: n.Finalized})
	v.resumed, v.seen, v.vouched = true, time.Unix(n.Seen, 0), n.Vouched
	return v
}

// end returns the copy of a chain: the one that is answered from since the start, or one that is
// opened.
func (r *resumption) end(ctx context.Context, n *Node, genesis [32]byte) (*store.Store, error) {
	if s := n.store.Load(); s != nil {
		n.show(nil) // what is on the chain, the nodes say now
		if store.Genesis(s) == genesis {
			return s, nil
		}
		n.store.Store(nil)
		n.cfg.Release()
	}
	return n.cfg.Open(ctx, genesis)
}
