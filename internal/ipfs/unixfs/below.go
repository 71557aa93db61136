package unixfs

import (
	"context"
	"slices"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/budget"
)

// Below visits the blocks below several roots, each once, and without the roots
// themselves unless one is below another.
type Below struct {
	objects *Objects
	walk    walk
	visited map[blockKey]struct{}
	notes   notes // of visited
	visit   func(cid.Cid) error
	lost    func(cid.Cid, error)
}

// Below begins such a walk. Blocks of a codec without links are not read. One that
// can't be read is told to lost, and what is below it is left out.
func (o *Objects) Below(limits Limits, visit func(cid.Cid) error, lost func(cid.Cid, error)) *Below {
	return &Below{objects: o, walk: walk{limit: limits.blocks(), seen: map[blockKey]struct{}{}}, visited: map[blockKey]struct{}{}, visit: visit, lost: lost}
}

// Root visits what is below a root and was not visited yet: many roots over the same
// blocks take no longer than one. What the walk keeps in mind stays reserved in the
// request's hold.
//
// Returns TooLarge beyond the limit of blocks, Timeout, or what visit returns.
func (b *Below) Root(ctx context.Context, root cid.Cid) error {
	w := &b.walk
	w.notes.hold, b.notes.hold = budget.From(ctx), budget.From(ctx)
	todo := []step{{root, 0}}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if s.depth > 0 {
			if err := b.once(s.cid); err != nil {
				return err
			}
		}
		if _, seen := w.seen[keyOf(s.cid)]; seen {
			continue
		}
		if err := w.push(s.cid, s.depth); err != nil {
			return err
		}
		w.todo = w.todo[:0]
		links, err := b.objects.linksOf(ctx, s.cid)
		switch {
		case ctx.Err() != nil:
			return cancelled(ctx.Err())
		case err != nil:
			b.lost(s.cid, err)
		}
		if err := w.pending(len(todo) + len(links)); err != nil {
			return err
		}
		for _, l := range slices.Backward(links) {
			todo = append(todo, step{l, s.depth + 1})
		}
	}
	return nil
}

// once visits a block the first time.
func (b *Below) once(c cid.Cid) error {
	k := keyOf(c)
	if _, again := b.visited[k]; again {
		return nil
	}
	b.visited[k] = struct{}{}
	if err := b.notes.keep(len(b.visited), 0); err != nil {
		return err
	}
	return b.visit(c)
}

// linksOf reads a block that may have links.
func (o *Objects) linksOf(ctx context.Context, c cid.Cid) ([]cid.Cid, error) {
	switch c.Type() {
	case cid.DagProtobuf, cid.DagCBOR, cid.DagJSON:
		data, err := getter(o.get).inTurn(ctx, c)
		if err != nil {
			return nil, err
		}
		return linksInTurn(ctx, c, data)
	}
	return nil, nil
}
