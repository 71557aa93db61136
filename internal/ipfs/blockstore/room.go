package blockstore

import (
	"context"
	"sync/atomic"

	"github.com/nodegate/nodegate"
)

// room keeps a part of the disk free.
type room struct {
	disk     disk
	index    *index
	reserve  int64 // bytes that stay free; 0: none
	reclaims signal
	claimed  atomic.Int64 // bytes that are being written
}

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
	free, err := r.disk.Free()
	if err != nil {
		err = fail("free", err)
	} else if free-claimed < r.reserve {
		r.reclaims.raise() // little is better than nothing
		err = &nodegate.Error{Op: "blockstore.put", Code: nodegate.InsufficientStorage, Msg: msgFull}
	}
	if err != nil {
		r.release(n)
	}
	return err
}

// release ends a claim: the bytes are written, or never will be.
func (r *room) release(n int64) { r.claimed.Add(-n) }
