package form

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// text is JSON that is being written. Each member is written with its name and the comma
// or brace before it, so that a name is one string to copy.
type text struct{ b []byte }

func (t *text) raw(s string) { t.b = append(t.b, s...) }

// data writes a member with bytes as its value.
func (t *text) data(name string, b []byte) {
	t.raw(name)
	t.quote(b)
}

// quantity writes a member with a number as its value, given without zeros before it.
func (t *text) quantity(name string, b []byte) {
	t.raw(name)
	t.raw(`"0x`)
	switch {
	case len(b) == 0:
		t.b = append(t.b, '0')
	case b[0] < 0x10:
		t.b = append(t.b, byte(hexPairs[b[0]]>>8))
		b = b[1:]
	}
	t.digits(b)
	t.b = append(t.b, '"')
}

// number writes a member with a number as its value.
func (t *text) number(name string, n uint64) {
	t.raw(name)
	t.raw(`"0x`)
	size := max(1, (bits.Len64(n)+3)/4)
	for i := size - 1; i >= 0; i-- {
		t.b = append(t.b, hexDigits[n>>(4*i)&15])
	}
	t.b = append(t.b, '"')
}

// word writes a member with a number of 32 bytes as its value.
func (t *text) word(name string, w *[wordBytes]byte) { t.quantity(name, trimmed(w)) }

// trimmed is a number without the zeros before it.
func trimmed(w *[wordBytes]byte) []byte {
	for i, b := range w {
		if b != 0 {
			return w[i:]
		}
	}
	return nil
}

// address writes a member with an address as its value, or null.
func (t *text) address(name string, b []byte) {
	if b == nil {
		t.raw(name)
		t.raw("null")
		return
	}
	t.data(name, b)
}

// hashes writes a member with a list of hashes as its value. Nothing is written after the
// first one that is no hash: the cursor says so.
func (t *text) hashes(name string, list *cursor) {
	t.raw(name)
	t.b = append(t.b, '[')
	for first := true; list.more(); first = false {
		t.comma(first)
		t.quote(list.fixed(hashBytes))
	}
	t.b = append(t.b, ']')
}

// comma separates the elements of a list.
func (t *text) comma(first bool) {
	if !first {
		t.b = append(t.b, ',')
	}
}

// close ends an object, with members that are appended as they are.
func (t *text) close(extra []byte) {
	if len(extra) > 0 {
		t.b = append(append(t.b, ','), extra...)
	}
	t.b = append(t.b, '}')
}

// quote writes bytes as a string.
func (t *text) quote(b []byte) {
	t.raw(`"0x`)
	t.digits(b)
	t.b = append(t.b, '"')
}

func (t *text) digits(b []byte) {
	at := len(t.b)
	t.b = slices.Grow(t.b, 2*len(b))[:at+2*len(b)]
	out := t.b[at:]
	for len(b) >= 4 && len(out) >= 8 {
		binary.BigEndian.PutUint64(out, eightDigits(binary.BigEndian.Uint32(b)))
		b, out = b[4:], out[8:]
	}
	for i, c := range b {
		pair := hexPairs[c]
		out[2*i], out[2*i+1] = byte(pair), byte(pair>>8)
	}
}

// eightDigits are the digits of four bytes, each in a byte of a word. They are worked out all
// at once, which takes less time than looking them up: a header is mostly hex.
func eightDigits(four uint32) uint64 {
	const lanes = 0x0101010101010101 // a one in each byte
	v := uint64(four)
	v = (v | v<<16) & 0x0000ffff0000ffff
	v = (v | v<<8) & 0x00ff00ff00ff00ff
	v = (v | v<<4) & 0x0f0f0f0f0f0f0f0f
	letters := (v + 6*lanes) >> 4 & lanes // a one where the digit is a letter
	return v + '0'*lanes + ('a'-'9'-1)*letters
}

const hexDigits = "0123456789abcdef"

// hexPairs are the two digits of every byte: one look-up instead of two.
var hexPairs = func() (table [256]uint16) {
	for i := range table {
		table[i] = uint16(hexDigits[i>>4]) | uint16(hexDigits[i&15])<<8
	}
	return table
}()
