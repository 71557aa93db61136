package jsonrpc

import (
	"bytes"
	"hash/maphash"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// Compact appends raw to dst without insignificant whitespace, and strings without
// escapes that they don't need. It refuses, with
// dst as it was, malformed JSON, and objects at any depth with two members of
// the same name or of names that differ only in case: decoders disagree about
// which of them counts, and a node behind us must not read other parameters than
// the ones we checked. The two must not share memory.
func Compact(dst, raw []byte) ([]byte, bool) {
	return CompactLarge(dst, raw, nil)
}

// CompactLarge is Compact for a value that takes milliseconds. It calls pause every few
// kilobytes.
func CompactLarge(dst, raw []byte, pause func()) ([]byte, bool) {
	c := compactor{src: raw, dst: dst, pause: pause}
	i := c.value(space(raw, 0), 0)
	if i < 0 || space(raw, i) != len(raw) {
		return dst, false
	}
	return c.dst, true
}

type compactor struct {
	src, dst []byte
	pause    func() // may be nil
	paused   int    // where in src it was last called
	names    []span // of the members so far of every open object, innermost last
}

// span is where a name stands in the source, quotes included. There may be half a
// million of them: they hold no pointers, so that the collector leaves them alone.
type span struct{ from, to int }

func (c *compactor) name(s span) []byte { return unquote(c.src[s.from:s.to]) }

// value copies the value at src[i] and returns where it ends, or bad.
func (c *compactor) value(i, depth int) int {
	if c.pause != nil && i-c.paused >= pieceBytes {
		c.pause()
		c.paused = i
	}
	if inside(c.src, i) && depth < maxDepth {
		switch c.src[i] {
		case '{':
			return c.object(i, depth)
		case '[':
			return c.array(i, depth)
		}
	}
	end := skipValue(c.src, i, depth)
	if end > 0 {
		c.dst = appendPlain(c.dst, c.src[i:end])
	}
	return end
}

// appendPlain copies a token. A string is spelled in one way only: who looks for
// "latest" behind us must find it however it was escaped.
func appendPlain(dst, token []byte) []byte {
	if token[0] != '"' || bytes.IndexByte(token, '\\') < 0 {
		return append(dst, token...)
	}
	return AppendString(dst, string(unquote(token)))
}

func (c *compactor) array(i, depth int) int {
	c.dst = append(c.dst, '[')
	i, more := first(c.src, i, ']')
	for more {
		i = c.value(i, depth+1)
		if i, more = next(c.src, i, ']'); more {
			c.dst = append(c.dst, ',')
		}
	}
	c.dst = append(c.dst, ']')
	return i
}

func (c *compactor) object(i, depth int) int {
	if c.names == nil {
		c.names = make([]span, 0, few)
	}
	base := len(c.names)
	c.dst = append(c.dst, '{')
	i, more := first(c.src, i, '}')
	for more {
		i = c.member(i, depth)
		if i, more = next(c.src, i, '}'); more {
			c.dst = append(c.dst, ',')
		}
	}
	if i < 0 || !c.distinct(c.names[base:]) {
		return bad
	}
	c.dst, c.names = append(c.dst, '}'), c.names[:base]
	return i
}

func (c *compactor) member(i, depth int) int {
	end, at := member(c.src, i)
	if end < 0 {
		return bad
	}
	c.names = append(c.names, span{i, end})
	c.dst = appendPlain(c.dst, c.src[i:end])
	c.dst = append(c.dst, ':')
	return c.value(at, depth+1)
}

// How much is done between two pauses.
const (
	pieceBytes = 16 << 10
	pieceNames = 256
)

// few is how many names are compared each with each: as many as a transaction
// or a filter has, and no more, for the cost grows with the square.
const few = 16

// distinct reports whether no two names are equal but for case.
func (c *compactor) distinct(names []span) bool {
	if len(names) > few {
		return c.distinctMany(names)
	}
	var room [few][]byte
	for i, s := range names {
		room[i] = c.name(s)
		for _, earlier := range room[:i] {
			if bytes.EqualFold(room[i], earlier) {
				return false
			}
		}
	}
	return true
}

// distinctMany is distinct with a hash table, at most half full. The seed is new
// each time, so that nobody can choose names that all fall on one slot.
func (c *compactor) distinctMany(names []span) bool {
	seed, mask := maphash.MakeSeed(), uint64(1)<<bits.Len(uint(2*len(names)))-1
	slots := make([]uint32, mask+1) // an index into names plus one; 0 is free
	var folded []byte
	for i, s := range names {
		if c.pause != nil && i%pieceNames == 0 {
			c.pause()
		}
		name := c.name(s)
		folded = appendFolded(folded[:0], name)
		at := maphash.Bytes(seed, folded) & mask
		for ; slots[at] != 0; at = (at + 1) & mask {
			if bytes.EqualFold(c.name(names[slots[at]-1]), name) {
				return false
			}
		}
		slots[at] = uint32(i + 1)
	}
	return true
}

// appendFolded appends name in a spelling that is the same for all the names that
// bytes.EqualFold calls equal: each rune as the smallest of its case variants.
func appendFolded(dst, name []byte) []byte {
	for len(name) > 0 {
		r, size := rune(name[0]), 1
		switch {
		case r >= utf8.RuneSelf:
			r, size = utf8.DecodeRune(name)
			r = smallestFold(r)
		case 'a' <= r && r <= 'z':
			r -= 'a' - 'A'
		}
		dst = utf8.AppendRune(dst, r)
		name = name[size:]
	}
	return dst
}

// smallestFold goes round the ring of r's case variants to its smallest.
func smallestFold(r rune) rune {
	for {
		other := unicode.SimpleFold(r)
		if other <= r {
			return other
		}
		r = other
	}
}
