package blockstore

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/cockroachdb/pebble"
	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// CollectReport says what a collection did, or would do.
type CollectReport struct {
	Pins     int   // unpinned ones whose time to undo is over
	Loose    int   // uploads without a pin whose time is over
	Blocks   int   // that nothing keeps
	Bytes    int64 // of those blocks
	Segments int   // files removed
	Freed    int64 // bytes that the disk has more

	// Unknown are pinned nodes that can't be read, a hundred at most. What they
	// refer to can't be known, so nothing is deleted while there are any: add their
	// content again, or unpin it.
	Unknown []string
}

const maxUnknown = 100

// collector is one collection.
type collector struct {
	s      *Store
	dryRun bool
	now    int64
	floor  int64 // what was stored at or after this stays
	seen   marks[uint64]
	pace   pace
	copies int64 // bytes that compaction wrote again
	report CollectReport
}

// Collect deletes what nothing keeps: what is neither pinned, nor was unpinned or
// stored within the time to undo, nor belongs to an open batch. Then it compacts
// segments that are mostly empty, which frees the disk. Adds and reads go on
// meanwhile. A dry run changes nothing.
//
// Returns Conflict when a collection or a backup is running.
func (s *Store) Collect(ctx context.Context, dryRun bool) (CollectReport, error) {
	if err := s.calls.enter(ctx); err != nil {
		return CollectReport{}, err
	}
	defer s.calls.leave()
	select {
	case s.collecting <- struct{}{}:
	default:
		return CollectReport{}, &nodegate.Error{Op: "blockstore.collect", Code: nodegate.Conflict, Msg: "a collection or a backup is running already: wait until it ends"}
	}
	defer func() { <-s.collecting }()
	ctx, stop := s.calls.untilClose(ctx)
	defer stop()
	c := &collector{s: s, dryRun: dryRun, pace: pace{rate: s.cfg.CollectRate}}
	s.holds.beginCollection()
	defer s.holds.endCollection()
	c.now, c.floor = s.uploads.floor()
	err := c.run(ctx)
	return c.report, err
}

func (c *collector) run(ctx context.Context) error {
	if err := c.markPins(ctx); err != nil {
		return err
	}
	if err := c.expireLoose(ctx); err != nil {
		return err
	}
	if len(c.report.Unknown) > 0 {
		c.s.cfg.Log.Error("pinned nodes can't be read, so nothing is collected: add their content again or unpin it", "cids", c.report.Unknown)
		return nil
	}
	if err := c.sweep(ctx); err != nil {
		return err
	}
	c.seen = marks[uint64]{}
	if c.dryRun {
		return nil
	}
	return c.compact(ctx)
}

// markPins marks all that pins keep, and ends those whose time is over.
func (c *collector) markPins(ctx context.Context) error {
	var over []*pinState
	err := c.s.index.scan([]byte{keyPin}, func(_, value []byte) (bool, error) {
		p, err := decodePinState(value)
		if err != nil {
			return false, c.s.index.failed(err)
		}
		switch {
		case p.gone:
		case p.live() || p.undoable(c.now, c.s.cfg.Undo):
			return true, c.markPin(ctx, &p.Pin)
		default:
			c.report.Pins++
			if over = append(over, p); len(over) == groupSize {
				err = c.expirePins(ctx, over)
				over = nil
			}
		}
		return true, err
	})
	if err != nil {
		return err
	}
	return c.expirePins(ctx, over)
}

// expirePins ends pins whose time is over. One that was pinned again meanwhile keeps its
// blocks.
func (c *collector) expirePins(ctx context.Context, list []*pinState) error {
	if c.dryRun || len(list) == 0 {
		return nil
	}
	r := &result{}
	var kept []*pinState
	prepare := func(g *group) error {
		for _, p := range list {
			now, err := g.pin(p.AccountID, p.CID)
			switch {
			case err != nil:
				return err
			case now == nil:
			case now.live() || now.undoable(c.now, c.s.cfg.Undo):
				kept = append(kept, now)
			default:
				over := &pinState{Pin: now.Pin, segment: now.segment, gone: true, before: now, looked: true}
				r.pins = append(r.pins, over)
				g.pins[string(pinKey(p.AccountID, p.CID))] = over
			}
		}
		return nil
	}
	if err := c.s.committer.submit(&request{prepare: prepare, apply: func(func()) error { return c.s.pins.apply(r) }}); err != nil {
		return err
	}
	for _, p := range kept {
		if err := c.markPin(ctx, &p.Pin); err != nil {
			return err
		}
	}
	return nil
}

