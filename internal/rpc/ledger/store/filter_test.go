package store

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// TestSparseFilters: a filter has the keys that are in no order, and lets all others pass. One
// of rows that are in the order of the chain is empty.
func TestSparseFilters(t *testing.T) {
	s := newSparse()
	number, hash, tx := uint64(77), [32]byte{1, 2, 3}, [32]byte{4, 5, 6}
	ordered := [][]byte{markKey(number), partKey(partHead, number, 0), indexKey(partTx, number, 0, 1), indexKey(partReceipt, number, 0, 1), holesKey(5), {keyState}}
	unordered := [][]byte{hashKey(hash), lookupKey(tx[:]), listKey(5, logindex.Key{7})}

	w := s.NewWriter(pebble.TableFilter)
	for _, key := range ordered {
		w.AddKey(key)
	}
	empty := w.Finish(nil)
	if len(empty) > 16 {
		t.Errorf("the filter of rows in order takes %d bytes", len(empty))
	}
	w = s.NewWriter(pebble.TableFilter)
	for _, key := range unordered {
		w.AddKey(key)
	}
	filter := w.Finish(nil)
	for _, key := range ordered {
		if !s.MayContain(pebble.TableFilter, filter, key) || !s.MayContain(pebble.TableFilter, empty, key) {
			t.Errorf("the filter hides %x", key)
		}
	}
	for _, key := range unordered {
		if !s.MayContain(pebble.TableFilter, filter, key) || s.MayContain(pebble.TableFilter, empty, key) {
			t.Errorf("the filter is of no use for %x", key)
		}
	}
}
