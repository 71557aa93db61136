package unixfs

import (
	"context"
	"fmt"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
)

// DagStat counts the blocks of several DAGs.
type DagStat struct {
	Roots  []DagSize
	Unique Walked // blocks of all, each once
	All    Walked // blocks of each DAG, added up
}

// DagSize is the size of one DAG, each block once.
type DagSize struct {
	CID cid.Cid
	Walked
}

// DagStat walks DAGs and calls progress after each block.
//
// Returns NotFound when a block is missing, TooLarge beyond the limits, which are for all
// DAGs together.
func (o *Objects) DagStat(ctx context.Context, roots []cid.Cid, limits Limits, progress func(*DagStat) error) (*DagStat, error) {
	s := &dagStat{get: o.bounded(o.get), limits: limits, progress: progress, seen: map[blockKey]struct{}{}, notes: notes{hold: budget.From(ctx)}}
	defer s.notes.release()
	for _, root := range roots {
		if err := s.add(ctx, root); err != nil {
			return nil, err
		}
	}
	return &s.sum, nil
}

// dagStat is a count while it runs.
type dagStat struct {
	sum      DagStat
	get      getter
	limits   Limits
	seen     map[blockKey]struct{}
	notes    notes
	progress func(*DagStat) error
}

func (s *dagStat) add(ctx context.Context, root cid.Cid) error {
	s.sum.Roots = append(s.sum.Roots, DagSize{CID: root})
	if _, err := s.get(ctx, root); err != nil {
		return err
	}
	err := inOrder(ctx, s.get, root, s.limits, s.count)
	if e := nodegate.AsError(err); err != nil && e.Code == nodegate.NotFound {
		return failed("%s", fmt.Sprint("error traversing DAG: ", e.Msg))
	}
	return err
}

// count adds a block of the newest DAG.
func (s *dagStat) count(c cid.Cid, data []byte) error {
	size := int64(len(data))
	if s.sum.All.add(size); s.sum.All.Blocks > int64(s.limits.blocks()) {
		return tooLarge("too many blocks: at most %d", s.limits.blocks())
	}
	s.sum.Roots[len(s.sum.Roots)-1].add(size)
	k := keyOf(c)
	if _, again := s.seen[k]; !again {
		s.seen[k] = struct{}{}
		s.sum.Unique.add(size)
		if err := s.notes.keep(len(s.seen), 0); err != nil {
			return err
		}
	}
	return s.progress(&s.sum)
}

// add counts one block.
func (w *Walked) add(size int64) {
	w.Blocks++
	w.Bytes += size
}
