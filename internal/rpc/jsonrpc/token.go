package jsonrpc

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// The functions of this file step over JSON: each takes the text and the index
// of the first byte of something, and returns the index after its last byte, or
// bad. An index of bad is taken too and leads to bad, so that a loop needs only
// look at the end.

const (
	bad      = -1
	maxDepth = 64 // arrays and objects open at once
)

// inside reports whether d[i] exists. It is also false for bad.
func inside(d []byte, i int) bool { return uint(i) < uint(len(d)) }

// space returns the index of the first byte from i on that is not whitespace.
func space(d []byte, i int) int {
	const set = 1<<' ' | 1<<'\t' | 1<<'\r' | 1<<'\n'
	for inside(d, i) && d[i] <= ' ' && set>>d[i]&1 != 0 {
		i++
	}
	return i
}

// first steps into the array or object that opens at d[i] and closes with end.
// It returns where its first element starts, or, when it is empty, where it ends.
func first(d []byte, i int, end byte) (at int, more bool) {
	i = space(d, i+1)
	if inside(d, i) && d[i] == end {
		return i + 1, false
	}
	return i, true
}

// next steps from the end of one element to the start of the next, or past end.
func next(d []byte, i int, end byte) (at int, more bool) {
	i = space(d, i)
	switch {
	case !inside(d, i):
		return bad, false
	case d[i] == ',':
		return space(d, i+1), true
	case d[i] == end:
		return i + 1, false
	}
	return bad, false
}

// member steps over a member's name and colon. It returns where the name ends,
// its quotes included, and where the value starts.
func member(d []byte, i int) (end, at int) {
	if !inside(d, i) || d[i] != '"' {
		return bad, bad
	}
	end = skipString(d, i)
	i = space(d, end)
	if !inside(d, i) || d[i] != ':' {
		return bad, bad
	}
	return end, space(d, i+1)
}

// skipValue steps over any value, inside depth open arrays and objects.
func skipValue(d []byte, i, depth int) int {
	if !inside(d, i) {
		return bad
	}
	switch d[i] {
	case '"':
		return skipString(d, i)
	case '{':
		return skipObject(d, i, depth)
	case '[':
		return skipArray(d, i, depth)
	case 't':
		return skipWord(d, i, "true")
	case 'f':
		return skipWord(d, i, "false")
	case 'n':
		return skipWord(d, i, "null")
	}
	return skipNumber(d, i)
}

func skipArray(d []byte, i, depth int) int {
	if depth >= maxDepth {
		return bad
	}
	i, more := first(d, i, ']')
	for more {
		i = skipValue(d, i, depth+1)
		i, more = next(d, i, ']')
	}
	return i
}

func skipObject(d []byte, i, depth int) int {
	if depth >= maxDepth {
		return bad
	}
	i, more := first(d, i, '}')
	for more {
		_, at := member(d, i)
		i = skipValue(d, at, depth+1)
		i, more = next(d, i, '}')
	}
	return i
}

func skipWord(d []byte, i int, word string) int {
	if end := i + len(word); end <= len(d) && string(d[i:end]) == word {
		return end
	}
	return bad
}

func skipNumber(d []byte, i int) int {
	if d[i] == '-' {
		i++
	}
	if inside(d, i) && d[i] == '0' {
		i++ // whatever digit follows is not part of this number
	} else {
		i = digits(d, i)
	}
	if inside(d, i) && d[i] == '.' {
		i = digits(d, i+1)
	}
	if inside(d, i) && d[i]|0x20 == 'e' {
		i++
		if inside(d, i) && (d[i] == '+' || d[i] == '-') {
			i++
		}
		i = digits(d, i)
	}
	return i
}

// digits steps over one digit or more.
func digits(d []byte, i int) int {
	start := i
	for inside(d, i) && '0' <= d[i] && d[i] <= '9' {
		i++
	}
	if i == start {
		return bad
	}
	return i
}

func skipString(d []byte, i int) int {
	for i = plain(d, i+1); i < len(d); i = plain(d, i) {
		switch c := d[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			i = skipEscape(d, i)
		case c < ' ':
			return bad
		default:
			i = skipRune(d, i)
		}
		if i < 0 {
			return bad
		}
	}
	return bad
}

// plain returns the index of the first byte from i on that a string scanner must
// look at: a quote, a backslash, a control character or part of a longer rune.
// It looks at eight bytes at a time. In each sum the top bit of a byte's lane is
// set when the byte is special; a borrow can spoil only lanes above a set one,
// and the lowest is the one that counts.
func plain(d []byte, i int) int {
	const lanes, tops = 0x0101010101010101, 0x8080808080808080
	for ; i+8 <= len(d); i += 8 {
		x := binary.LittleEndian.Uint64(d[i:])
		control := x - ' '*lanes
		quote := (x ^ '"'*lanes) - lanes
		slash := (x ^ '\\'*lanes) - lanes
		if hit := (x | control | quote | slash) & tops; hit != 0 {
			return i + bits.TrailingZeros64(hit)>>3
		}
	}
	for i < len(d) && d[i] >= ' ' && d[i] < utf8.RuneSelf && d[i] != '"' && d[i] != '\\' {
		i++
	}
	return i
}

func skipRune(d []byte, i int) int {
	r, size := utf8.DecodeRune(d[i:])
	if r == utf8.RuneError && size <= 1 {
		return bad
	}
	return i + size
}
