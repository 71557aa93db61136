package blockstore

import (
	"cmp"
	"context"
	"errors"
	"slices"

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

// discard notes records that are to be given back. The caller holds openMu: a
// checkpoint must see a batch, or what is left of it.
func (s *Store) discard(list runs) {
	if len(list) == 0 {
		return
	}
	s.discarded = append(s.discarded, list...)
	if s.discarded.bytes() >= reclaimBytes {
		s.wakeReclaim()
	}
}

// wakeReclaim lets the background give back what is there.
func (s *Store) wakeReclaim() {
	select {
	case s.reclaims <- struct{}{}:
	default:
	}
}

// reclaimLoop gives space back as uploads end, beside all other work.
func (s *Store) reclaimLoop(ctx context.Context) {
	defer s.workers.Done()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.reclaims:
		}
		if s.enter(ctx) != nil {
			return
		}
		err := s.reclaim()
		s.leave()
		if err != nil {
			s.cfg.Log.Warn("the disk space of aborted uploads is freed by the next garbage collection", "err", err)
		}
	}
}

// reclaim gives back what is discarded so far.
func (s *Store) reclaim() error {
	s.reclaiming.Lock()
	defer s.reclaiming.Unlock()
	s.openMu.Lock()
	list := slices.Clone(s.discarded)
	s.openMu.Unlock()
	if len(list) == 0 {
		return nil
	}
	err := s.giveBack(list)
	s.openMu.Lock()
	defer s.openMu.Unlock()
	s.discarded = slices.Delete(s.discarded, 0, len(list))
	return err
}

func (s *Store) giveBack(list runs) error {
	if !s.noHoles.Load() {
		err := s.submit(&request{prepare: s.markSynced})
		if err == nil {
			err = s.voidAll(list)
		}
		if errors.Is(err, errors.ErrUnsupported) {
			s.noHoles.Store(true)
		}
		if !errors.Is(err, nodegate.InsufficientStorage) {
			return err
		}
	}
	// The file system has no holes, or no room for one more record: cut the end of the
	// log off, if nobody else writes there.
	end, _ := s.log.now()
	_, err := s.sealActive(end.segment, false)
	return err
}

// markSynced writes down that all before is synced: what is damaged there later is
// not the torn end of the log. A void record that is written over others half may
// look like one.
func (s *Store) markSynced(g *group) error {
	if err := s.log.sync(g.generation); err != nil {
		return err
	}
	c := commit{synced: s.log.syncedBefore()}
	_, err := s.log.append(g.generation, record{kind: kindCommit, time: s.stamp()}, c.encode(), nil)
	return err
}

func (s *Store) voidAll(list runs) error {
	for _, r := range joined(list) {
		if err := s.void(r); err != nil {
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
func (s *Store) void(r run) error {
	segs := s.log.segs
	seg, err := segs.take(r.segment)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return fail("reclaim", err)
	}
	defer segs.give(seg)
	r.to = min(r.to, segs.size(r.segment)) // a full disk may have cut it off already
	from, to := (r.from+recordHeader+holePage-1)&^(holePage-1), r.to&^(holePage-1)
	if to <= from {
		return nil
	}
	tag, ok := readTag(seg.f)
	if !ok {
		return nil // damaged: nothing is written there any more
	}
	head := record{kind: kindVoid, length: uint32(r.to - r.from - recordHeader), time: s.stamp()}
	if _, err := seg.f.WriteAt(head.appendHead(nil, tag), r.from); err != nil {
		return fail("reclaim", err)
	}
	if err := seg.f.Punch(from, to-from); err != nil {
		return fail("reclaim", err)
	}
	return nil
}
