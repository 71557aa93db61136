package verify

import (
	"bytes"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// scanner goes once through JSON that the client has found to be well-formed, which is why
// it can look for the end of a string only. On other bytes it stops, with bad set.
type scanner struct {
	d   []byte
	i   int
	bad bool
}

// peek is the first byte of the next token, or 0.
func (s *scanner) peek() byte {
	for s.i < len(s.d) && s.d[s.i] <= ' ' {
		s.i++
	}
	if s.i == len(s.d) {
		s.bad = true
		return 0
	}
	return s.d[s.i]
}

// take steps over a byte that must be next.
func (s *scanner) take(c byte) bool {
	if s.peek() != c {
		s.bad = true
		return false
	}
	s.i++
	return true
}

// more steps to the next element of a list or an object that ends with a byte, or past it.
func (s *scanner) more(first bool, end byte) bool {
	switch c := s.peek(); {
	case s.bad:
		return false
	case c == end:
		s.i++
		return false
	case first:
		return true
	}
	return s.take(',')
}

// text is the next string, with its quotes.
func (s *scanner) text() []byte {
	if s.peek() != '"' {
		s.bad = true
		return nil
	}
	start := s.i
	for at := start + 1; ; {
		n := bytes.IndexByte(s.d[at:], '"')
		if n < 0 {
			s.i, s.bad = len(s.d), true
			return nil
		}
		at += n + 1
		if s.d[at-2] != '\\' || !escaped(s.d[start+1:at-1]) {
			s.i = at
			return s.d[start:at:at]
		}
	}
}

// escaped tells whether what follows some bytes of a string is escaped by them.
func escaped(b []byte) bool {
	n := len(b)
	for n > 0 && b[n-1] == '\\' {
		n--
	}
	return (len(b)-n)%2 == 1
}

// name is the next member's name, decoded.
func (s *scanner) name() []byte {
	raw := s.text()
	if s.bad || !s.take(':') {
		s.bad = true
		return nil
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1]
	}
	decoded, ok := jsonrpc.String(raw)
	s.bad = s.bad || !ok
	return decoded
}

// value steps over any value and returns it.
func (s *scanner) value() []byte {
	switch c := s.peek(); c {
	case '"':
		return s.text()
	case '{', '[':
		return s.nested()
	}
	start := s.i
	for s.i < len(s.d) && s.d[s.i] > ' ' && s.d[s.i] != ',' && s.d[s.i] != '}' && s.d[s.i] != ']' {
		s.i++
	}
	s.bad = s.bad || s.i == start
	return s.d[start:s.i:s.i]
}

// nested steps over a list or an object.
func (s *scanner) nested() []byte {
	start, depth := s.i, 0
	for s.i < len(s.d) {
		switch s.d[s.i] {
		case '"':
			if s.text(); s.bad {
				return nil
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				s.i++
				return s.d[start:s.i:s.i]
			}
		}
		s.i++
	}
	s.bad = true
	return nil
}

// ended tells whether all is read.
func (s *scanner) ended() bool {
	for s.i < len(s.d) && s.d[s.i] <= ' ' {
		s.i++
	}
	return !s.bad && s.i == len(s.d)
}

// elements appends the elements of a list.
func elements(dst [][]byte, raw []byte) ([][]byte, bool) {
	s := scanner{d: raw}
	if !s.take('[') {
		return dst, false
	}
	for first := true; s.more(first, ']'); first = false {
		dst = append(dst, s.value())
	}
	return dst, s.ended()
}
