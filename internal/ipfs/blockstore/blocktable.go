package blockstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate/internal/fairshare"
)

// blockTable finds blocks: it has the index's entries of them, and reads what they
// point to.
type blockTable struct {
	index   *index
	segs    *segments
	holds   *holds
	log     *slog.Logger
	buffers compareBuffers

	mu sync.Mutex // held between reading and changing a block's entry
}

// movesInARow is how often a block can move away under a reader before that is
// taken for a fault.
const movesInARow = 8

// read finds a block and reads it.
func (t *blockTable) read(ctx context.Context, c cid.Cid, hash multihash.Multihash, buf []byte) ([]byte, error) {
	for try := 0; ; try++ {
		e, ok, err := t.index.block(hash)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, errNoBlock(c)
		case e.damaged():
			return nil, errDamaged(c, nil)
		}
		data, err := t.readAt(ctx, hash, e, buf)
		if errors.Is(err, errGone) && try < movesInARow {
			continue // compaction moved it meanwhile
		}
		if err == nil {
			return data, nil
		}
		if !isDamage(err) {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, fail("get", err)
		}
		t.quarantine(hash, e, err)
		return nil, errDamaged(c, err)
	}
}

// small reads a block of at most so many bytes. It is not ok otherwise, and whatever is wrong
// with the block is for read to find.
func (t *blockTable) small(ctx context.Context, hash multihash.Multihash, most int) ([]byte, bool) {
	e, ok, err := t.index.block(hash)
	if err != nil || !ok || e.damaged() || int64(e.length) > int64(most) {
		return nil, false
	}
	data, err := t.readAt(ctx, hash, e, nil)
	return data, err == nil
}

// readAt reads and verifies the block at an entry's place. Verifying is most of the
// work: it waits for the request's turn.
func (t *blockTable) readAt(ctx context.Context, hash multihash.Multihash, e entry, buf []byte) ([]byte, error) {
	data, err := t.readRaw(hash, e, buf)
	if err != nil {
		return data, err
	}
	turnErr := fairshare.Do(ctx, func() {
		if !matches(hash, data) {
			err = errMismatch
		}
	})
	return data, cmp.Or(turnErr, err)
}

func (t *blockTable) readRaw(hash []byte, e entry, buf []byte) ([]byte, error) {
	if e.length > MaxBlock {
		return nil, errMismatch
	}
	seg, err := t.segs.take(e.segment)
	if err != nil {
		return nil, err
	}
	defer t.segs.give(seg)
	buf = grow(buf, int(e.length))
	return buf, readFull(seg.f, buf, e.off+recordHeader+int64(len(hash)))
}

// isDamage tells what is wrong with the stored bytes from what is wrong with the
// server, like too many open files.
func isDamage(err error) bool {
	return errors.Is(err, errMismatch) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, errGone) || errors.Is(err, syscall.EIO)
}

// quarantine marks a block as damaged, so that it is not read again until it is
// put again, or until a scrub finds it whole.
func (t *blockTable) quarantine(hash []byte, seen entry, cause error) {
	err := t.update(hash, func(w *pebble.Batch, e *entry) error {
		if e.position != seen.position || e.damaged() {
			return errUnchanged // healed or reported meanwhile
		}
		e.flags |= flagDamaged
		if err := addLive(w, e.segment, -e.space(hash)); err != nil {
			return err
		}
		return w.Set(damagedKey(hash), nil, nil)
	})
	if err == nil {
		t.log.Error("a stored block is damaged: add its content again to repair it",
			"multihash", hexOf(hash), "segment", segmentName(seen.segment), "offset", seen.off, "err", cause)
	}
}

// release ends the quarantine of a block that is whole.
func (t *blockTable) release(hash []byte, seen entry) {
	err := t.update(hash, func(w *pebble.Batch, e *entry) error {
		if e.position != seen.position || !e.damaged() {
			return errUnchanged
		}
		e.flags &^= flagDamaged
		if err := addLive(w, e.segment, e.space(hash)); err != nil {
			return err
		}
		return w.Delete(damagedKey(hash), nil)
	})
	if err == nil {
		t.log.Info("a quarantined block is intact again", "multihash", hexOf(hash))
	}
}

// errUnchanged ends an update without a change.
var errUnchanged = errors.New("unchanged")

// update changes the entry of a block that is there; it is errUnchanged if not.
func (t *blockTable) update(hash []byte, change func(*pebble.Batch, *entry) error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	e, ok, err := t.index.block(hash)
	if err != nil {
		return err
	}
	if !ok {
		return errUnchanged
	}
	w := t.index.db.NewBatch()
	if err := change(w, &e); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := w.Set(blockKey(hash), e.encode(), nil); err != nil {
		return t.index.failed(err)
	}
	return t.index.commit(w)
}

