package filter

import (
	"bytes"
	"context"
	"fmt"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc"
)

// pollTries is how often a poll begins anew when the chain, or another poll of the same
// filter, came in between.
const pollTries = 5

// changes returns what is new since the last poll. Of two polls at once, on two servers
// too, each gets its own part: only one of them can move the filter on.
func (n *Node) changes(ctx context.Context, h handle) ([]byte, error) {
	for range pollTries {
		before, err := h.load(ctx)
		if err != nil {
			return nil, err
		}
		r, err := decode(before)
		if err != nil {
			return nil, err
		}
		events, err := n.since(ctx, r)
		if err == errMoved {
			continue
		}
		if err != nil {
			return nil, err
		}
		after := r.encode()
		if bytes.Equal(before, after) {
			return list(events), nil
		}
		if saved, err := h.save(ctx, before, after); saved || err != nil {
			return list(events), err
		}
	}
	return nil, errMoved
}

// errMoved says that the chain changed while it was read.
var errMoved = &nodegate.Error{Op: "filter", Code: nodegate.Busy, Msg: "the chain is being reorganized: poll again"}

// since returns what is new, and moves the record on.
func (n *Node) since(ctx context.Context, r *record) ([][]byte, error) {
	switch r.Kind {
	case pending, transactions:
		return n.pendingSince(ctx, r)
	case logs:
		return n.chainSince(ctx, r, maxLogSpan, n.logsBetween)
	}
	return n.chainSince(ctx, r, maxBlockSpan, n.blocksBetween)
}

// How many blocks one poll reads. The next one goes on from there.
const (
	maxLogSpan   = 5000
	maxBlockSpan = 1000
)

// chainSince reads the blocks after the newest one that the owner has read and that is
// still on the chain.
func (n *Node) chainSince(ctx context.Context, r *record, span uint64, read func(context.Context, *record, point, block) ([][]byte, error)) ([][]byte, error) {
	head, err := n.next.Head(ctx)
	if err != nil {
		return nil, err
	}
	if head.Number < r.last().Number {
		if known, err := n.knows(ctx, r.last()); known || err != nil {
			return nil, err // this server's nodes have not come as far yet
		}
	}
	base, err := n.base(ctx, r, head.Number)
	if err != nil || base == r.last() && base.Number >= head.Number {
		return nil, err
	}
	top, err := n.block(ctx, min(head.Number, base.Number+span))
	if err != nil {
		return nil, err
	}
	events, err := read(ctx, r, base, top)
	if err != nil {
		return nil, err
	}
	if again, err := n.block(ctx, top.Number); err != nil || again.Hash != top.Hash {
		return nil, errMoved
	}
	r.moveTo(base, top.point)
	return events, nil
}

// base is the newest block that was read and is on the chain. Where none is, reading
// goes on before the oldest that is remembered.
func (n *Node) base(ctx context.Context, r *record, head uint64) (point, error) {
	for i := len(r.Seen) - 1; i >= 0; i-- {
		p := r.Seen[i]
		if p.Number > head {
			continue
		}
		b, err := n.block(ctx, p.Number)
		if err != nil {
			return point{}, err
		}
		if b.Hash == p.Hash {
			return p, nil
		}
	}
	return n.below(ctx, min(r.Seen[0].Number, head+1))
}

// below is the block before a number.
func (n *Node) below(ctx context.Context, number uint64) (point, error) {
	b, err := n.block(ctx, max(number, 1)-1)
	return b.point, err
}

// allLogs answers eth_getFilterLogs: all that the filter finds, as eth_getLogs does.
func (n *Node) allLogs(ctx context.Context, h handle) ([]byte, error) {
	state, err := h.load(ctx)
	if err != nil {
		return nil, err
	}
	r, err := decode(state)
	if err != nil || r.Kind != logs {
		return nil, errNotFound
	}
	head, err := n.next.Head(ctx)
	if err != nil {
		return nil, err
	}
	most := rpc.LogBlocks(ctx, n.cfg.LogBlocks)
	if to := min(r.To, head.Number); r.Begins && to > r.From && to-r.From >= most {
		return nil, invalid(fmt.Sprintf("the filter spans more than %d blocks by now: create one with a narrower range", most))
	}
	return n.next.Call(ctx, method.EthGetLogs, []byte("["+r.Query+"]"))
}

// list writes a JSON array.
func list(events [][]byte) []byte {
	return append(append([]byte{'['}, bytes.Join(events, []byte{','})...), ']')
}
