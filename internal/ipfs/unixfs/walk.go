package unixfs

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Walked is how much there is below a root, each block once.
type Walked struct {
	Blocks int64
	Bytes  int64
	Charge int64 // what a pin of it counts toward the quota
}

// Stat walks the blocks below a root in the store.
func (o *Objects) Stat(ctx context.Context, root cid.Cid, limits Limits) (Walked, error) {
	return walkAll(ctx, o.get, root, limits, func(Walked) {})
}

// Walk goes through all blocks below a root, as a batch sees them: those that it
// read are safe from collection until it ends, so that they can be pinned. After
// each block progress is told; calls do not overlap.
//
// Returns NotFound when a block is missing, TooLarge beyond the limit of blocks.
func (o *Objects) Walk(ctx context.Context, batch Batch, root cid.Cid, limits Limits, progress func(Walked)) (Walked, error) {
	return walkAll(ctx, inlineOr(batch.Get), root, limits, progress)
}

// WalkSmall is Walk where little is to be done: a few small blocks that are at hand. It is not
// ok for all others, and nothing is known of them then.
func WalkSmall(ctx context.Context, batch Batch, root cid.Cid, limits Limits) (Walked, bool) {
	left := smallWalk
	w := newWalk(ctx, inlineOr(func(ctx context.Context, c cid.Cid) ([]byte, error) {
		data, ok := batch.Small(ctx, c, left)
		if !ok {
			return nil, errNotSmall
		}
		left -= len(data)
		return data, nil
	}), limits, func(Walked) {})
	defer w.notes.release()
	w.err = w.push(root, 0)
	for range fewBlocks {
		if !w.one(ctx) {
			break
		}
	}
	return w.done, w.err == nil && len(w.todo) == 0
}

// smallWalk is how many bytes take no longer to read and to take apart than a small request does
// as a whole.
const smallWalk = 64 << 10

var errNotSmall = errors.New("not a small block at hand")

// step is a block that is to be visited.
type step struct {
	cid   cid.Cid
	depth int
}

// walk is a walk by several workers. The order of blocks does not matter.
type walk struct {
	get      getter
	limit    int
	progress func(Walked)

	mu      sync.Mutex
	changed sync.Cond
	todo    []step
	busy    int
	seen    map[blockKey]struct{}
	notes   notes
	done    Walked
	err     error
}

func walkAll(ctx context.Context, get getter, root cid.Cid, limits Limits, progress func(Walked)) (Walked, error) {
	w := newWalk(ctx, get, limits, progress)
	defer w.notes.release()
	err := w.run(ctx, root)
	return w.done, err
}

func newWalk(ctx context.Context, get getter, limits Limits, progress func(Walked)) *walk {
	w := &walk{get: get, limit: limits.blocks(), progress: progress, seen: map[blockKey]struct{}{}, notes: notes{hold: budget.From(ctx)}}
	w.changed.L = &w.mu
	return w
}

// run walks from a root. After it without an error, all that was seen is there.
func (w *walk) run(ctx context.Context, root cid.Cid) error {
	w.err = w.push(root, 0)
	for range fewBlocks {
		if !w.one(ctx) {
			return w.err
		}
	}
	w.share(ctx)
	return w.err
}

// fewBlocks are visited before there are other workers. To start and end those costs more
// than to visit the few blocks of most pins.
const fewBlocks = 4

// share lets several workers do the rest, on threads of low priority once it takes long.
func (w *walk) share(ctx context.Context) {
	var workers sync.WaitGroup
	for range min(background.Cores(), 4) {
		workers.Go(func() {
			var t background.Thread
			defer t.End()
			w.work(fairshare.Alone(ctx, t.Lower, t.Rest))
		})
	}
	workers.Wait()
}

// push adds a block that was not seen yet. The caller holds the lock, or is alone.
func (w *walk) push(c cid.Cid, depth int) error {
	k := keyOf(c)
	if _, ok := w.seen[k]; ok {
		return nil
	}
	switch {
	case depth > maxDepth:
		return failed("blocks are nested too deeply: at most %d", maxDepth)
	case len(w.todo) >= maxPending:
		return tooLarge("too many links at once: at most %d", maxPending)
	case len(w.seen) >= w.limit:
		return tooLarge("too many blocks: at most %d", w.limit)
	}
	w.seen[k] = struct{}{}
	w.todo = append(w.todo, step{c, depth})
	return w.notes.keep(len(w.seen), len(w.todo))
}

// pending checks whether so many blocks may wait.
func (w *walk) pending(n int) error {
	if n > maxPending {
		return tooLarge("too many links at once: at most %d", maxPending)
	}
	return w.notes.keep(0, n)
}

func (w *walk) work(ctx context.Context) {
	for w.one(ctx) {
	}
}

// one visits the next block, if there is one.
func (w *walk) one(ctx context.Context) bool {
	s, ok := w.next()
	if !ok {
		return false
	}
	data, err := w.get.inTurn(ctx, s.cid)
	var links []cid.Cid
	if err == nil {
		links, err = linksInTurn(ctx, s.cid, data)
	}
	w.finish(s, len(data), links, err)
	return true
}

// next waits for a block. There is none when all is done or something failed.
func (w *walk) next() (step, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.todo) == 0 && w.busy > 0 && w.err == nil {
		w.changed.Wait()
	}
	if len(w.todo) == 0 || w.err != nil {
		return step{}, false
	}
	s := w.todo[len(w.todo)-1]
	w.todo = w.todo[:len(w.todo)-1]
	w.busy++
	return s, true
}

func (w *walk) finish(s step, size int, links []cid.Cid, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy--
	for i := 0; i < len(links) && err == nil; i++ {
		err = w.push(links[i], s.depth+1)
	}
	if w.err == nil {
		w.err = err
	}
	if err == nil {
		w.done.Blocks++
		if _, inline := identity.Data(s.cid); !inline {
			w.done.Bytes += int64(size)
			w.done.Charge += nodegate.BlockCharge(size)
		}
		w.progress(w.done)
	}
	w.changed.Broadcast()
}

// inOrder goes through all blocks below a root, parents before children and these
// in order, each once.
func inOrder(ctx context.Context, get getter, root cid.Cid, limits Limits, visit func(c cid.Cid, data []byte) error) error {
	w := &walk{limit: limits.blocks(), seen: map[blockKey]struct{}{}, notes: notes{hold: budget.From(ctx)}}
	defer w.notes.release()
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
		data, err := get(ctx, s.cid)
		if err != nil {
			return err
		}
		if err := visit(s.cid, data); err != nil {
			return err
		}
		links, err := linksInTurn(ctx, s.cid, data)
		if err != nil {
			return err
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

// linksInTurn is Links when it is the request's turn.
func linksInTurn(ctx context.Context, c cid.Cid, data []byte) (links []cid.Cid, err error) {
	if turnErr := fairshare.Do(ctx, func() { links, err = Links(c, data) }); turnErr != nil {
		return nil, cancelled(turnErr)
	}
	return links, err
}
