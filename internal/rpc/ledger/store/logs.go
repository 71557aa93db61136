package store

import (
	"bytes"
	"errors"
	"io"

	"github.com/cockroachdb/pebble/v2"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/logindex"
)

// The index of logs is written with the batch that makes a block canonical, and lists what
// such blocks have: that a block is replaced or pruned changes nothing in it. Entries of blocks
// that are gone lead to others, whose logs don't match. Sections are removed whole when all
// their blocks were pruned; a block that comes back later brings its entries again.

// listKey is the key of a list of the index: of an address or a topic within a section.
func listKey(section uint64, key logindex.Key) []byte {
	return append(heightKey(keyLogs, section), key[:]...)
}

// holesKey is the key of the list of a section's blocks whose logs are not known.
func holesKey(section uint64) []byte { return heightKey(keyHoles, section) }

// index lists the logs of a block that becomes canonical.
func (c *change) index(number uint64, b *Block) {
	whole := len(b.Receipts) == len(b.Txs) && !b.Kept && !b.Partial
	for i := 0; i < len(b.Receipts) && whole; i++ {
		whole = c.logs.Add(i, b.Receipts[i].Data)
	}
	c.list(number, whole)
}

// reindex is index for a block that is stored already. It tells whether receipts are damaged.
func (c *change) reindex(h *Head) (damaged bool, err error) {
	whole := h.Receipts == h.Txs && !h.Kept && !h.Partial
	if whole && h.Receipts > 0 {
		r := Reader{db: c.db}
		err = r.rows(partReceipt, h.Place, h.Receipts, func(i int, value []byte) (bool, error) {
			row, ok := decodeReceipt(value)
			if !ok {
				return false, errRow
			}
			whole = c.logs.Add(i, row.Data)
			return whole, nil
		})
	}
	if errors.Is(err, nodegate.Damaged) {
		whole, damaged, err = false, true, nil
	}
	c.list(h.Number, whole)
	return damaged, err
}

// list writes the entries that were collected, or that there is a hole.
func (c *change) list(number uint64, whole bool) {
	if !whole {
		c.logs.Reset()
		c.hole(number)
		return
	}
	section := logindex.Section(number)
	c.logs.Each(number, func(key logindex.Key, entry []byte) { c.merge(listKey(section, key), entry) })
}

// hole makes every search look at a block.
func (c *change) hole(number uint64) {
	c.merge(holesKey(logindex.Section(number)), logindex.Hole(number))
}

// removeLists removes the lists of sections that lie below a height.
func (c *change) removeLists(low, end uint64) {
	if from, to := logindex.Section(low), logindex.Section(end); from < to {
		c.delRange(heightKey(keyLogs, from), heightKey(keyLogs, to))
		c.delRange(holesKey(from), holesKey(to))
	}
}

// merger appends what is merged to what is there. Pebble's own one does the same, and copies
// everything each time.
var merger = &pebble.Merger{Name: "nodegate.append", Merge: func(_, value []byte) (pebble.ValueMerger, error) {
	return &merged{first: bytes.Clone(value)}, nil
}}

// merged is the parts of a value.
type merged struct {
	first        []byte
	older, newer [][]byte // the ones nearest to it first
}

// MergeNewer adds a part behind all others.
func (m *merged) MergeNewer(value []byte) error {
	m.newer = append(m.newer, bytes.Clone(value))
	return nil
}

// MergeOlder adds a part before all others.
func (m *merged) MergeOlder(value []byte) error {
	m.older = append(m.older, bytes.Clone(value))
	return nil
}

// Finish returns the value.
func (m *merged) Finish(bool) ([]byte, io.Closer, error) {
	size := len(m.first)
	for _, parts := range [...][][]byte{m.older, m.newer} {
		for _, p := range parts {
			size += len(p)
		}
	}
	out := make([]byte, 0, size)
	for i := len(m.older) - 1; i >= 0; i-- {
		out = append(out, m.older[i]...)
	}
	out = append(out, m.first...)
	for _, p := range m.newer {
		out = append(out, p...)
	}
	return out, nil, nil
}