// intact finds the entry of a block that is whole as far as known. Without one, its
// segment is 0.
func (t *blockTable) intact(hash []byte) (entry, error) {
	e, ok, err := t.index.block(hash)
	if err != nil || !ok || e.damaged() {
		return entry{}, err
	}
	return e, nil
}

// touchAll notes that all blocks of a list were wanted at a time.
func (t *blockTable) touchAll(list []byte, at int64) error {
	return eachHash(list, func(hash []byte) error {
		err := t.update(hash, func(_ *pebble.Batch, e *entry) error {
			e.touched = max(e.touched, at)
			return nil
		})
		if errors.Is(err, errUnchanged) {
			return nil
		}
		return err
	})
}

// compareBuffers are for reading stored blocks that only are compared.
type compareBuffers struct{ pool sync.Pool }

func (c *compareBuffers) get() []byte {
	if b, ok := c.pool.Get().(*[]byte); ok {
		return *b
	}
	return nil
}

func (c *compareBuffers) put(b []byte) { c.pool.Put(&b) }

// putAgain tells whether the block is stored, with these very bytes. Then the batch holds
// it.
func (t *blockTable) putAgain(b *Batch, hash, data []byte) (bool, error) {
	// Most blocks of an upload are new: there is nothing to hold.
	if e, err := t.intact(hash); err != nil || e.segment == 0 {
		return false, err
	}
	if err := t.holds.add(b, hash); err != nil {
		return false, err
	}
	return t.same(hash, data)
}

// same tells whether the block is stored with these very bytes.
func (t *blockTable) same(hash, data []byte) (bool, error) {
	for try := 0; ; try++ {
		e, err := t.intact(hash)
		if err != nil || e.segment == 0 {
			return false, err
		}
		buf := t.buffers.get()
		stored, err := t.readRaw(hash, e, buf)
		same := err == nil && bytes.Equal(stored, data)
		if stored != nil {
			t.buffers.put(stored)
		}
		switch {
		case same:
			return true, nil
		case errors.Is(err, errGone) && try < movesInARow:
			continue
		case err == nil:
			err = errMismatch
		case !isDamage(err):
			return false, fail("put", err)
		}
		t.quarantine(hash, e, err)
		return false, nil
	}
}

// add enters committed blocks in the index.
func (t *blockTable) add(list []found, touched int64) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.index.db.NewBatch()
	for _, f := range list {
		f.touched = touched
		if err := t.set(w, []byte(f.hash), f.entry); err != nil {
			return err
		}
	}
	return t.index.commit(w)
}

// set sets where a block stands. The later of two copies counts: it was
// made from a good one, or because the other was missing or damaged.
func (t *blockTable) set(w *pebble.Batch, hash []byte, next entry) error {
	old, ok, err := t.index.block(hash)
	if err != nil || next.again() && !ok {
		return err
	}
	better := !next.again() && (!ok || old.position.before(next.position) || old.damaged() || !t.segs.has(old.segment))
	if better && (!ok || old.position != next.position) {
		if err := t.replaced(w, hash, old, ok, next); err != nil {
			return t.index.failed(err)
		}
		next.flags = old.flags &^ flagDamaged
	} else {
		next.position, next.length, next.flags = old.position, old.length, old.flags
	}
	next.touched = max(next.touched, old.touched)
	if err := w.Set(blockKey(hash), next.encode(), nil); err != nil {
		return t.index.failed(err)
	}
	return nil
}

// replaced keeps the books when a block gets a new place.
func (t *blockTable) replaced(w *pebble.Batch, hash []byte, old entry, had bool, next entry) error {
	if had && old.damaged() {
		t.log.Info("repaired a damaged block", "multihash", hexOf(hash))
		if err := w.Delete(damagedKey(hash), nil); err != nil {
			return err
		}
	}
	if had && !old.damaged() { // a damaged one was taken off the books
		if err := addLive(w, old.segment, -old.space(hash)); err != nil {
			return err
		}
	}
	return addLive(w, next.segment, next.space(hash))
}

// move lets the index point to a copy that compaction made, unless the block
// got another place meanwhile.
func (t *blockTable) move(v *move) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	old, ok, err := t.index.block(v.hash)
	if err != nil || !ok || old.position != v.from {
		return err
	}
	w := t.index.db.NewBatch()
	if err := t.set(w, v.hash, v.to); err != nil {
		return err
	}
	return t.index.commit(w)
}
