package logindex

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"slices"

	"github.com/nodegate/nodegate/internal/rpc/ledger/form"
)

// maxListed is how many transactions an entry names. A value that more of a block's
// transactions have is so common that reading all of them costs little more.
const maxListed = 1<<countBits - 1

// countBits is how many bits of an entry are the number of transactions.
const countBits = 16 - sectionBits

// Block collects the entries of one block. It can be used again.
type Block struct {
	values []value
	entry  []byte
}

// value is an address or a topic of one transaction.
type value struct {
	key Key
	tx  uint32
}

// Add takes the logs of a transaction, given its receipt's row. It returns false if the row
// can't be read: the block has to be listed as a hole then.
func (b *Block) Add(tx int, row []byte) bool {
	logs := form.LogsOf(row)
	for logs.Next() {
		b.values = append(b.values, value{AddressKey(logs.Address), uint32(tx)})
		for i := range min(logs.Topics(), MaxTopics) {
			b.values = append(b.values, value{TopicKey(i, logs.Topic(i)), uint32(tx)})
		}
	}
	return logs.OK()
}

// Each hands the entries to each, by key, and forgets them. An entry must not be kept.
func (b *Block) Each(number uint64, each func(key Key, entry []byte)) {
	slices.SortFunc(b.values, func(x, y value) int {
		return cmp.Or(bytes.Compare(x.key[:], y.key[:]), cmp.Compare(x.tx, y.tx))
	})
	b.values = slices.Compact(b.values)
	for from, to := 0, 0; from < len(b.values); from = to {
		for to < len(b.values) && b.values[to].key == b.values[from].key {
			to++
		}
		b.entry = appendEntry(b.entry[:0], number, b.values[from:to])
		each(b.values[from].key, b.entry)
	}
	b.Reset()
}

// Reset forgets what was added.
func (b *Block) Reset() { b.values = b.values[:0] }

// Hole is the entry of a block whose logs are not known.
func Hole(number uint64) []byte { return appendEntry(nil, number, nil) }

// appendEntry appends an entry: the block's place in its section and the number of
// transactions in two bytes, then how far each transaction is behind the one before. None
// stands for all of them.
func appendEntry(dst []byte, number uint64, list []value) []byte {
	if len(list) > maxListed {
		list = nil
	}
	dst = binary.BigEndian.AppendUint16(dst, uint16(number<<countBits)|uint16(len(list)))
	last := uint32(0)
	for _, v := range list {
		dst = binary.AppendUvarint(dst, uint64(v.tx-last))
		last = v.tx
	}
	return dst
}