// expireLoose lets go of what was stored without a pin, when its time is over.
func (c *collector) expireLoose(ctx context.Context) error {
	var over []loose
	err := c.s.index.scan([]byte{keyLoose}, func(key, value []byte) (bool, error) {
		if len(key) < 8 || !expired(int64(binary.BigEndian.Uint64(key)), c.now, c.s.cfg.Undo) {
			return false, ctx.Err() // they are in order of time
		}
		r := reader{b: value}
		over = append(over, r.loose())
		c.report.Loose++
		if r.err != nil {
			return false, c.s.index.failed(r.err)
		}
		var err error
		if len(over) == groupSize {
			err = c.dropLoose(over)
			over = nil
		}
		return true, err
	})
	if err != nil {
		return err
	}
	return c.dropLoose(over)
}

func (c *collector) dropLoose(list []loose) error {
	if c.dryRun || len(list) == 0 {
		return nil
	}
	return c.s.committer.submit(&request{apply: func(func()) error { return c.s.pins.dropLoose(list) }})
}

// The ways of looking at a block: the same bytes can be raw under one CID and a
// node under another.
const (
	wayStored = 1
	wayPB     = 2
	wayCBOR   = 3
	wayOther  = 4
)

func wayOf(codec uint64) uint8 {
	switch codec {
	case cid.Raw:
		return wayStored
	case cid.DagProtobuf:
		return wayPB
	case cid.DagCBOR:
		return wayCBOR
	}
	return wayOther
}

// markPin marks what one pin keeps.
func (c *collector) markPin(ctx context.Context, p *nodegate.Pin) error {
	root, err := cid.Decode(p.CID)
	if err != nil {
		c.unknown(p.CID)
		return nil
	}
	stack := []cid.Cid{root}
	for len(stack) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		next := stack[len(stack)-1]
		links, err := c.visit(ctx, next, p.Recursive)
		if err != nil {
			return err
		}
		stack = append(stack[:len(stack)-1], links...)
	}
	return nil
}

