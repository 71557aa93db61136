package blockstore

import (
	"context"
	"errors"
	"io"

	"github.com/cockroachdb/pebble"
)

// replayer applies the records behind the checkpoint to the index.
type replayer struct {
	s    *Store
	open map[uint64]*replayed // batches without a commit so far
	now  int64
}

// replayed is what is known of a batch that did not commit so far.
type replayed struct {
	blocks  pending
	touched []byte
	runs    runs // its records, to be given back when there is no commit
}

// replay brings the index up to the log and finds the place where it goes on. Nobody
// else uses the store yet.
func (s *Store) replay(ctx context.Context) error {
	c, err := s.index.readCheckpoint()
	if err != nil {
		return err
	}
	s.uploads.last = c.batch
	s.clock.last.Store(c.clock)
	if err := s.index.db.DeleteRange([]byte{keyPending}, []byte{keyPending + 1}, pebble.NoSync); err != nil {
		return s.index.failed(err)
	}
	r := &replayer{s: s, open: map[uint64]*replayed{}, now: s.clock.stamp()}
	if err := r.run(ctx, c); err != nil {
		return err
	}
	s.committer.saveCheckpoint()
	return nil
}

// run replays the log behind a checkpoint.
func (r *replayer) run(ctx context.Context, c checkpoint) error {
	numbers := r.s.log.segs.numbers()
	if len(numbers) > 0 {
		r.s.log.last = numbers[len(numbers)-1]
	}
	r.s.log.last = max(r.s.log.last, c.segment)
	for i, number := range numbers {
		if number < c.segment {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		from := int64(segmentHeader)
		if number == c.segment {
			from = max(from, c.off)
		}
		if err := r.segment(number, from, i == len(numbers)-1); err != nil {
			return err
		}
	}
	for _, b := range r.open {
		if err := b.blocks.drop(r.s.index); err != nil {
			return r.s.index.failed(err)
		}
		r.s.uploads.discarded = append(r.s.uploads.discarded, b.runs...)
	}
	return nil
}

// segment replays one segment. The end of the last one may be torn, and the log
// goes on there.
func (r *replayer) segment(number uint32, from int64, last bool) error {
	segs := r.s.log.segs
	seg, err := segs.take(number)
	if err != nil {
		return fail("replay", err)
	}
	defer segs.give(seg)
	end := segs.size(number)
	tag, ok := readTag(seg.f)
	if !ok {
		if end > segmentHeader {
			r.s.cfg.Log.Error("the head of a segment is damaged: its blocks can't be found", "segment", segmentName(number))
		}
		return nil
	}
	if last {
		cut, err := r.tornAt(seg, tag, from, end)
		if err != nil {
			return err
		}
		if err := r.adopt(seg, tag, from, cut, end); err != nil {
			return err
		}
		end = cut
	}
	return r.records(seg.f, newScanner(seg.f, tag, from, end), number)
}

func readTag(f io.ReaderAt) (uint64, bool) {
	b := make([]byte, segmentHeader+recordHeader+255)
	n, err := f.ReadAt(b, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, false
	}
	return segmentTag(b[:n])
}

// adopt cuts the torn end off the last segment and goes on in it. One that is
// shorter than the index says is left alone: what is written there now would
// stand where other blocks were.
func (r *replayer) adopt(seg *segment, tag uint64, from, cut, end int64) error {
	if end < from {
		return nil
	}
	if cut < end {
		r.s.cfg.Log.Warn("truncated an incomplete record at the end of the log", "segment", segmentName(seg.number), "bytes", end-cut)
		if err := errors.Join(seg.f.Truncate(cut), seg.f.Sync()); err != nil {
			return writeError("replay", err)
		}
		r.s.log.segs.resize(seg.number, cut)
	}
	if cut >= r.s.cfg.SegmentBytes {
		return nil // full
	}
	return r.s.log.reuse(seg.number, tag, cut)
}

// tornAt finds where the whole records of the last segment end. Damage in front of
// what a later record knows as synced is not a torn end: it stays, for the reads
// to find.
func (r *replayer) tornAt(seg *segment, tag uint64, from, end int64) (int64, error) {
	f, number := seg.f, seg.number
	sc := newScanner(f, tag, from, end)
	var torn []int64
	synced := from
	var buf []byte
	for {
		rec, off, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			return firstFrom(torn, synced, min(alignUp(end), sc.off)), nil
		case errors.Is(err, errTorn):
			torn = append(torn, off)
			if !sc.resync() {
				return firstFrom(torn, synced, alignUp(end)), nil
			}
			continue
		case err != nil:
			return 0, fail("replay", err)
		}
		if rec.kind == kindVoid {
			continue
		}
		buf, err = readData(f, &rec, off, buf)
		if err != nil {
			torn = append(torn, off)
			continue
		}
		if rec.kind == kindCommit {
			if c, err := decodeCommit(buf); err == nil && c.synced.segment == number {
				synced = max(synced, c.synced.off)
			}
		}
	}
}

