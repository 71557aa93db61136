package store

import (
	"bytes"

	"github.com/cockroachdb/pebble/v2"
)

// cursors are the iterators of a snapshot, one for each kind of rows. A read that opens one
// takes several times as long as moving one that is near the row already.
type cursors [256]*pebble.Iterator

// take returns the iterator of a kind, which nobody else has until it is given back.
func (c *cursors) take(rows pebble.Reader, kind byte) (*pebble.Iterator, error) {
	if it := c[kind]; it != nil {
		c[kind] = nil
		return it, nil
	}
	return rows.NewIter(&pebble.IterOptions{LowerBound: []byte{kind}, UpperBound: []byte{kind + 1}})
}

// give takes an iterator back.
func (c *cursors) give(kind byte, it *pebble.Iterator) {
	if c[kind] != nil {
		_ = it.Close() // somebody read rows of this kind while reading others; errors were returned
		return
	}
	c[kind] = it
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
	it, err := d.cursors.take(d.rows, key[0])
	if err != nil {
		return false, fail("read", err)
	}
	defer d.cursors.give(key[0], it)
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
	it, err := d.cursors.take(d.rows, from[0])
	if err != nil {
		return fail("read", err)
	}
	defer d.cursors.give(from[0], it)
	it.SeekGE(from)
	return d.walk(it, from, to, each)
}
