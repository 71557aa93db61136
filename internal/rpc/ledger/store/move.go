package store

import (
	"fmt"
	"math"
)

// Move makes a stored branch the chain, in one batch: blocks that Put has stored, in
// order, the last one becomes the newest. What was canonical at these heights and above
// stays beside the chain until PruneSides removes it.
//
// The branch continues a canonical block. If it doesn't meet the chain, because it
// begins behind the newest block or not above the first, the chain begins again with it,
// and all that was stored is beside it. Returns Conflict if the blocks don't follow each
// other, or the one that they should follow.
func (s *Store) Move(branch []Place) error {
	c, err := s.startWrite(true)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	next, from, err := s.move(c, branch)
	if err != nil {
		_ = c.batch.Close() // never written
		return err
	}
	return s.commit(c, next, from)
}

// move adds all changes of a Move to a batch.
func (s *Store) move(c *change, branch []Place) (next *state, from uint64, err error) {
	heads := make([]*Head, len(branch))
	for i, at := range branch {
		if heads[i], err = s.Head(at); err != nil {
			return nil, 0, err
		}
	}
	if err := checkBranch(heads); err != nil {
		return nil, 0, err
	}
	begin, tip := heads[0], heads[len(heads)-1]
	next = &state{first: begin.Place, tip: tip.Place, low: begin.Number}
	from = begin.Number
	if st := s.state.Load(); st != nil {
		next.low = min(st.low, begin.Number)
		joins, err := s.joins(st, begin)
		if err != nil {
			return nil, 0, err
		}
		if joins {
			next.first = st.first
		} else {
			from = min(from, st.first.Number)
		}
		if err := c.unlink(from, st.tip.Number); err != nil {
			return nil, 0, err
		}
	}
	for _, h := range heads {
		if err := c.relink(h); err != nil {
			return nil, 0, err
		}
	}
	return next, from, nil
}

// joins tells whether a branch meets the chain below its first block.
func (s *Store) joins(st *state, begin *Head) (bool, error) {
	if begin.Number <= st.first.Number || begin.Number > st.tip.Number+1 {
		return false, nil
	}
	m, ok, err := s.db.pointer(begin.Number - 1)
	switch {
	case err != nil:
		return false, err
	case !ok:
		return false, damaged("move", errRow)
	case m.Hash != begin.Parent:
		return false, unlinked("move", fmt.Sprintf("block %d doesn't follow the canonical block below it", begin.Number))
	}
	return true, nil
}

// unlink takes the canonical pointers of a range away and notes the blocks as orphans.
func (c *change) unlink(from, to uint64) error {
	if from > to {
		return nil
	}
	err := c.db.scan(markKey(from), afterHeight(keyMark, to), func(key, value []byte) error {
		if len(key) != len(markKey(0)) {
			return errRow
		}
		m, ok := decodeMark(value, numberOf(key))
		if !ok {
			return errRow
		}
		c.set(orphanKey(m.Number, m.Branch), nil)
		return nil
	})
	c.delRange(markKey(from), afterHeight(keyMark, to))
	return err
}

// relink makes a stored block canonical and its transactions and logs findable.
func (c *change) relink(h *Head) error {
	torn, err := c.reindex(h)
	if err != nil {
		return err
	}
	m := h.mark()
	m.Hole = m.Hole || torn
	c.link(m)
	if h.Txs == 0 {
		return nil
	}
	ok, err := c.db.get(partKey(partHashes, h.Number, h.Branch), func(hashes []byte) error {
		if len(hashes) != 32*h.Txs {
			return errRow
		}
		for i := range h.Txs {
			c.lookup(hashes[32*i:], h.Number, i)
		}
		return nil
	})
	if err == nil && !ok {
		err = damaged("move", errRow)
	}
	return err
}

// Replace stores a block again, with receipts that it lacked or verified better, under the
// next branch of its height. It takes the place of the old one in the chain. It is no cure
// for a damaged table: rows that lie beside the damaged ones stay as hard to read. Returns
// NotFound if the block isn't stored.
func (s *Store) Replace(b *Block) error {
	if err := b.check(); err != nil {
		return err
	}
	c, err := s.startWrite(true)
	defer s.writing.Unlock()
	if err != nil {
		return err
	}
	next, from, err := s.replace(c, b)
	if err != nil {
		_ = c.batch.Close() // never written
		return err
	}
	return s.commit(c, next, from)
}

func (s *Store) replace(c *change, b *Block) (next *state, from uint64, err error) {
	old, ok, err := s.ByHash(b.Hash)
	if err == nil && (!ok || old.Number != b.Number) {
		err = missing("replace")
	}
	if err != nil {
		return nil, 0, err
	}
	branch, err := s.db.nextBranch(b.Number)
	if err != nil {
		return nil, 0, err
	}
	m, ok, err := s.Canonical(b.Number)
	if err != nil {
		return nil, 0, err
	}
	h := b.head(Place{b.Number, branch, b.Hash})
	c.removeRows(old)
	c.block(h, b)
	st := s.state.Load()
	if !ok || m.Place != old {
		c.set(orphanKey(h.Number, h.Branch), nil)
		return st, math.MaxUint64, nil
	}
	fresh := h.mark()
	fresh.Agreed = m.Agreed
	c.link(fresh)
	c.index(h.Number, b)
	moved := *st
	for _, p := range [...]*Place{&moved.first, &moved.tip} {
		if *p == old {
			*p = h.Place
		}
	}
	return &moved, h.Number, nil
}