// firstFrom is the first of places that is not before a limit, or else other.
func firstFrom(places []int64, limit, other int64) int64 {
	for _, p := range places {
		if p >= limit {
			return p
		}
	}
	return other
}

// records applies the records of a scan. What is damaged is passed over: blocks
// are found damaged when they are read.
func (r *replayer) records(f file, sc *scanner, number uint32) error {
	for {
		rec, off, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTorn):
			r.s.cfg.Log.Error("a part of a segment is damaged", "segment", segmentName(number), "offset", off)
			if !sc.resync() {
				return nil
			}
			continue
		case err != nil:
			return fail("replay", err)
		}
		if err := r.record(f, &rec, position{number, off}); err != nil {
			return err
		}
	}
}

func (r *replayer) record(f file, rec *record, pos position) error {
	r.s.uploads.last = max(r.s.uploads.last, rec.batch)
	switch rec.kind {
	case kindBlock:
		e := entry{position: pos, length: rec.length, touched: rec.time}
		if rec.batch == 0 {
			return r.s.blocks.add([]found{{string(rec.key), e}}, rec.time)
		}
		b := r.batch(rec.batch)
		b.runs.add(pos, rec.size())
		return b.blocks.add(r.s.index, rec.key, e)
	case kindTouch, kindCommit:
		data, err := readData(f, rec, pos.off, nil)
		if err != nil {
			r.s.cfg.Log.Error("skipped a damaged record of pins or times", "segment", segmentName(pos.segment), "offset", pos.off)
			return nil
		}
		if rec.kind == kindCommit {
			return r.commit(rec, data, pos)
		}
		if rec.batch == 0 {
			return r.s.blocks.touchAll(data, rec.time)
		}
		b := r.batch(rec.batch)
		b.runs.add(pos, rec.size())
		b.touched = append(b.touched, data...)
	}
	return nil
}

func (r *replayer) batch(id uint64) *replayed {
	b, ok := r.open[id]
	if !ok {
		b = &replayed{blocks: pending{batch: id}}
		r.open[id] = b
	}
	return b
}

// commit applies a commit record as the committer did.
func (r *replayer) commit(rec *record, data []byte, pos position) error {
	c, err := decodeCommit(data)
	if err != nil {
		return fail("replay", err)
	}
	for _, d := range append(c.done, done{batch: rec.batch, time: rec.time}) {
		if err := r.applyBatch(d.batch, d.time); err != nil {
			return err
		}
	}
	res := &result{pos: pos, time: rec.time}
	for _, p := range c.pins {
		state := &pinState{Pin: p, segment: pos.segment}
		state.gone = !p.Unpinned.IsZero() && expired(p.Unpinned.UnixNano(), r.now, r.s.cfg.Undo)
		res.pins = append(res.pins, state)
	}
	for _, l := range c.loose {
		if !expired(l.time, r.now, r.s.cfg.Undo) {
			res.loose = append(res.loose, l)
		}
	}
	return r.s.pins.apply(res)
}

// applyBatch enters the blocks of a batch that committed.
func (r *replayer) applyBatch(id uint64, time int64) error {
	b, ok := r.open[id]
	if !ok {
		return nil
	}
	delete(r.open, id)
	x := r.s.index
	if err := b.blocks.each(x, func(list []found) error { return r.s.blocks.add(list, time) }); err != nil {
		return err
	}
	if err := b.blocks.drop(x); err != nil {
		return x.failed(err)
	}
	return r.s.blocks.touchAll(b.touched, time)
}
