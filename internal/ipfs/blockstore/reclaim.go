package blockstore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/nodegate/nodegate"
)

// Space of an upload that ended without a commit is given back at once. Its records
// stand between those of others, so the file can't be cut: each stretch of them
// becomes one void record, and the disk's blocks below it are freed.
//
// Nothing else refers to these records. A block that two uploads put is written by
// each of them until one has committed, so the one that ends early takes only its own
// copy away.

// run is a stretch of a segment that holds whole records.
type run struct {
	segment  uint32
	from, to int64
}

func (r run) position() position { return position{r.segment, r.from} }

// runs are the records of one batch, in the order of the log.
type runs []run

// maxRuns bounds the memory of one batch. What it writes beyond, in stretches between
// those of others, waits for a collection.
const maxRuns = 32 << 10

func (l *runs) add(p position, size int64) {
	if n := len(*l); n > 0 && (*l)[n-1].segment == p.segment && (*l)[n-1].to == p.off {
		(*l)[n-1].to += size
		return
	}
	if len(*l) < maxRuns {
		*l = append(*l, run{p.segment, p.off, p.off + size})
	}
}

func (l runs) bytes() (n int64) {
	for _, r := range l {
		n += r.to - r.from
	}
	return n
}

// reclaimBytes is how much has to be given back before that is worth two syncs. What
// is less waits for the next tick.
const reclaimBytes = 256 << 10

// unwanted are the records of a batch that ended without a commit. Where its commit
// record was written and the sync failed, the record may be on the disk: then they
// stay, and a collection decides.
func (b *Batch) unwanted() runs {
	b.s.log.mu.Lock()
	defer b.s.log.mu.Unlock()
	list := b.runs
	b.runs = nil
	if b.result != nil {
		return nil
	}
	return list
}

// signal wakes one goroutine. Raising it again before that has no effect.
type signal chan struct{}

func (s signal) raise() {
	select {
	case s <- struct{}{}:
	default:
	}
}

// reclaimer gives the space of uploads back that ended without a commit.
type reclaimer struct {
	log       *log
	uploads   *uploads
	committer *committer
	calls     *calls
	clock     *clock
	wake      signal
	logger    *slog.Logger

	mu      sync.Mutex  // one at a time
	noHoles atomic.Bool // the file system can't free a part of a file
}

// run gives space back as uploads end, beside all other work.
func (r *reclaimer) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.wake:
		}
		if r.calls.enter(ctx) != nil {
			return
		}
		err := r.reclaim()
		r.calls.leave()
		if err != nil {
			r.logger.Warn("the disk space of aborted uploads is freed by the next garbage collection", "err", err)
		}
	}
}

// reclaim gives back what is discarded so far.
func (r *reclaimer) reclaim() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.uploads.toReclaim()
	if len(list) == 0 {
		return nil
	}
	err := r.giveBack(list)
	r.uploads.reclaimed(len(list))
	return err
}

func (r *reclaimer) giveBack(list runs) error {
	if !r.noHoles.Load() {
		err := r.committer.submit(&request{prepare: r.markSynced})
		if err == nil {
			err = r.voidAll(list)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			r.noHoles.Store(true)
		}
		if !errors.Is(err, nodegate.InsufficientStorage) {
			return err
		}
	}
	// The file system has no holes, or no room for one more record: cut the end of the
	// log off, if nobody else writes there.
	end, _ := r.log.now()
	_, err := r.uploads.sealActive(end.segment, false)
	return err
}

// markSynced writes down that all before is synced: what is damaged there later is
// not the torn end of the log. A void record that is written over others half may
// look like one.
func (r *reclaimer) markSynced(g *group) error {
	if err := r.log.sync(g.generation); err != nil {
		return err
	}
	c := commit{synced: r.log.syncedBefore()}
	_, err := r.log.append(g.generation, record{kind: kindCommit, time: r.clock.stamp()}, c.encode(), nil)
	return err
}

func (r *reclaimer) voidAll(list runs) error {
	for _, stretch := range joined(list) {
		if err := r.void(stretch); err != nil {
			return err
		}
	}
	return nil
}

// joined sorts runs and makes one of those that touch: uploads that were written
// between each other leave small pieces.
func joined(list runs) (out runs) {
	slices.SortFunc(list, func(a, b run) int {
		return cmp.Or(cmp.Compare(a.segment, b.segment), cmp.Compare(a.from, b.from))
	})
	for _, r := range list {
		if n := len(out); n > 0 && out[n-1].segment == r.segment && out[n-1].to == r.from {
			out[n-1].to = r.to
			continue
		}
		out = append(out, r)
	}
	return out
}

// holePage is what file systems free at least: pieces of pages stay.
const holePage = 4 << 10

// void makes one record of a run and frees the disk below it.
func (r *reclaimer) void(stretch run) error {
	segs := r.log.segs
	seg, err := segs.take(stretch.segment)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return fail("reclaim", err)
	}
	defer segs.give(seg)
	stretch.to = min(stretch.to, segs.size(stretch.segment)) // a full disk may have cut it off already
	from, to := (stretch.from+recordHeader+holePage-1)&^(holePage-1), stretch.to&^(holePage-1)
	if to <= from {
		return nil
	}
	tag, ok := readTag(seg.f)
	if !ok {
		return nil // damaged: nothing is written there any more
	}
	head := record{kind: kindVoid, length: uint32(stretch.to - stretch.from - recordHeader), time: r.clock.stamp()}
	if _, err := seg.f.WriteAt(head.appendHead(nil, tag), stretch.from); err != nil {
		return fail("reclaim", err)
	}
	if err := seg.f.Punch(from, to-from); err != nil {
		return fail("reclaim", err)
	}
	return nil
}
