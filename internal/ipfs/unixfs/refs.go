package unixfs

import (
	"context"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate/internal/budget"
)

// Ref is a link from one block to another.
type Ref struct {
	From, To cid.Cid
	Name     string // "" where links have none
}

// RefOptions are what a client of refs can ask for.
type RefOptions struct {
	Unique   bool // name each block once
	MaxDepth int  // 1 is the links of the roots only; negative is all
}

// Refs lists links below several roots.
type Refs struct {
	options RefOptions
	get     getter
	each    func(Ref) error
	seen    map[blockKey]int // the depth at which a block was seen
	notes   notes
}

// NewRefs begins a listing within the limits of one request.
func NewRefs(o *Objects, options RefOptions, each func(Ref) error) *Refs {
	return &Refs{options: options, get: o.bounded(o.listing()), each: each, seen: map[blockKey]int{}}
}

// Root lists the links below a root, parents before children. Each block that is named
// was read.
//
// Returns NotFound for a block that is missing, TooLarge beyond the limits, or what each
// returns.
func (r *Refs) Root(ctx context.Context, root cid.Cid) error {
	r.notes.hold = budget.From(ctx)
	raw, err := r.get(ctx, root)
	if err != nil {
		return err
	}
	return r.below(ctx, root, raw, 1)
}

// below lists the links of a block, which are at a depth.
func (r *Refs) below(ctx context.Context, from cid.Cid, raw []byte, depth int) error {
	if depth > maxDepth {
		return failed("blocks are nested too deeply: at most %d", maxDepth)
	}
	links, err := namedLinks(ctx, from, raw)
	if err != nil {
		return err
	}
	release, err := holdLinks(ctx, links)
	if err != nil {
		return err
	}
	defer release()
	for _, l := range links {
		deeper, named := r.visit(l.cid, depth)
		if !deeper && !named {
			continue
		}
		if err := r.notes.keep(len(r.seen), 0); err != nil {
			return err
		}
		inner, err := r.get(ctx, l.cid)
		if err != nil {
			return err
		}
		if named {
			if err := r.each(Ref{From: from, To: l.cid, Name: l.name}); err != nil {
				return err
			}
		}
		if deeper {
			if err := r.below(ctx, l.cid, inner, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// visit decides as Kubo does: whether to go below a block, and whether to name it. A block
// that was seen further down is visited again when more of it is within the depth.
func (r *Refs) visit(c cid.Cid, depth int) (deeper, named bool) {
	most := r.options.MaxDepth
	if most >= 0 && depth > most {
		return false, false
	}
	deeper = most < 0 || depth < most
	if !r.options.Unique {
		return deeper, true
	}
	k := keyOf(c)
	before, again := r.seen[k]
	if again && (most < 0 || before <= depth) {
		return false, false
	}
	r.seen[k] = depth
	return deeper, !again
}

// namedLinks are the links of a block with the names that dag-pb gives them.
func namedLinks(ctx context.Context, c cid.Cid, raw []byte) ([]link, error) {
	if c.Type() == cid.DagProtobuf {
		n, err := decodeInTurn(ctx, c, raw)
		if err != nil {
			return nil, err
		}
		return n.links, nil
	}
	cids, err := linksInTurn(ctx, c, raw)
	links := make([]link, len(cids))
	for i, to := range cids {
		links[i].cid = to
	}
	return links, err
}
