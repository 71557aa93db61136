package blockstore

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"

	"github.com/cockroachdb/pebble"
	"github.com/nodegate/nodegate"
)

// compact empties segments of which less than half is in use, and removes them.
func (c *collector) compact(ctx context.Context) error {
	victims, err := c.victims()
	if err != nil || len(victims) == 0 {
		return err
	}
	var emptied []uint32
	for _, number := range victims {
		if err = c.empty(ctx, number); err != nil {
			break
		}
		emptied = append(emptied, number)
	}
	if len(emptied) == 0 {
		return err
	}
	// The index must know the new places for sure before the old ones go.
	if flushErr := c.s.index.db.Flush(); flushErr != nil {
		return errors.Join(err, c.s.index.failed(flushErr))
	}
	return errors.Join(err, c.remove(emptied))
}

// victims are the sealed segments that are mostly empty, the emptiest first, as
// they make room for the others. Segments in which an open batch may have records
// are left alone.
func (c *collector) victims() ([]uint32, error) {
	live, err := c.s.index.live()
	if err != nil {
		return nil, err
	}
	segs := c.s.log.segs
	wasted := func(n uint32) bool { return 2*max(live[n], 0) < segs.size(n)-segmentHeader }
	end, _ := c.s.log.now()
	cut, err := c.s.uploads.sealActive(end.segment, wasted(end.segment))
	if err != nil {
		return nil, err
	}
	c.report.Freed += cut
	keep := c.s.uploads.checkpoint().segment
	var list []uint32
	for _, n := range segs.numbers() {
		if n < keep && (wasted(n) || segs.size(n) <= segmentHeader) {
			list = append(list, n)
		}
	}
	slices.SortFunc(list, func(a, b uint32) int { return cmp.Compare(live[a], live[b]) })
	return list, nil
}

func (c *collector) remove(numbers []uint32) error {
	for _, n := range numbers {
		size := c.s.log.segs.size(n)
		if err := c.s.log.segs.remove(n); err != nil {
			return fail("remove", err)
		}
		if err := c.s.index.db.Delete(liveKey(n), pebble.NoSync); err != nil {
			return c.s.index.failed(err)
		}
		c.report.Segments++
		c.report.Freed += size
	}
	c.report.Freed -= c.copies
	if err := c.s.log.segs.disk.Sync(); err != nil {
		return fail("remove", err)
	}
	return nil
}

// mover copies what is in use from one segment to the end of the log.
type mover struct {
	*collector
	number     uint32
	file       file
	generation uint64
	moved      []move
	pins       map[string]nodegate.Pin // account and CID of pins with a record here
	loose      []loose
	done       []done // batches with a commit record here and older blocks
	damaged    bool
	buf        []byte
}

// move is one copied block.
type move struct {
	hash []byte
	from position
	to   entry
}

// movesAtOnce bounds the memory of a mover.
const movesAtOnce = 4096

// empty copies all that is in use out of a segment.
func (c *collector) empty(ctx context.Context, number uint32) error {
	seg, err := c.s.log.segs.take(number)
	if err != nil {
		return fail("compact", err)
	}
	defer c.s.log.segs.give(seg)
	m := &mover{collector: c, number: number, file: seg.f, pins: map[string]nodegate.Pin{}}
	_, m.generation = c.s.log.now()
	if tag, ok := readTag(seg.f); ok {
		err = m.records(ctx, newScanner(seg.f, tag, segmentHeader, c.s.log.segs.size(number)))
	} else {
		m.damaged = true
	}
	if err == nil && m.damaged {
		err = m.rescue(ctx)
	}
	return errors.Join(err, m.finish())
}

func (m *mover) records(ctx context.Context, sc *scanner) error {
	for {
		r, off, err := sc.next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, errTorn):
			m.damaged = true
			if !sc.resync() {
				return nil
			}
			continue
		case err != nil:
			return fail("compact", err)
		}
		if err := m.pace.wait(ctx, r.size()); err != nil {
			return err
		}
		if err := m.record(&r, off); err != nil {
			return err
		}
	}
}

func (m *mover) record(r *record, off int64) error {
	if r.kind == kindVoid {
		return nil
	}
	if r.kind == kindBlock {
		e, ok, err := m.s.index.block(r.key)
		if err != nil || !ok || e.damaged() || e.position != (position{m.number, off}) {
			return err
		}
		data, err := readData(m.file, r, off, m.buf)
		if err != nil {
			m.s.blocks.quarantine(append([]byte(nil), r.key...), e, err)
			return nil
		}
		m.buf = data
		return m.copy(append([]byte(nil), r.key...), e, data)
	}
	data, err := readData(m.file, r, off, nil)
	if err != nil {
		m.damaged = true
		return nil
	}
	if r.kind == kindTouch {
		return m.touches(data)
	}
	return m.commit(r, data)
}

// append writes a record that stands for itself, and counts what that takes.
func (m *mover) append(r record, data []byte) (position, error) {
	m.copies += recordSize(len(r.key), len(data))
	return m.s.log.append(m.generation, r, data, nil)
}

// copy writes a block to the end of the log. It counts at its new place once that
// is synced.
func (m *mover) copy(hash []byte, e entry, data []byte) error {
	pos, err := m.append(record{kind: kindBlock, key: hash, time: e.touched}, data)
	if err != nil {
		return err
	}
	from := e.position
	e.position = pos
	m.moved = append(m.moved, move{hash, from, e})
	if len(m.moved) < movesAtOnce {
		return nil
	}
	return m.settle()
}

