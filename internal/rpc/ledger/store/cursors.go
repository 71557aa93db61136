package store

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// cursors are the iterators of a snapshot, one for each kind of rows and part of a block. A
// read that opens one takes several times as long as moving one that is near the row already.
type cursors [256]*pebble.Iterator

// of is where the iterator for a key is. Parts are counted from 0, and kinds are letters.
func (c *cursors) of(key []byte) **pebble.Iterator {
	if p, ok := partOf(key); ok {
		return &c[p]
	}
	return &c[key[0]]
}

// take returns the iterator for a key, which nobody else has until it is given back.
func (c *cursors) take(rows pebble.Reader, key []byte) (*pebble.Iterator, error) {
	slot := c.of(key)
	if it := *slot; it != nil {
		*slot = nil
		return it, nil
	}
	return rows.NewIter(&pebble.IterOptions{LowerBound: key[:1], UpperBound: []byte{key[0] + 1}})
}

// give takes the iterator for a key back.
func (c *cursors) give(key []byte, it *pebble.Iterator) {
	slot := c.of(key)
	if *slot != nil {
		_ = it.Close() // somebody read such rows while reading others; errors were returned
		return
	}
	*slot = it
}

func (c *cursors) close() {
	for _, it := range c {
		if it != nil {
			_ = it.Close() // it repeats the error of the last read
		}
	}
}

// seek is get with a cursor.
func (d source) seek(key []byte, found func(value []byte) error) (bool, error) {
	it, err := d.cursors.take(d.rows, key)
	if err != nil {
		return false, fail("read", err)
	}
	defer d.cursors.give(key, it)
	if !it.SeekGE(key) || !bytes.Equal(it.Key(), key) {
		if err := it.Error(); err != nil {
			return false, d.damaged.note(key, fail("read", err))
		}
		return false, nil
	}
	value, err := it.ValueAndErr()
	if err != nil {
		return false, d.damaged.note(key, fail("read", err))
	}
	if err := found(value); err != nil {
		return false, damaged("read", err)
	}
	return true, nil
}

// seekAll is scan with a cursor. The rows are all of one kind.
func (d source) seekAll(from, to []byte, each func(key, value []byte) error) error {
	it, err := d.cursors.take(d.rows, from)
	if err != nil {
		return fail("read", err)
	}
	defer d.cursors.give(from, it)
	it.SeekGE(from)
	return d.walk(it, from, to, each)
}

// next hands the first row of a key's kind from that key on to found, if there is one.
func (d source) next(key []byte, found func(key, value []byte)) error {
	if d.damaged.has(key) {
		return damaged("read", errRow)
	}
	it, err := d.cursors.take(d.rows, key)
	if err != nil {
		return fail("read", err)
	}
	defer d.cursors.give(key, it)
	if !it.SeekGE(key) {
		return d.damaged.noteAny(key, it.Error())
	}
	value, err := it.ValueAndErr()
	if err == nil {
		found(it.Key(), value)
	}
	return d.damaged.noteAny(key, err)
}
