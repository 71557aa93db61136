package store

import (
	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
)

// filterBits is how many bits of a filter a key takes.
const filterBits = 10

// sparse are filters of tables that have the keys in no order of the chain alone: hashes, and
// values of logs. All other rows are in the order of the chain, so that the bounds of a table
// say as much as a filter would. A filter is read and cached as one piece, and with all keys in
// it the filters drive everything else out of the memory.
type sparse struct{ pebble.FilterPolicy }

func newSparse() sparse { return sparse{bloom.FilterPolicy(filterBits)} }

// Name tells the filters apart from those with all keys.
func (sparse) Name() string { return "nodegate.sparse" }

func (s sparse) MayContain(kind pebble.FilterType, filter, key []byte) bool {
	return !filtered(key) || s.FilterPolicy.MayContain(kind, filter, key)
}

func (s sparse) NewWriter(kind pebble.FilterType) pebble.FilterWriter {
	return sparseWriter{s.FilterPolicy.NewWriter(kind)}
}

type sparseWriter struct{ pebble.FilterWriter }

func (w sparseWriter) AddKey(key []byte) {
	if filtered(key) {
		w.FilterWriter.AddKey(key)
	}
}

// filtered tells whether the key is one that filters have.
func filtered(key []byte) bool {
	if len(key) == 0 {
		return false
	}
	switch key[0] {
	case keyHash, keyLogs, keyLookup:
		return true
	}
	return false
}
