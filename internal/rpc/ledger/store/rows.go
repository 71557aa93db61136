package store

import (
	"encoding/binary"
	"math"
)

// The rows' encodings. Each has exactly one form: what decodes encodes to the same
// bytes again. The decoders refuse everything else, and never keep the input.

// The flags of a block's row.
const (
	flagKept = 1 << iota
	flagWithdrawals
	flagPartial
	flagsOfBlock = flagKept | flagWithdrawals | flagPartial
)

// flagHole is the only flag of a canonical pointer.
const flagHole = 1

// cursor takes a row apart. After the first mistake it gives zeros.
type cursor struct {
	rest []byte
	bad  bool
}

func (r *cursor) take(n uint64) []byte {
	if r.bad || uint64(len(r.rest)) < n {
		r.bad = true
		return nil
	}
	part := r.rest[:n:n]
	r.rest = r.rest[n:]
	return part
}

func (r *cursor) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *cursor) hash() (h [32]byte) {
	copy(h[:], r.take(32))
	return h
}

func (r *cursor) fixed() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// number reads a varint in its shortest form.
func (r *cursor) number() uint64 {
	v, n := binary.Uvarint(r.rest)
	if r.bad || n <= 0 || n > 1 && r.rest[n-1] == 0 {
		r.bad = true
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

// count reads a number that memory is taken for, of things of a size.
func (r *cursor) count(size int) int {
	n := r.number()
	if n > uint64(len(r.rest)/size) {
		r.bad = true
		return 0
	}
	return int(n)
}

// small reads a number that must fit an index.
func (r *cursor) small() int {
	n := r.number()
	if n >= maxIndex {
		r.bad = true
		return 0
	}
	return int(n)
}

// text reads bytes behind their length. It returns a copy, nil if there are none.
func (r *cursor) text() []byte { return append([]byte(nil), r.take(r.number())...) }

// ends tells whether the row was whole and had nothing more.
func (r *cursor) ends() bool { return !r.bad && len(r.rest) == 0 }

func appendText(dst, text []byte) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}

// appendHead writes a block's row. The height and the branch are in the key.
func appendHead(dst []byte, h *Head) []byte {
	var flags byte
	if h.Kept {
		flags |= flagKept
	}
	if h.Withdrawals != nil {
		flags |= flagWithdrawals
	}
	if h.Partial {
		flags |= flagPartial
	}
	dst = append(dst, flags, h.Level)
	dst = append(dst, h.Hash[:]...)
	dst = append(dst, h.Parent[:]...)
	for _, n := range [...]uint64{h.Time, h.Size, uint64(h.Txs), uint64(h.Receipts)} {
		dst = binary.AppendUvarint(dst, n)
	}
	dst = appendText(dst, h.Header)
	if h.Withdrawals != nil {
		dst = appendText(dst, h.Withdrawals)
	}
	dst = binary.AppendUvarint(dst, uint64(len(h.Uncles)))
	for _, u := range h.Uncles {
		dst = append(dst, u[:]...)
	}
	return appendText(dst, h.Extra)
}

func decodeHead(row []byte, number uint64, branch uint8) (*Head, bool) {
	r := cursor{rest: row}
	h := new(Head)
	flags := r.outline(h, number, branch)
	h.Header = r.text()
	if flags&flagWithdrawals != 0 {
		if h.Withdrawals = r.text(); h.Withdrawals == nil {
			h.Withdrawals = []byte{}
		}
	}
	if n := r.count(32); n > 0 {
		h.Uncles = make([][32]byte, n)
		for i := range h.Uncles {
			h.Uncles[i] = r.hash()
		}
	}
	h.Extra = r.text()
	return h, r.ends() && flags&^flagsOfBlock == 0
}

// outline reads the numbers of a head, which are at the beginning of its row.
func (r *cursor) outline(h *Head, number uint64, branch uint8) (flags byte) {
	h.Number, h.Branch = number, branch
	flags = r.byte()
	h.Kept, h.Partial = flags&flagKept != 0, flags&flagPartial != 0
	h.Level = r.byte()
	h.Hash, h.Parent = r.hash(), r.hash()
	h.Time, h.Size = r.number(), r.number()
	h.Txs, h.Receipts = r.small(), r.small()
	return flags
}

func appendMark(dst []byte, m *Mark) []byte {
	var flags byte
	if m.Hole {
		flags = flagHole
	}
	return append(append(dst, m.Branch, m.Level, m.Agreed, flags), m.Hash[:]...)
}

func decodeMark(row []byte, number uint64) (m Mark, ok bool) {
	r := cursor{rest: row}
	m.Number, m.Branch, m.Level, m.Agreed = number, r.byte(), r.byte(), r.byte()
	flags := r.byte()
	m.Hole, m.Hash = flags == flagHole, r.hash()
	return m, r.ends() && flags <= flagHole
}

func appendRow(dst []byte, row *Row) []byte {
	return append(appendText(dst, row.Extra), row.Data...)
}

// decodeRow reads a transaction. It shares the input's memory.
func decodeRow(row []byte) (Row, bool) {
	r := cursor{rest: row}
	out := r.row()
	return out, r.ends()
}

// row reads the rest.
func (r *cursor) row() Row {
	extra := r.take(r.number())
	return Row{Data: r.take(uint64(len(r.rest))), Extra: extra}
}

func appendReceipt(dst []byte, row *Receipt) []byte {
	dst = binary.AppendUvarint(dst, row.FirstLog)
	dst = binary.AppendUvarint(dst, row.GasUsed)
	return appendRow(dst, &row.Row)
}

// decodeReceipt reads a receipt. It shares the input's memory.
func decodeReceipt(row []byte) (Receipt, bool) {
	r := cursor{rest: row}
	out := Receipt{FirstLog: r.number(), GasUsed: r.number()}
	out.Row = r.row()
	return out, r.ends()
}

// The value of a lookup by transaction hash.
func appendLookup(dst []byte, number uint64, index int) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(dst, number), uint64(index))
}

func decodeLookup(row []byte) (number uint64, index int, ok bool) {
	r := cursor{rest: row}
	number, index = r.number(), r.small()
	return number, index, r.ends()
}

// The value of a lookup by block hash.
func appendPlace(dst []byte, number uint64, branch uint8) []byte {
	return append(binary.BigEndian.AppendUint64(dst, number), branch)
}

func decodePlace(row []byte) (number uint64, branch uint8, ok bool) {
	r := cursor{rest: row}
	number, branch = r.fixed(), r.byte()
	return number, branch, r.ends()
}

// state is the part of the chain that is stored. It is never changed, only replaced.
type state struct {
	first, tip Place
	low        uint64 // nothing is stored below; at most first
}

func appendState(dst []byte, s *state) []byte {
	for _, p := range [...]*Place{&s.first, &s.tip} {
		dst = append(appendPlace(dst, p.Number, p.Branch), p.Hash[:]...)
	}
	return binary.BigEndian.AppendUint64(dst, s.low)
}

func decodeState(row []byte) (*state, bool) {
	r := cursor{rest: row}
	s := new(state)
	for _, p := range [...]*Place{&s.first, &s.tip} {
		p.Number, p.Branch, p.Hash = r.fixed(), r.byte(), r.hash()
	}
	s.low = r.fixed()
	return s, r.ends() && s.low <= s.first.Number && s.first.Number <= s.tip.Number && s.tip.Number < math.MaxUint64
}
