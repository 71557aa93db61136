package store

import (
	"bytes"
	"math"

	"github.com/nodegate/nodegate"
)

// Place is where a block is stored. Only its hash means something to others: the branch
// tells apart blocks of one height.
type Place struct {
	Number uint64
	Branch uint8
	Hash   [32]byte
}

// Block is a block ready to be written. The store keeps its encodings as they are.
type Block struct {
	Hash, Parent [32]byte
	Number, Time uint64

	Level uint8 // how well it was verified
	Kept  bool  // rows are the JSON of a node, because their types are not known
	// Partial blocks have transactions that are not stored, because no root covers them. Their
	// logs are not known here either: to searches the block is a hole.
	Partial bool

	Header      []byte // in RLP, or the JSON of a Kept block
	Withdrawals []byte // nil if the block has no such list
	Uncles      [][32]byte
	Size        uint64
	Extra       []byte // members outside the header

	Txs      []Row
	Hashes   [][32]byte // of the transactions
	Senders  []byte     // 20 bytes for each transaction; none if they are in the rows
	Receipts []Receipt  // one for each transaction, or none: a hole
}

// Row is a transaction, and what a node said about it that its encoding doesn't hold.
type Row struct{ Data, Extra []byte }

// Receipt is a receipt that can be answered without those before it.
type Receipt struct {
	Row
	FirstLog uint64 // index of its first log in the block
	GasUsed  uint64
}

// Head is a block without its transactions and receipts. It is shared: nobody may
// change what it holds.
type Head struct {
	Place
	Parent [32]byte
	Time   uint64

	Level   uint8
	Kept    bool
	Partial bool

	Header      []byte
	Withdrawals []byte // nil if the block has no such list
	Uncles      [][32]byte
	Size        uint64
	Extra       []byte

	Txs, Receipts int // how many are stored
}

// Mark says which block of a height is canonical, and who vouches for it.
type Mark struct {
	Place
	Level  uint8
	Agreed uint8 // how many nodes gave this hash
	Hole   bool  // receipts are missing or damaged, or the block is partial: ask a node
}

// check refuses a block that could not be read back whole.
func (b *Block) check() error {
	n := len(b.Txs)
	switch {
	case b.Number == math.MaxUint64:
		return invalid("a block of this height can't be stored")
	case n >= maxIndex:
		return invalid("a block of this many transactions can't be stored")
	case len(b.Hashes) != n:
		return invalid("every transaction needs its hash")
	case len(b.Senders) != 0 && len(b.Senders) != 20*n:
		return invalid("every transaction needs its sender")
	case len(b.Receipts) != 0 && len(b.Receipts) != n:
		return invalid("every transaction needs its receipt")
	}
	return nil
}

func invalid(msg string) error {
	return &nodegate.Error{Op: "ledger.store", Code: nodegate.InvalidInput, Msg: msg}
}

// mark is the canonical pointer to a block that was just stored.
func (h *Head) mark() *Mark {
	return &Mark{Place: h.Place, Level: h.Level, Hole: h.Receipts != h.Txs || h.Partial}
}

// head is the block without its rows.
func (b *Block) head(at Place) *Head {
	return &Head{
		Place: at, Parent: b.Parent, Time: b.Time, Level: b.Level, Kept: b.Kept, Partial: b.Partial,
		Header: bytes.Clone(b.Header), Withdrawals: bytes.Clone(b.Withdrawals), Uncles: append([][32]byte(nil), b.Uncles...),
		Size: b.Size, Extra: bytes.Clone(b.Extra), Txs: len(b.Txs), Receipts: len(b.Receipts),
	}
}