// visit marks a block and returns what it refers to, the first time.
func (c *collector) visit(ctx context.Context, at cid.Cid, deep bool) ([]cid.Cid, error) {
	if data, ok := identity.Data(at); ok {
		return c.links(at, data, deep)
	}
	hash, err := hashOf(at)
	if err != nil {
		c.unknown(at.String())
		return nil, nil
	}
	e, ok, err := c.s.index.block(hash)
	if err != nil {
		return nil, err
	}
	way := wayOf(at.Prefix().Codec)
	deep = deep && way != wayStored
	if !ok {
		c.unknown(at.String())
		return nil, nil
	}
	c.seen.add(markKey(e.position, wayStored))
	if !deep || way == wayPB && e.flags&flagLeaf != 0 || !c.seen.add(markKey(e.position, way)) {
		return nil, nil
	}
	if err := c.pace.wait(ctx, int64(e.length)); err != nil {
		return nil, err
	}
	data, err := c.s.blocks.read(ctx, at, hash, nil)
	if errors.Is(err, nodegate.Damaged) || errors.Is(err, nodegate.NotFound) {
		c.unknown(at.String())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	links, err := c.links(at, data, true)
	if err == nil && len(links) == 0 && way == wayPB {
		err = c.noteLeaf(hash)
	}
	return links, err
}

// links asks what a block refers to. What is no node of its kind refers to nothing.
func (c *collector) links(at cid.Cid, data []byte, deep bool) ([]cid.Cid, error) {
	if !deep || at.Prefix().Codec == cid.Raw {
		return nil, nil
	}
	links, err := c.s.cfg.Links(at, data)
	if err != nil {
		c.s.cfg.Log.Warn("a pinned block can't be read as a node", "cid", at.String(), "err", err)
		return nil, nil
	}
	return links, nil
}

// noteLeaf saves later collections from reading a leaf again.
func (c *collector) noteLeaf(hash []byte) error {
	if c.dryRun {
		return nil
	}
	err := c.s.blocks.update(hash, func(_ *pebble.Batch, e *entry) error {
		e.flags |= flagLeaf
		return nil
	})
	if errors.Is(err, errUnchanged) {
		return nil
	}
	return err
}

func (c *collector) unknown(text string) {
	if len(c.report.Unknown) < maxUnknown {
		c.report.Unknown = append(c.report.Unknown, text)
	}
}

// dead tells whether neither a pin nor its time keeps a block.
func (c *collector) dead(e *entry) bool {
	return e.touched < c.floor && expired(e.touched, c.now, c.s.cfg.Undo) && !c.seen.has(markKey(e.position, wayStored))
}

// held tells whether a batch relies on a dead block. A dry run makes nobody pay for it.
func (c *collector) held(hash []byte, e *entry) bool {
	if c.dryRun {
		list, paid := c.s.holds.holders(c.s.holds.number(hash))
		return paid || len(list) > 0
	}
	return c.s.holds.keeps(hash, int64(e.length))
}

// sweep takes dead blocks off the index.
func (c *collector) sweep(ctx context.Context) error {
	const portion = 128
	var hashes [][]byte
	flush := func() error {
		err := c.delete(hashes)
		hashes = hashes[:0]
		runtime.Gosched()
		return errors.Join(err, ctx.Err())
	}
	err := c.s.index.scan([]byte{keyBlock}, func(hash, value []byte) (bool, error) {
		e, ok := decodeEntry(value)
		if !ok {
			return false, c.s.index.failed(pebble.ErrCorruption)
		}
		if !c.dead(&e) {
			return true, nil
		}
		if hashes = append(hashes, append([]byte(nil), hash...)); len(hashes) < portion {
			return true, nil
		}
		return true, flush()
	})
	if err != nil {
		return err
	}
	return flush()
}

// delete removes the blocks of a list that are still dead: one may have been put
// again since it was found, or an open batch relies on it.
func (c *collector) delete(hashes [][]byte) error {
	c.s.blocks.mu.Lock()
	defer c.s.blocks.mu.Unlock()
	c.s.holds.mu.Lock()
	defer c.s.holds.mu.Unlock()
	w := c.s.index.db.NewBatch()
	for _, hash := range hashes {
		e, ok, err := c.s.index.block(hash)
		if err != nil {
			return err
		}
		if !ok || !c.dead(&e) || c.held(hash, &e) {
			continue
		}
		c.report.Blocks++
		c.report.Bytes += int64(e.length)
		if c.dryRun {
			continue
		}
		err = errors.Join(w.Delete(blockKey(hash), nil), w.Delete(damagedKey(hash), nil))
		if !e.damaged() {
			err = errors.Join(err, addLive(w, e.segment, -e.space(hash)))
		}
		if err != nil {
			return c.s.index.failed(err)
		}
	}
	return c.s.index.commit(w)
}

// pace keeps background reading to a number of bytes a second.
type pace struct {
	rate int64
	debt int64
}

// paceSteps is how often a second background work rests: long stretches without a
// rest would be felt by requests on a machine of few cores.
const paceSteps = 500

// wait counts bytes and sleeps when they are ahead of the rate.
func (p *pace) wait(ctx context.Context, n int64) error {
	p.debt += n
	if p.debt < p.rate/paceSteps {
		return ctx.Err()
	}
	nap := time.Duration(float64(p.debt) / float64(p.rate) * float64(time.Second))
	p.debt = 0
	timer := time.NewTimer(nap)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("interrupted: %w", ctx.Err())
	}
}
