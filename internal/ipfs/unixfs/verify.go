package unixfs

import (
	"context"
	"errors"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
)

// BadBlock is a block that can't be read.
type BadBlock struct {
	CID cid.Cid
	Err string
}

// badCost is about what such a block takes until it is reported.
const badCost = 384

// Verifier checks that DAGs are whole. What it found whole it does not read again.
type Verifier struct {
	get    getter
	limits Limits
	left   int // blocks that may still be read
	whole  map[blockKey]struct{}
	notes  notes // of whole, and of the DAG that is checked
}

// NewVerifier begins a check within the limits, which are for all DAGs together.
func NewVerifier(o *Objects, limits Limits) *Verifier {
	return &Verifier{get: o.bounded(o.get), limits: limits, left: limits.blocks(), whole: map[blockKey]struct{}{}}
}

// Check reads all blocks of a DAG and returns those that can't be read.
//
// Returns TooLarge beyond the limits, or Timeout.
func (v *Verifier) Check(ctx context.Context, root cid.Cid) ([]BadBlock, error) {
	var bad []BadBlock
	v.notes.hold = budget.From(ctx)
	todo, seen := []step{{root, 0}}, map[blockKey]struct{}{}
	for len(todo) > 0 {
		s := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !v.first(s.cid, seen) {
			continue
		}
		links, err := v.read(ctx, s)
		switch {
		case stops(ctx, err):
			return nil, err
		case err != nil:
			bad = append(bad, BadBlock{s.cid, badReason(err)})
		case len(todo)+len(links) > maxPending:
			return nil, tooLarge("too many links at once: at most %d", maxPending)
		}
		if err := v.notes.keep(len(v.whole)+len(seen), len(todo)+len(links)+badCost/stepCost*len(bad)); err != nil {
			return nil, err
		}
		for i := len(links) - 1; i >= 0; i-- {
			todo = append(todo, step{links[i], s.depth + 1})
		}
	}
	if len(bad) == 0 {
		for k := range seen {
			v.whole[k] = struct{}{}
		}
	}
	return bad, nil
}

// first notes a block that is not known yet.
func (v *Verifier) first(c cid.Cid, seen map[blockKey]struct{}) bool {
	k := keyOf(c)
	if _, known := v.whole[k]; known {
		return false
	}
	if _, again := seen[k]; again {
		return false
	}
	seen[k] = struct{}{}
	return true
}

func (v *Verifier) read(ctx context.Context, s step) ([]cid.Cid, error) {
	if v.left--; v.left < 0 {
		return nil, tooLarge("too many blocks: at most %d. Check fewer pins: unpin what is not needed", v.limits.blocks())
	}
	if s.depth > maxDepth {
		return nil, failed("blocks are nested too deeply: at most %d", maxDepth)
	}
	if err := checkCID(s.cid); err != nil {
		return nil, err
	}
	data, err := v.get.inTurn(ctx, s.cid)
	if err != nil {
		return nil, err
	}
	return linksInTurn(ctx, s.cid, data)
}

// stops tells whether an error ends the check: it says nothing about the block.
func stops(ctx context.Context, err error) bool {
	return err != nil && (ctx.Err() != nil || errors.Is(err, nodegate.TooLarge) || errors.Is(err, nodegate.Timeout))
}

// badReason is an error in words that are for clients.
func badReason(err error) string {
	if e := nodegate.AsError(err); e.Code != nodegate.Internal && e.Msg != "" {
		return e.Msg
	}
	return "the block can't be read"
}
