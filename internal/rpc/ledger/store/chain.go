package store

import "sync/atomic"

// Tip returns the first and the newest block of the chain that is stored; all blocks
// between them are there. It is false while nothing is stored.
func (s *Store) Tip() (first, tip Place, ok bool) {
	st := s.state.Load()
	if st == nil {
		return Place{}, Place{}, false
	}
	return st.first, st.tip, true
}

// Canonical returns which block of a height is canonical. It is false outside the stored
// chain, and while the height is changing: what it returns is on disk.
func (s *Store) Canonical(number uint64) (Mark, bool, error) {
	st := s.state.Load()
	if st == nil || number < st.first.Number || number > st.tip.Number {
		return Mark{}, false, nil
	}
	m, ok, err := s.marks.pointer(s.db, number)
	// Pebble shows a batch before it is on disk, so this has to be the last look.
	if number >= s.changing.Load() {
		return Mark{}, false, nil
	}
	return m, ok, err
}

// markCache keeps canonical pointers decoded, by height. Each is as of a number of writes: it
// counts for as long as nothing was written since.
type markCache struct {
	writes atomic.Uint64
	slots  [keptHeads]atomic.Pointer[keptMark]
}

type keptMark struct {
	Mark
	writes uint64
}

// pointer is that of a height, from memory if it is there.
func (c *markCache) pointer(db source, number uint64) (Mark, bool, error) {
	writes := c.writes.Load()
	slot := &c.slots[number%keptHeads]
	if k := slot.Load(); k != nil && k.Number == number && k.writes == writes {
		return k.Mark, true, nil
	}
	m, ok, err := db.pointer(number)
	if ok && err == nil {
		slot.Store(&keptMark{m, writes})
	}
	return m, ok, err
}

// Find returns the canonical block and the index of a transaction.
func (s *Store) Find(tx [32]byte) (at Place, index int, ok bool, err error) {
	at, index, ok, err = Guess(s, tx)
	if !ok || err != nil {
		return Place{}, 0, false, err
	}
	if same, err := s.hasAt(at, index, tx[:]); !same || err != nil {
		return Place{}, 0, false, err
	}
	return at, index, true, nil
}

// Guess is Find for who reads the transaction anyway and compares its hash: the place may be
// of one that a reorg removed, or of another one whose hash begins alike.
func Guess(s *Store, tx [32]byte) (at Place, index int, ok bool, err error) {
	var number uint64
	ok, err = s.db.get(lookupKey(tx[:]), func(row []byte) error {
		var whole bool
		if number, index, whole = decodeLookup(row); !whole {
			return errRow
		}
		return nil
	})
	if !ok || err != nil {
		return Place{}, 0, false, err
	}
	m, ok, err := s.Canonical(number)
	return m.Place, index, ok, err
}
