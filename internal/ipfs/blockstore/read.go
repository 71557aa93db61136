package blockstore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"sync"
	"syscall"

	"github.com/cockroachdb/pebble"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/internal/ipfs/identity"
)

// Get reads a block and verifies it against its CID. Returns NotFound, or Damaged
// when the stored bytes are not what they were.
func (s *Store) Get(ctx context.Context, c cid.Cid) ([]byte, error) {
	return s.GetTo(ctx, c, nil)
}

// GetTo is Get into buf, when the block fits its capacity.
func (s *Store) GetTo(ctx context.Context, c cid.Cid, buf []byte) ([]byte, error) {
	if data, ok := identity.Data(c); ok {
		return append(buf[:0], data...), nil
	}
	hash, err := hashOf(c)
	if err != nil {
		return nil, err
	}
	if err := s.enter(ctx); err != nil {
		return nil, err
	}
	defer s.leave()
	return s.read(ctx, c, hash, buf)
}

// Size is the length of a block. It reads the index only. Errors are Get's.
func (s *Store) Size(ctx context.Context, c cid.Cid) (int, error) {
	if data, ok := identity.Data(c); ok {
		return len(data), nil
	}
	hash, err := hashOf(c)
	if err != nil {
		return 0, err
	}
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	e, ok, err := s.index.block(hash)
	switch {
	case err != nil:
		return 0, err
	case !ok:
		return 0, errNoBlock(c)
	case e.damaged():
		return 0, errDamaged(c, nil)
	}
	return int(e.length), nil
}

// Has tells whether a block is stored and not known to be damaged.
func (s *Store) Has(ctx context.Context, c cid.Cid) (bool, error) {
	_, err := s.Size(ctx, c)
	if err == nil {
		return true, nil
	}
	if errors.Is(err, nodegate.NotFound) || errors.Is(err, nodegate.Damaged) {
		return false, nil
	}
	return false, err
}

// movesInARow is how often a block can move away under a reader before that is
// taken for a fault.
const movesInARow = 8

// read finds a block and reads it.
func (s *Store) read(ctx context.Context, c cid.Cid, hash multihash.Multihash, buf []byte) ([]byte, error) {
	for try := 0; ; try++ {
		e, ok, err := s.index.block(hash)
		switch {
		case err != nil:
			return nil, err
		case !ok:
			return nil, errNoBlock(c)
		case e.damaged():
			return nil, errDamaged(c, nil)
		}
		data, err := s.readAt(ctx, hash, e, buf)
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
		s.quarantine(hash, e, err)
		return nil, errDamaged(c, err)
	}
}

// readAt reads and verifies the block at an entry's place. Verifying is most of the
// work: it waits for the request's turn.
func (s *Store) readAt(ctx context.Context, hash multihash.Multihash, e entry, buf []byte) ([]byte, error) {
	data, err := s.readRaw(hash, e, buf)
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

func (s *Store) readRaw(hash []byte, e entry, buf []byte) ([]byte, error) {
	if e.length > MaxBlock {
		return nil, errMismatch
	}
	seg, err := s.log.segs.take(e.segment)
	if err != nil {
		return nil, err
	}
	defer s.log.segs.give(seg)
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
func (s *Store) quarantine(hash []byte, seen entry, cause error) {
	err := s.update(hash, func(w *pebble.Batch, e *entry) error {
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
		s.cfg.Log.Error("a stored block is damaged: add its content again to repair it",
			"multihash", hexOf(hash), "segment", segmentName(seen.segment), "offset", seen.off, "err", cause)
	}
}

// errUnchanged ends an update without a change.
var errUnchanged = errors.New("unchanged")

// update changes the entry of a block that is there; it is errUnchanged if not.
func (s *Store) update(hash []byte, change func(*pebble.Batch, *entry) error) error {
	s.entries.Lock()
	defer s.entries.Unlock()
	e, ok, err := s.index.block(hash)
	if err != nil {
		return err
	}
	if !ok {
		return errUnchanged
	}
	w := s.index.db.NewBatch()
	if err := change(w, &e); err != nil {
		return errors.Join(err, w.Close())
	}
	if err := w.Set(blockKey(hash), e.encode(), nil); err != nil {
		return s.index.failed(err)
	}
	return s.index.commit(w)
}

// touch notes that a block is wanted, if that was not noted since a time. It
// reports the entry of a block that is whole as far as known.
func (s *Store) touch(hash []byte, since int64) (e entry, err error) {
	// Most blocks of an upload are new: they need no lock.
	if _, ok, err := s.index.block(hash); err != nil || !ok {
		return entry{}, err
	}
	now := s.stamp()
	err = s.update(hash, func(_ *pebble.Batch, found *entry) error {
		e = *found
		if found.damaged() || found.touched >= since {
			return errUnchanged
		}
		found.touched = now
		return nil
	})
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	if e.damaged() {
		e = entry{}
	}
	return e, err
}

// touchAll notes that all blocks of a list were wanted at a time.
func (s *Store) touchAll(list []byte, at int64) error {
	return eachHash(list, func(hash []byte) error {
		err := s.update(hash, func(_ *pebble.Batch, e *entry) error {
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

// putAgain tells whether the block is stored, with these very bytes. It touches the
// block first, so that a collection can't take it away while it is compared.
func (s *Store) putAgain(hash, data []byte, since int64) (bool, error) {
	for try := 0; ; try++ {
		e, err := s.touch(hash, since)
		if err != nil || e.segment == 0 {
			return false, err
		}
		buf := s.buffers.get()
		stored, err := s.readRaw(hash, e, buf)
		same := err == nil && bytes.Equal(stored, data)
		if stored != nil {
			s.buffers.put(stored)
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
		s.quarantine(hash, e, err)
		return false, nil
	}
}

// moveBlock lets the index point to a copy that compaction made, unless the block
// got another place meanwhile.
func (s *Store) moveBlock(v *move) error {
	s.entries.Lock()
	defer s.entries.Unlock()
	old, ok, err := s.index.block(v.hash)
	if err != nil || !ok || old.position != v.from {
		return err
	}
	w := s.index.db.NewBatch()
	if err := s.enterBlock(w, v.hash, v.to); err != nil {
		return err
	}
	return s.index.commit(w)
}
