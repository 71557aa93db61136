package objects

import (
	"context"
	"slices"

	"github.com/ipfs/go-cid"
)

// Below visits all blocks below a root, each once and without the root itself.
// Blocks of a codec without links are not read. One that can't be read is told to
// lost, and what is below it is left out.
//
// Returns TooLarge beyond the limit of blocks, Timeout, or what visit returns.
func (o *Objects) Below(ctx context.Context, root cid.Cid, limits Limits, visit func(cid.Cid) error, lost func(cid.Cid, error)) error {
	w := &walk{limit: limits.blocks(), seen: map[blockKey]struct{}{}}
	todo := []step{{root, 0}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if _, seen := w.seen[keyOf(s.cid)]; seen {
			continue
		}
		if err := w.push(s.cid, s.depth); err != nil {
			return err
		}
		w.todo = w.todo[:0]
		if s.depth > 0 {
			if err := visit(s.cid); err != nil {
				return err
			}
		}
		links, err := o.linksOf(ctx, s.cid)
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx.Err())
		case err != nil:
			lost(s.cid, err)
		case len(todo)+len(links) > maxPending:
			return tooLarge("too many links at once: at most %d", maxPending)
		}
		for _, l := range slices.Backward(links) {
			todo = append(todo, step{l, s.depth + 1})
		}
	}
	return nil
}

// linksOf reads a block that may have links.
func (o *Objects) linksOf(ctx context.Context, c cid.Cid) ([]cid.Cid, error) {
	switch c.Type() {
	case cid.DagProtobuf, cid.DagCBOR, cid.DagJSON:
		data, err := o.get(ctx, c)
		if err != nil {
			return nil, err
		}
		return Links(c, data)
	}
	return nil, nil
}
