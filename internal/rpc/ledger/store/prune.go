package store

import (
	"errors"
	"math"

	"github.com/nodegate/nodegate"
)

// pruneHeights is how many heights, or blocks beside the chain, one batch removes. Their
// lookups are removed one by one, so a batch must stay small beside the blocks that are
// being written.
const pruneHeights = 64

// Prune removes all blocks below a height, but never the newest one. It returns how many
// it removed. It writes also while the disk is almost full, because it makes space.
func (s *Store) Prune(below uint64) (removed int, err error) {
	for {
		n, more, err := s.pruneSome(below)
		removed += n
		if err != nil || !more {
			return removed, err
		}
	}
}

// pruneSome removes a few heights. Others may write between two calls.
func (s *Store) pruneSome(below uint64) (removed int, more bool, err error) {
	c, err := s.startWrite(false)
	defer s.writing.Unlock()
	if err != nil {
		return 0, false, err
	}
	st := s.state.Load()
	if st == nil || st.low >= min(below, st.tip.Number) {
		return 0, false, c.batch.Close()
	}
	below = min(below, st.tip.Number)
	end, heads, err := c.removeHeights(st.low, below)
	if err != nil {
		_ = c.batch.Close() // never written
		return 0, false, err
	}
	next := *st
	next.low = end
	if end > st.first.Number {
		m, ok, err := c.db.pointer(end)
		if err == nil && !ok {
			err = damaged("prune", errRow)
		}
		if err != nil {
			_ = c.batch.Close() // never written
			return 0, false, err
		}
		next.first = m.Place
	}
	if err := s.commit(c, &next, math.MaxUint64); err != nil {
		return 0, false, err
	}
	for _, h := range heads {
		s.forget(h.Number)
	}
	return len(heads), end < below, nil
}

// removeHeights adds the removal of the lowest heights to a batch, up to end: heights
// without blocks cost nothing. Blocks that can't be read are removed as well; lookups that
// lead to them are left, and find nothing.
func (c *change) removeHeights(low, below uint64) (end uint64, heads []*Head, err error) {
	end, heads, err = c.lowest(low, below)
	for i := 0; i < len(heads) && err == nil; i++ {
		err = c.removeLookups(heads[i], nil)
	}
	if errors.Is(err, nodegate.Damaged) {
		end, err = min(below, low+pruneHeights), nil
	}
	for _, kind := range byHeight {
		c.delRange(heightKey(kind, low), heightKey(kind, end))
	}
	c.removeLists(low, end)
	return end, heads, err
}

// lowest reads the blocks of a few heights, and returns up to which height.
func (c *change) lowest(low, below uint64) (end uint64, heads []*Head, err error) {
	end = below
	err = c.db.heads(low, below, func(h *Head) bool {
		if len(heads) == 0 {
			end = min(below, h.Number+pruneHeights)
		}
		if h.Number >= end {
			return false
		}
		heads = append(heads, h)
		return true
	})
	return end, heads, err
}

// removeLookups adds the removal of a block's hash and of its transactions' to a batch:
// those that still lead to the block, and are not among those of the canonical block at
// the same height, which stays.
func (c *change) removeLookups(h *Head, staying []byte) error {
	ok, err := c.db.get(hashKey(h.Hash), func(row []byte) error {
		number, branch, ok := decodePlace(row)
		if !ok {
			return errRow
		}
		if number == h.Number && branch == h.Branch {
			c.del(hashKey(h.Hash))
		}
		return nil
	})
	if err != nil || !ok || h.Txs == 0 {
		return err
	}
	hashes, err := c.db.value(partKey(partHashes, h.Number, h.Branch))
	if err != nil {
		return err
	}
	for i := 0; i+32 <= len(hashes); i += 32 {
		tx := hashes[i : i+32]
		if i+32 <= len(staying) && string(staying[i:i+32]) == string(tx) {
			continue
		}
		if err := c.removeLookup(tx, h.Number, i/32); err != nil {
			return err
		}
	}
	return nil
}

// removeLookup removes a transaction's entry if it still leads to a place.
func (c *change) removeLookup(tx []byte, number uint64, index int) error {
	_, err := c.db.get(lookupKey(tx), func(row []byte) error {
		n, i, ok := decodeLookup(row)
		if !ok {
			return errRow
		}
		if n == number && i == index {
			c.del(lookupKey(tx))
		}
		return nil
	})
	return err
}

// PruneSides removes the blocks below a height that are not canonical. It returns how
// many it removed.
func (s *Store) PruneSides(below uint64) (removed int, err error) {
	for {
		n, err := s.pruneSidesSome(below)
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

func (s *Store) pruneSidesSome(below uint64) (removed int, err error) {
	c, err := s.startWrite(false)
	defer s.writing.Unlock()
	if err != nil {
		return 0, err
	}
	var sides []Place
	err = c.db.scan([]byte{keyOrphan}, heightKey(keyOrphan, below), func(key, _ []byte) error {
		number, branch, ok := placeOf(key)
		if !ok {
			return errRow
		}
		if len(sides) == pruneHeights {
			return errEnough
		}
		sides = append(sides, Place{Number: number, Branch: branch})
		return nil
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	for i := 0; i < len(sides) && err == nil; i++ {
		err = c.removeSide(s, sides[i])
	}
	if err != nil || len(sides) == 0 {
		_ = c.batch.Close() // never written
		return 0, err
	}
	if err := s.commit(c, s.state.Load(), math.MaxUint64); err != nil {
		return 0, err
	}
	for _, side := range sides {
		s.forget(side.Number)
	}
	return len(sides), nil
}

// removeSide adds the removal of a block beside the chain to a batch.
func (c *change) removeSide(s *Store, side Place) error {
	var h *Head
	_, err := c.db.get(partKey(partHead, side.Number, side.Branch), func(row []byte) error {
		var ok bool
		if h, ok = decodeHead(row, side.Number, side.Branch); !ok {
			return errRow
		}
		return nil
	})
	if err != nil {
		return err
	}
	var staying []byte
	m, ok, err := s.Canonical(side.Number)
	if err == nil && ok {
		staying, err = s.Hashes(m.Place)
	}
	if err == nil && h != nil {
		err = c.removeLookups(h, staying)
	}
	c.removeRows(side)
	return err
}

// removeRows removes the rows of one block.
func (c *change) removeRows(at Place) {
	c.delRange(blockKey(at.Number, at.Branch), afterBlock(at.Number, at.Branch))
	for _, p := range [...]part{partHead, partSenders, partHashes} {
		c.db.damaged.forget(partKey(p, at.Number, at.Branch))
	}
	c.del(orphanKey(at.Number, at.Branch))
}

// indexKinds are the rows that only serve to find others.
var indexKinds = []byte{keyHash, keyHoles, keyLogs, keyLookup}

// Bytes returns what the folder takes of the disk: blocks, transactions and receipts, and
// apart from them what only serves to find them. Logs of the database that are still to
// become tables count as data.
func (s *Store) Bytes() (data, index int64) {
	total, index := s.db.bytes(indexKinds)
	return max(total-index, 0), index
}
