package blockstore

import (
	"context"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"time"

	"github.com/cockroachdb/pebble"
)

// Damage is a stored block that can't be used.
type Damage struct {
	Multihash string // in hex
	Segment   string // the file that holds it
	Offset    int64
	Length    int
}

// Report says how a store is.
type Report struct {
	Segments  int
	DiskBytes int64  // of the segments
	LiveBytes int64  // of those, in use; the rest goes with collections
	Damaged   int    // blocks in quarantine
	ReadOnly  string // why nothing can be written, or ""
	Index     string // "damaged" if the next start rebuilds the index, or ""
}

// Ready is an error when the store only reads, after a sync that failed: what was
// written then may be lost, so writing goes on only after a restart has looked. The
// same holds for an index that can't be written.
func (s *Store) Ready() error {
	if s.index.failure() != nil {
		return errors.New("the block store is read-only because its index failed: check the disk and restart")
	}
	if err := s.index.failing.Load(); err != nil && !isFull(*err) {
		return errors.New("the block store accepts no uploads because its index can't be written: check the disk")
	}
	if err := s.log.failure(); err != nil {
		return errors.New("the block store is read-only after a failed sync: check the disk and restart")
	}
	return nil
}

// Report returns how the store is.
func (s *Store) Report(ctx context.Context) (Report, error) {
	if err := s.calls.enter(ctx); err != nil {
		return Report{}, err
	}
	defer s.calls.leave()
	live, err := s.index.live()
	if err != nil {
		return Report{}, err
	}
	var r Report
	for _, n := range s.log.segs.numbers() {
		r.Segments++
		r.DiskBytes += s.log.segs.size(n)
		r.LiveBytes += max(live[n], 0)
	}
	if err := s.log.failure(); err != nil {
		r.ReadOnly = err.Error()
	}
	if s.index.broken.Load() {
		r.Index = "damaged"
	}
	return r, s.index.scan([]byte{keyDamaged}, func(_, _ []byte) (bool, error) {
		r.Damaged++
		return true, nil
	})
}

// Scrub reads every block and hands the damaged ones to each. A block in
// quarantine that is whole again, after a passing fault of the disk, is released.
func (s *Store) Scrub(ctx context.Context, each func(Damage)) error {
	if err := s.calls.enter(ctx); err != nil {
		return err
	}
	defer s.calls.leave()
	ctx, stop := s.calls.untilClose(ctx)
	defer stop()
	return s.scrubber.scrub(ctx, pace{rate: math.MaxInt64}, each)
}

// scrubber reads stored blocks to find damage.
type scrubber struct {
	index  *index
	blocks *blockTable
	rate   int64 // bytes a second in the background
	log    *slog.Logger
}

func (s *scrubber) scrub(ctx context.Context, p pace, each func(Damage)) error {
	var buf []byte
	from := blockKey(nil)
	for {
		list, err := s.index.blocksFrom(from)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, f := range list {
			if err := p.wait(ctx, int64(f.length)); err != nil {
				return err
			}
			if buf, err = s.check(ctx, []byte(f.hash), f.entry, buf, each); err != nil {
				return err
			}
		}
		from = append(blockKey([]byte(list[len(list)-1].hash)), 0)
	}
}

// blocksFrom reads a portion of the index. A slow reader must not hold on to it for
// longer: it could not clean up meanwhile.
func (x *index) blocksFrom(key []byte) (list []found, err error) {
	const portion = 256
	it, err := x.db.NewIter(&pebble.IterOptions{LowerBound: key, UpperBound: []byte{keyBlock + 1}})
	if err != nil {
		return nil, x.failed(err)
	}
	for ok := it.First(); ok && len(list) < portion; ok = it.Next() {
		e, whole := decodeEntry(it.Value())
		if !whole {
			return nil, errors.Join(x.failed(pebble.ErrCorruption), it.Close())
		}
		list = append(list, found{string(it.Key()[1:]), e})
	}
	if err := errors.Join(it.Error(), it.Close()); err != nil {
		return nil, x.failed(err)
	}
	return list, nil
}

// check reads one block, and returns the buffer for the next.
func (s *scrubber) check(ctx context.Context, hash []byte, e entry, buf []byte, each func(Damage)) ([]byte, error) {
	data, err := s.blocks.readAt(ctx, hash, e, buf)
	if data != nil {
		buf = data
	}
	if err != nil {
		e, err = s.recheck(ctx, hash, e, err)
	}
	switch {
	case err == nil && e.damaged():
		s.blocks.release(hash, e)
	case err != nil && isDamage(err):
		s.blocks.quarantine(hash, e, err)
		each(Damage{hex.EncodeToString(hash), segmentName(e.segment), e.off, int(e.length)})
	case err != nil:
		return buf, fail("scrub", err)
	}
	return buf, nil
}

// recheck reads a block again where it is now: a scan sees the index as it was,
// and a collection may have moved or deleted the block since.
func (s *scrubber) recheck(ctx context.Context, hash []byte, seen entry, cause error) (entry, error) {
	now, ok, err := s.index.block(hash)
	if err != nil {
		return now, err
	}
	if !ok {
		return entry{}, nil
	}
	if now.position == seen.position {
		return now, cause
	}
	_, err = s.blocks.readAt(ctx, hash, now, nil)
	if errors.Is(err, errGone) {
		err = nil // moved once more: the next round sees it
	}
	return now, err
}

// scrubPause is how long the background scrub rests between two rounds.
const scrubPause = time.Hour

// run checks all blocks, slowly, again and again.
func (s *scrubber) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := s.scrub(ctx, pace{rate: s.rate}, func(Damage) {}) // quarantine reports them
		if err != nil && ctx.Err() == nil {
			s.log.Error("can't check the stored blocks", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(scrubPause):
		}
	}
}
