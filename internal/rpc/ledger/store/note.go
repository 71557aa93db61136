package store

import (
	"errors"
	"time"
)

// A note is a small row of whoever uses the store, about the chain that is stored. It is
// written with the next batch, and when the store is closed.

// SetNote changes the note. The store keeps it.
func SetNote(s *Store, note []byte) { s.note.Store(&note) }

// Note is the note that was written last; nil if there is none.
func Note(s *Store) ([]byte, error) { return s.db.value([]byte{keyNote}) }

// addNote adds the note to a batch, if it changed.
func addNote(s *Store, c *change) {
	if note := s.note.Load(); note != s.noted {
		s.noted = note
		c.set([]byte{keyNote}, *note)
	}
}

// leave writes the note of a store that is closed, on a disk that doesn't hang.
func leave(s *Store) error {
	if s.note.Load() == s.noted || s.db.closed.Load() || s.db.health.err() != nil {
		return nil
	}
	c := &change{db: s.db, batch: s.db.pebble.NewBatch()}
	if addNote(s, c); c.err != nil {
		return errors.Join(c.err, c.batch.Close())
	}
	s.pending = make(chan struct{})
	go s.apply(c.batch, s.state.Load(), s.pending)
	select {
	case <-s.pending:
		return nil
	case <-s.db.health.stopped:
		return s.db.health.final()
	case <-time.After(closeWait):
		return errors.New("the ledger's database doesn't write")
	}
}
