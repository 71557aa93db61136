package store

import (
	"bytes"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
)

// keptHeads is how many heads are kept decoded.
const keptHeads = 1024

// Reader reads stored blocks, canonical or not. It never waits for a write.
type Reader struct {
	db    source
	heads *headCache // nil: none are kept
}

// headCache keeps heads decoded, by height.
type headCache [keptHeads]atomic.Pointer[Head]

// of is where the head of a height is kept.
func (c *headCache) of(number uint64) *atomic.Pointer[Head] {
	if c == nil {
		return new(atomic.Pointer[Head])
	}
	return &c[number%keptHeads]
}

// forget drops a head that was removed.
func (r *Reader) forget(number uint64) { r.heads.of(number).Store(nil) }

// ByHash returns where a block is, canonical or not.
func (r *Reader) ByHash(hash [32]byte) (at Place, ok bool, err error) {
	at.Hash = hash
	ok, err = r.db.get(hashKey(hash), func(row []byte) error {
		var whole bool
		if at.Number, at.Branch, whole = decodePlace(row); !whole {
			return errRow
		}
		return nil
	})
	return at, ok, err
}

// hasAt tells whether a block has a transaction at an index.
func (r *Reader) hasAt(at Place, index int, tx []byte) (same bool, err error) {
	_, err = r.db.get(partKey(partHashes, at.Number, at.Branch), func(hashes []byte) error {
		same = len(hashes) >= 32*(index+1) && bytes.Equal(hashes[32*index:][:32], tx)
		return nil
	})
	return same, err
}

// Head returns a block without its rows. Returns NotFound if it isn't stored.
func (r *Reader) Head(at Place) (*Head, error) {
	slot := r.heads.of(at.Number)
	if h := slot.Load(); h != nil && h.Place == at {
		return h, nil
	}
	var h *Head
	ok, err := r.db.get(partKey(partHead, at.Number, at.Branch), func(row []byte) error {
		var whole bool
		if h, whole = decodeHead(row, at.Number, at.Branch); !whole {
			return errRow
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if !ok || h.Hash != at.Hash {
		return nil, missing("head")
	}
	slot.Store(h)
	return h, nil
}

// Tx returns a transaction of a block. Returns NotFound if there is none.
func (r *Reader) Tx(at Place, index int) (row Row, err error) {
	ok, err := r.db.get(indexKey(partTx, at.Number, at.Branch, index), func(value []byte) error {
		var whole bool
		if row, whole = decodeRow(bytes.Clone(value)); !whole {
			return errRow
		}
		return nil
	})
	if err == nil && !ok {
		err = missing("transaction")
	}
	return row, err
}

// Receipt returns a receipt of a block. Returns NotFound if there is none.
func (r *Reader) Receipt(at Place, index int) (row Receipt, err error) {
	ok, err := r.db.get(indexKey(partReceipt, at.Number, at.Branch, index), func(value []byte) error {
		var whole bool
		if row, whole = decodeReceipt(bytes.Clone(value)); !whole {
			return errRow
		}
		return nil
	})
	if err == nil && !ok {
		err = missing("receipt")
	}
	return row, err
}

// Sender returns who sent a transaction of a block. Returns NotFound if the block has no
// such transaction, or its senders are in its rows.
func (r *Reader) Sender(at Place, index int) (sender [20]byte, err error) {
	ok := false
	_, err = r.db.get(partKey(partSenders, at.Number, at.Branch), func(row []byte) error {
		if ok = index >= 0 && len(row) >= 20*(index+1); ok {
			copy(sender[:], row[20*index:])
		}
		return nil
	})
	if err == nil && !ok {
		err = missing("sender")
	}
	return sender, err
}

// Senders returns the senders of all transactions of a block, 20 bytes each.
func (r *Reader) Senders(at Place) ([]byte, error) {
	return r.db.value(partKey(partSenders, at.Number, at.Branch))
}

// Hashes returns the hashes of all transactions of a block, 32 bytes each.
func (r *Reader) Hashes(at Place) ([]byte, error) {
	return r.db.value(partKey(partHashes, at.Number, at.Branch))
}

// Txs hands the transactions of a block to each, in order, until it returns false. The
// rows must not be kept. Returns Damaged if one is missing.
func (r *Reader) Txs(at Place, each func(index int, row Row) bool) error {
	h, err := r.Head(at)
	if err != nil {
		return err
	}
	return r.rows(partTx, at, h.Txs, func(i int, value []byte) (bool, error) {
		row, ok := decodeRow(value)
		if !ok {
			return false, errRow
		}
		return each(i, row), nil
	})
}

// Receipts hands the receipts of a block to each, in order, until it returns false. The
// rows must not be kept. Returns Damaged if one is missing.
func (r *Reader) Receipts(at Place, each func(index int, row Receipt) bool) error {
	h, err := r.Head(at)
	if err != nil {
		return err
	}
	return r.rows(partReceipt, at, h.Receipts, func(i int, value []byte) (bool, error) {
		row, ok := decodeReceipt(value)
		if !ok {
			return false, errRow
		}
		return each(i, row), nil
	})
}

// rows goes through the rows of a part of a block, of which there must be count.
func (r *Reader) rows(p part, at Place, count int, each func(index int, value []byte) (bool, error)) error {
	seen := 0
	err := r.db.scan(partKey(p, at.Number, at.Branch), afterPart(p, at.Number, at.Branch), func(key, value []byte) error {
		i, ok := indexOf(key)
		if !ok || i != seen || seen >= count {
			return errRow
		}
		seen++
		more, err := each(i, value)
		if err == nil && !more {
			err = errEnough
		}
		return err
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err == nil && seen != count:
		return damaged("read", errRow)
	}
	return err
}

// errEnough ends a scan early.
var errEnough = errors.New("enough")

// heads hands the blocks from a height up to another to each, until that returns false. The
// rows between them are passed over.
func (d source) heads(from, to uint64, each func(h *Head) bool) error {
	if !d.enter() {
		return errClosed
	}
	defer d.leave()
	name := heightKey(keyBlock, from) // no row has this key
	if d.damaged.has(name) {
		return damaged("read", errRow)
	}
	it, err := d.rows.NewIter(&pebble.IterOptions{LowerBound: name, UpperBound: heightKey(keyBlock, to)})
	if err != nil {
		return fail("read", err)
	}
	err = eachHead(it, each)
	if failed := it.Close(); failed != nil {
		return d.damaged.note(name, fail("read", failed))
	}
	return err
}

// eachHead goes from head to head.
func eachHead(it *pebble.Iterator, each func(h *Head) bool) error {
	for more := it.First(); more; {
		number, branch, ok := placeOf(it.Key())
		p, isPart := partOf(it.Key())
		if !ok || !isPart {
			return damaged("read", errRow)
		}
		if p == partHead {
			value, err := it.ValueAndErr()
			if err != nil {
				return nil // the iterator has the error
			}
			h, whole := decodeHead(value, number, branch)
			if !whole {
				return damaged("read", errRow)
			}
			if !each(h) {
				return nil
			}
		}
		more = it.SeekGE(afterBlock(number, branch))
	}
	return nil
}
