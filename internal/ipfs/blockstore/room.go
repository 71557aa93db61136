package blockstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// room keeps a part of the disk free.
type room struct {
	disk     disk
	index    *index
	reserve  int64 // bytes that stay free; 0: none
	reclaims signal
	claimed  atomic.Int64 // bytes that are being written
	ample    atomic.Int64 // until when the disk has far more free than the reserve, in Unix nanoseconds
}

// A look at the disk costs as much as hashing a small block. Where it shows so much free
// space that nobody can fill it within a moment, it holds for that moment.
const (
	ampleSpace = 4 << 30
	ampleTime  = 50 * time.Millisecond
)

// Room tells whether uploads are taken. Returns InsufficientStorage while the disk is
// almost full: what it has left is for pins, collections and the rest of the server.
func (s *Store) Room() error {
	if s.calls.enter(context.Background()) != nil {
		return nil // closing: whoever writes is told
	}
	defer s.calls.leave()
	return s.room.claim(0)
}

// claim refuses writes while the disk is almost full, and counts n bytes as
// written until the caller calls release: writes beside each other can't pass
// the reserve together. Pins and compaction may still write: they need little and make
// room.
func (r *room) claim(n int64) error {
	if err := r.index.takes(); err != nil {
		return err
	}
	claimed := r.claimed.Add(n)
	if r.reserve <= 0 {
		return nil
	}
	err := r.look(claimed)
	if err != nil {
		r.release(n)
	}
	return err
}

// look compares what is free with what is claimed.
func (r *room) look(claimed int64) error {
	now := time.Now()
	if now.UnixNano() < r.ample.Load() && claimed < ampleSpace/2 {
		return nil
	}
	free, err := r.disk.Free()
	if err != nil {
		return fail("free", err)
	}
	if free-claimed < r.reserve {
		r.reclaims.raise() // little is better than nothing
		return &nodegate.Error{Op: "blockstore.put", Code: nodegate.InsufficientStorage, Msg: msgFull}
	}
	if free-r.reserve >= ampleSpace {
		r.ample.Store(now.Add(ampleTime).UnixNano())
	}
	return nil
}

// release ends a claim: the bytes are written, or never will be.
func (r *room) release(n int64) { r.claimed.Add(-n) }
