package verify

import (
	"encoding/binary"
	"slices"
)

// The functions of this file append to RLP: strings and lists. What a hex token stands for
// is appended without a copy in between; one that is not hex makes ok false.

const (
	shortString = 0x80 // a string of less than 56 bytes begins with this and its length
	shortList   = 0xc0
	mostShort   = 55
)

// values are the values of hex digits; all other bytes have notHex.
var values = hexValues()

const notHex = 0xff

func hexValues() (table [256]byte) {
	for i := range table {
		table[i] = notHex
	}
	for i, c := range []byte("0123456789abcdef") {
		table[c] = byte(i)
	}
	for i, c := range []byte("ABCDEF") {
		table[c] = byte(10 + i)
	}
	return table
}

// digits are the hex digits of a JSON token such as "0x1f".
func digits(token []byte) ([]byte, bool) {
	const shortest = len(`"0x"`)
	if len(token) < shortest || token[0] != '"' || token[1] != '0' || token[2] != 'x' || token[len(token)-1] != '"' {
		return nil, false
	}
	return token[3 : len(token)-1], true
}

// appendHex appends what hex digits stand for. An odd number of them has a zero before.
func appendHex(dst, hex []byte) ([]byte, bool) {
	bad := byte(0)
	if len(hex)%2 == 1 {
		bad = values[hex[0]]
		dst, hex = append(dst, bad), hex[1:]
	}
	start := len(dst)
	dst = slices.Grow(dst, len(hex)/2)[:start+len(hex)/2]
	out := dst[start:]
	wrong := uint64(0) // what is left where bytes are no digits: looked at once, at the end
	for len(hex) >= 8 && len(out) >= 4 {
		x := binary.LittleEndian.Uint64(hex)
		if x != '0'*lanes { // bloom filters are mostly that
			v, not := fourBytes(x)
			wrong |= not
			binary.LittleEndian.PutUint32(out, v)
		} else {
			binary.LittleEndian.PutUint32(out, 0)
		}
		out, hex = out[4:], hex[8:]
	}
	for i := range out {
		high, low := values[hex[2*i]], values[hex[2*i+1]]
		bad |= high | low
		out[i] = high<<4 | low
	}
	return dst, bad&0xf0 == 0 && wrong == 0
}

// lanes is a one in each byte of a word.
const lanes = 0x0101010101010101

// fourBytes decodes eight hex digits, each in a lane of a word. Letters have bit 6 set, and
// their low bits are 9 less than their value. The digits are right, and wrong is 0, if the
// values are, and give the same digits when they are written again.
func fourBytes(x uint64) (four uint32, wrong uint64) {
	letters := x >> 6 & lanes
	v := x&(15*lanes) + 9*letters
	again := v + '0'*lanes + ('a'-'9'-1)*((v+6*lanes)>>4&lanes)
	wrong = v&(0xf0*lanes) | (x | letters<<5) ^ again
	v = (v<<4 | v>>8) & 0x00ff00ff00ff00ff
	v = (v | v>>8) & 0x0000ffff0000ffff
	return uint32(v | v>>16), wrong
}

// appendData appends the bytes of a token as a string.
func appendData(dst, token []byte) ([]byte, bool) {
	hex, ok := digits(token)
	if !ok || len(hex)%2 == 1 {
		return dst, false
	}
	if len(hex) == 2 {
		if dst, ok = appendHex(dst, hex); !ok || dst[len(dst)-1] < shortString {
			return dst, ok
		}
		return append(dst[:len(dst)-1], shortString+1, dst[len(dst)-1]), true
	}
	return appendHex(appendHead(dst, shortString, len(hex)/2), hex)
}

// appendQuantity appends the number of a token as a string without zeros before it.
func appendQuantity(dst, token []byte) ([]byte, bool) {
	hex, ok := digits(token)
	if !ok || len(hex) == 0 {
		return dst, false
	}
	for len(hex) > 0 && hex[0] == '0' {
		hex = hex[1:]
	}
	if n := len(hex); n == 1 || n == 2 && hex[0] < '8' {
		return appendHex(dst, hex)
	}
	return appendHex(appendHead(dst, shortString, (len(hex)+1)/2), hex)
}

// appendBytes appends bytes as a string.
func appendBytes(dst, b []byte) []byte {
	if len(b) == 1 && b[0] < shortString {
		return append(dst, b[0])
	}
	return append(appendHead(dst, shortString, len(b)), b...)
}

// appendHead appends the head of a string or a list.
func appendHead(dst []byte, kind byte, size int) []byte {
	if size <= mostShort {
		return append(dst, kind+byte(size))
	}
	var room [8]byte
	binary.BigEndian.PutUint64(room[:], uint64(size))
	i := 0
	for room[i] == 0 {
		i++
	}
	dst = append(dst, kind+mostShort+byte(len(room)-i))
	return append(dst, room[i:]...)
}

// wrap makes what was appended since start a list.
func wrap(dst []byte, start int) []byte {
	size := len(dst) - start
	var room [9]byte
	head := appendHead(room[:0], shortList, size)
	dst = append(dst, head...)
	copy(dst[start+len(head):], dst[start:start+size])
	copy(dst[start:], head)
	return dst
}

// fixed reads a token of a known length into bytes.
func fixed(dst, token []byte) bool {
	hex, ok := digits(token)
	if !ok || len(hex) != 2*len(dst) {
		return false
	}
	_, ok = appendHex(dst[:0], hex)
	return ok
}

// isHash tells whether a token is a 32-byte hash.
func isHash(token []byte) bool {
	var h [32]byte
	return fixed(h[:], token)
}
