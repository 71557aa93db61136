package unixfs

import (
	"encoding/binary"
	"math/bits"

	"github.com/ipfs/go-cid"
)

// textOf is c.String(). Those of version 0 are in base 58, which takes the library several
// microseconds; an upload of many small files has one or two for each.
func textOf(c cid.Cid) string {
	if c.Version() == 0 {
		return base58Of(c.KeyString())
	}
	return c.String()
}

// The text of a CID of version 0: its 34 bytes begin with 0x12, so it always has 46 digits.
const (
	base58Digits = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	v0Bytes      = 34
	v0Digits     = 46

	digitsAtOnce = 10
	atOnce       = 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 * 58 // 58^10, which fits in a word
)

// base58Of divides by 58^10 instead of 58, a word at a time.
func base58Of(raw string) string {
	var padded [40]byte
	copy(padded[len(padded)-v0Bytes:], raw)
	var words [5]uint64
	for i := range words {
		words[i] = binary.BigEndian.Uint64(padded[8*i:])
	}
	var text [v0Digits]byte
	for at := len(text); at > 0; {
		rest := uint64(0)
		for i := range words {
			words[i], rest = bits.Div64(rest, words[i], atOnce)
		}
		for n := 0; n < digitsAtOnce && at > 0; n++ {
			at--
			text[at] = base58Digits[rest%58]
			rest /= 58
		}
	}
	return string(text[:])
}
