package store

import (
	"bytes"
	"errors"
	"math"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// Snapshot is the store at one moment: what is written later doesn't change what it reads, so
// that blocks of two branches can't be mixed. One goroutine uses it. While it is open, the
// space of what is pruned is not freed, and the store can't be closed.
type Snapshot struct {
	Reader
	state *state // nil: nothing was stored
	until uint64 // pointers of this height and above may not be on disk
	rows  *pebble.Snapshot

	whole, hole uint64 // from the one section up to the other there are no holes
}

// Snapshot returns the store as it is now. It has to be closed.
func (s *Store) Snapshot() (*Snapshot, error) {
	if !s.db.enter() {
		return nil, errClosed
	}
	rows := s.db.pebble.NewSnapshot()
	// Pebble shows a batch before it is on disk. One that this snapshot shows and that is not
	// there yet is the one that is changing now.
	v := &Snapshot{Reader: Reader{db: source{s.db.database, rows, new(cursors)}}, rows: rows, until: s.changing.Load()}
	row, err := v.db.value([]byte{keyState})
	if err == nil && row != nil {
		var ok bool
		if v.state, ok = decodeState(row); !ok {
			err = damaged("read", errRow)
		}
	}
	if err != nil {
		return nil, errors.Join(err, v.Close())
	}
	return v, nil
}

// Close releases the snapshot.
func (v *Snapshot) Close() error {
	defer v.db.leave()
	v.db.cursors.close()
	return v.rows.Close()
}

// Span returns the first and the last height of the chain; all blocks between them are there.
// It is false while nothing is stored.
func (v *Snapshot) Span() (first, last uint64, ok bool) {
	if v.state == nil || v.until <= v.state.first.Number {
		return 0, 0, false
	}
	return v.state.first.Number, min(v.state.tip.Number, v.until-1), true
}

// Canonical returns which block of a height is canonical. It is false outside the chain.
func (v *Snapshot) Canonical(number uint64) (Mark, bool, error) {
	if first, last, ok := v.Span(); !ok || number < first || number > last {
		return Mark{}, false, nil
	}
	m, ok, err := v.db.pointer(number)
	if err == nil && !ok {
		err = damaged("read", errRow)
	}
	return m, ok, err
}

// Lists appends the lists of some values within a section, one after the other, as
// logindex.Search takes them. It sorts the keys.
func (v *Snapshot) Lists(dst []byte, section uint64, keys []logindex.Key) ([]byte, error) {
	slices.SortFunc(keys, func(a, b logindex.Key) int { return bytes.Compare(a[:], b[:]) })
	var err error
	for i := 0; i < len(keys) && err == nil; i++ {
		dst, err = v.list(dst, listKey(section, keys[i]))
	}
	return dst, err
}

// Holes appends the list of a section's blocks whose logs may be unknown: whoever searches
// has to look at each of them.
func (v *Snapshot) Holes(dst []byte, section uint64) ([]byte, error) {
	if v.db.closed.Load() {
		return dst, errClosed // whoever closes waits for the snapshot
	}
	if section >= v.whole && section < v.hole {
		return dst, nil
	}
	key, found := holesKey(section), uint64(math.MaxUint64)
	err := v.db.next(key, func(next, value []byte) {
		if found = numberOf(next); found == section {
			dst = append(dst, value...)
		}
	})
	if err != nil {
		return dst, err
	}
	v.whole, v.hole = section, found
	return dst, nil
}

func (v *Snapshot) list(dst, key []byte) ([]byte, error) {
	if v.db.closed.Load() {
		return dst, errClosed // whoever closes waits for the snapshot
	}
	if v.db.damaged.has(key) {
		return dst, damaged("read", errRow)
	}
	// Most values are in few sections. Filters spare the read of the newest of the others.
	it, err := v.db.cursors.take(v.rows, key)
	if err != nil {
		return dst, fail("read", err)
	}
	defer v.db.cursors.give(key, it)
	if it.SeekPrefixGE(key) && bytes.Equal(it.Key(), key) {
		value, err := it.ValueAndErr()
		if err != nil {
			return dst, v.db.damaged.note(key, fail("read", err))
		}
		return append(dst, value...), nil
	}
	if err := it.Error(); err != nil {
		return dst, v.db.damaged.note(key, fail("read", err))
	}
	return dst, nil
}

// Outline returns a block's head without what takes memory: header, withdrawals, uncles and
// extra members. Returns NotFound if it isn't stored.
func (v *Snapshot) Outline(at Place) (h Head, err error) {
	ok, err := v.db.get(partKey(partHead, at.Number, at.Branch), func(row []byte) error {
		r := cursor{rest: row}
		if r.outline(&h, at.Number, at.Branch); r.bad {
			return errRow
		}
		return nil
	})
	if err == nil && (!ok || h.Hash != at.Hash) {
		err = missing("head")
	}
	return h, err
}

// TxHash returns the hash of a transaction. Returns NotFound if there is none.
func (v *Snapshot) TxHash(at Place, index int) (hash [32]byte, err error) {
	ok := false
	_, err = v.db.get(partKey(partHashes, at.Number, at.Branch), func(row []byte) error {
		if ok = len(row) >= 32*(index+1); ok {
			copy(hash[:], row[32*index:])
		}
		return nil
	})
	if err == nil && !ok {
		err = missing("hash")
	}
	return hash, err
}

// UseReceipt hands a receipt of a block to use, which must not keep it. Returns NotFound if
// there is none, and the error of use.
func (v *Snapshot) UseReceipt(at Place, index int, use func(row *Receipt) error) error {
	var failed error
	ok, err := v.db.get(indexKey(partReceipt, at.Number, at.Branch, index), func(value []byte) error {
		row, whole := decodeReceipt(value)
		if !whole {
			return errRow
		}
		failed = use(&row)
		return nil
	})
	if err == nil && !ok {
		err = missing("receipt")
	}
	return errors.Join(err, failed)
}