// settle syncs the copies and lets the index point to them.
func (m *mover) settle() error {
	if len(m.moved) == 0 {
		return nil
	}
	if err := m.s.committer.submit(&request{prepare: m.sameGeneration}); err != nil {
		return err
	}
	for i := range m.moved {
		if err := m.s.blocks.move(&m.moved[i]); err != nil {
			return err
		}
	}
	m.moved = m.moved[:0]
	return nil
}

// sameGeneration fails when copies were given up with a full disk.
func (m *mover) sameGeneration(g *group) error {
	if g.generation != m.generation {
		return stale()
	}
	return nil
}

// touches carries over which blocks were wanted lately.
func (m *mover) touches(list []byte) error {
	var keep []byte
	var last int64
	err := eachHash(list, func(hash []byte) error {
		e, ok, err := m.s.index.block(hash)
		if err == nil && ok && !expired(e.touched, m.now, m.s.cfg.Undo) {
			keep = append(append(keep, byte(len(hash))), hash...)
			last = max(last, e.touched)
		}
		return err
	})
	if err != nil || len(keep) == 0 {
		return err
	}
	_, err = m.append(record{kind: kindTouch, time: last}, keep)
	return err
}

// commit notes which pins have a record here.
func (m *mover) commit(r *record, data []byte) error {
	c, err := decodeCommit(data)
	if err != nil {
		m.damaged = true
		return nil
	}
	for _, p := range c.pins {
		m.pins[string(pinKey(p.AccountID, p.CID))] = nodegate.Pin{AccountID: p.AccountID, CID: p.CID}
	}
	m.loose = append(m.loose, c.loose...)
	for _, d := range append(c.done, done{r.batch, r.time, c.first}) {
		if d.batch != 0 && d.first != 0 && m.s.log.segs.olderThan(d.first, m.number) {
			m.done = append(m.done, d)
		}
	}
	if m.noted() < movesAtOnce {
		return nil
	}
	return m.carry()
}

// noted is how much waits to be carried over.
func (m *mover) noted() int { return len(m.pins) + len(m.loose) + len(m.done) }

func (m *mover) finish() error {
	if err := m.settle(); err != nil {
		return err
	}
	return m.carry()
}

// carry writes the pins whose latest record stands here again. One that is gone is
// carried too while an older segment may say that it is there.
func (m *mover) carry() error {
	if m.noted() == 0 {
		return nil
	}
	r := &result{}
	var over []*pinState
	prepare := func(g *group) (err error) {
		if err := m.sameGeneration(g); err != nil {
			return err
		}
		if over, err = m.current(g, r); err != nil {
			return err
		}
		c := commit{synced: m.s.log.syncedBefore(), loose: r.loose, done: m.done}
		for _, p := range r.pins {
			c.pins = append(c.pins, p.Pin)
		}
		pos, err := m.append(record{kind: kindCommit, time: m.now}, c.encode())
		if err == nil {
			g.place(r.pins, pos.segment)
		}
		return err
	}
	apply := func(func()) error { return m.s.pins.applyCarried(r, over) }
	err := m.s.committer.submit(&request{prepare: prepare, apply: apply})
	clear(m.pins)
	m.loose, m.done = nil, nil
	return err
}

// current sorts the noted pins: what has to be written again goes to r, what is
// over is returned.
func (m *mover) current(g *group, r *result) (over []*pinState, err error) {
	for _, key := range m.pins {
		p, err := g.pin(key.AccountID, key.CID)
		if err != nil {
			return nil, err
		}
		if p == nil || p.segment != m.number {
			continue
		}
		p = &pinState{Pin: p.Pin, segment: p.segment, first: p.first, gone: p.gone}
		if p.gone && !m.s.log.segs.olderThan(p.first, m.number) {
			over = append(over, p)
			continue
		}
		r.pins = append(r.pins, p)
	}
	for i := range m.loose {
		known, err := m.s.index.get(m.loose[i].key())
		if err != nil {
			return nil, err
		}
		if known != nil {
			r.loose = append(r.loose, m.loose[i])
		}
	}
	return over, nil
}

// rescue is for a segment whose records can't all be found: it asks the index what
// stands here, which takes longer.
func (m *mover) rescue(ctx context.Context) error {
	if err := m.settle(); err != nil {
		return err
	}
	err := m.s.index.scan([]byte{keyBlock}, func(hash, value []byte) (bool, error) {
		e, ok := decodeEntry(value)
		if !ok || e.segment != m.number || e.damaged() {
			return true, ctx.Err()
		}
		hash = append([]byte(nil), hash...)
		now, ok, err := m.s.index.block(hash)
		if err != nil || !ok || now.position != e.position {
			return true, err
		}
		data, err := m.s.blocks.readAt(ctx, hash, e, nil)
		if err != nil {
			m.s.blocks.quarantine(hash, e, err)
			return true, nil
		}
		return true, m.copy(hash, e, data)
	})
	if err != nil {
		return err
	}
	return m.s.index.scan([]byte{keyPin}, func(key, value []byte) (bool, error) {
		p, err := decodePinState(value)
		if err == nil && p.segment == m.number {
			m.pins[string(pinKey(p.AccountID, p.CID))] = p.Pin
		}
		return true, err
	})
}
