package form

import (
	"encoding/binary"
	"math/bits"
)

// price is what a unit of gas cost: the price of the transaction, or the base fee and the
// tip up to the cap. In a block without a base fee it is the cap, as go-ethereum has it. For
// deposits it is nothing. The result may be in room.
func (t *transaction) price(h *Head, room *[wordBytes]byte) []byte {
	switch {
	case t.kind < feeType || t.kind == depositType:
		return t.gasPrice
	case !h.HasBaseFee:
		return t.feeCap
	}
	sum, over := add(words(t.tip), words(trimmed(&h.BaseFee)))
	if limit := words(t.feeCap); over || less(limit, sum) {
		return t.feeCap
	}
	putWords(room, sum)
	return trimmed(room)
}

// words is a number of at most 32 bytes, the highest word first.
func words(b []byte) (w [4]uint64) {
	var room [wordBytes]byte
	copy(room[wordBytes-len(b):], b)
	for i := range w {
		w[i] = binary.BigEndian.Uint64(room[8*i:])
	}
	return w
}

func putWords(room *[wordBytes]byte, w [4]uint64) {
	for i := range w {
		binary.BigEndian.PutUint64(room[8*i:], w[i])
	}
}

func add(a, b [4]uint64) (sum [4]uint64, over bool) {
	var carry uint64
	for i := len(sum) - 1; i >= 0; i-- {
		sum[i], carry = bits.Add64(a[i], b[i], carry)
	}
	return sum, carry != 0
}

func less(a, b [4]uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return a[i] < b[i]
		}
	}
	return false
}

// created is the address of the contract that a sender creates with a nonce.
func (s *scratch) created(from *[addressBytes]byte, nonce []byte) []byte {
	b := append(s.room[:0], shortList, shortString+addressBytes)
	b = appendData(append(b, from[:]...), nonce)
	b[0] += byte(len(b) - 1)
	return s.hash(b)[hashBytes-addressBytes:]
}
