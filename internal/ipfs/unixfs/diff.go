package unixfs

import (
	"context"
	"path"
	"slices"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/budget"
)

// Change is one difference between two trees of dag-pb blocks.
type Change struct {
	Kind          ChangeKind
	Path          string
	Before, After cid.Cid // undefined for what was added or removed
}

// ChangeKind is what happened to a link, by Kubo's numbers.
type ChangeKind int

// The kinds.
const (
	LinkAdded ChangeKind = iota
	LinkRemoved
	LinkModified
)

// Diff compares two trees by the names of their links. What the changes take stays reserved
// in the request's hold.
//
// Returns NotFound when a block is missing, TooLarge beyond the limits.
func (o *Objects) Diff(ctx context.Context, a, b string) ([]Change, error) {
	d := &differ{get: o.bounded(o.listing()), hold: budget.From(ctx)}
	from, err := o.Resolve(ctx, a)
	if err != nil {
		return nil, err
	}
	to, err := o.Resolve(ctx, b)
	if err != nil {
		return nil, err
	}
	return d.compare(ctx, from.CID, to.CID, 0)
}

type differ struct {
	get  getter
	hold *budget.Hold
}

// held reserves changes, or what makes them longer.
func (d *differ) held(bytes int) error { return reserve(d.hold, int64(bytes), listLess) }

func (d *differ) compare(ctx context.Context, a, b cid.Cid, depth int) ([]Change, error) {
	if depth > maxDepth {
		return nil, failed("blocks are nested too deeply: at most %d", maxDepth)
	}
	linksA, err := d.links(ctx, a)
	if err != nil {
		return nil, err
	}
	linksB, err := d.links(ctx, b)
	if err != nil {
		return nil, err
	}
	switch {
	case a.Equals(b):
		return []Change{}, nil
	case a.Type() != cid.DagProtobuf || b.Type() != cid.DagProtobuf || len(linksA) == 0 && len(linksB) == 0:
		return []Change{{Kind: LinkModified, Before: a, After: b}}, d.held(changeCost)
	}
	release, err := d.holdBoth(linksA, linksB)
	if err != nil {
		return nil, err
	}
	defer release()
	out, onlyA, onlyB, err := d.shared(ctx, linksA, linksB, depth)
	if err == nil {
		err = d.held(int(linksCost(onlyA)+linksCost(onlyB)) + (changeCost-linkCost)*(len(onlyA)+len(onlyB)))
	}
	if err != nil {
		return nil, err
	}
	for _, l := range onlyA {
		out = append(out, Change{Kind: LinkRemoved, Path: l.name, Before: l.cid})
	}
	for _, l := range onlyB {
		out = append(out, Change{Kind: LinkAdded, Path: l.name, After: l.cid})
	}
	return out, nil
}

// holdBoth reserves the links of two blocks, twice: they are compared with maps and lists of
// them.
func (d *differ) holdBoth(a, b []link) (release func(), err error) {
	cost := 2 * (linksCost(a) + linksCost(b))
	if err := d.held(int(cost)); err != nil {
		return nil, err
	}
	return func() { d.hold.Shrink(cost) }, nil
}

// shared compares the links that both have by name, and returns the others.
func (d *differ) shared(ctx context.Context, linksA, linksB []link, depth int) (out []Change, onlyA, onlyB []link, err error) {
	inB := map[string]cid.Cid{}
	for _, l := range slices.Backward(linksB) { // the first of a name counts
		inB[l.name] = l.cid
	}
	both := map[string]bool{}
	for _, l := range linksA {
		to, ok := inB[l.name]
		if !ok {
			onlyA = append(onlyA, l)
			continue
		}
		if both[l.name] = true; l.cid.Equals(to) {
			continue
		}
		inner, err := d.compare(ctx, l.cid, to, depth+1)
		if err != nil {
			return nil, nil, nil, err
		}
		for _, c := range inner {
			if err := d.held(len(l.name) + 1); err != nil {
				return nil, nil, nil, err
			}
			c.Path = path.Join(l.name, c.Path)
			out = append(out, c)
		}
	}
	onlyB = slices.DeleteFunc(slices.Clone(linksB), func(l link) bool { return both[l.name] })
	return out, onlyA, onlyB, nil
}

// links reads a block; of another codec than dag-pb they don't count.
func (d *differ) links(ctx context.Context, c cid.Cid) ([]link, error) {
	raw, err := d.get(ctx, c)
	if err != nil {
		return nil, err
	}
	return namedLinks(ctx, c, raw)
}
