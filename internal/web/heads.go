package web

import (
	"bytes"
	"sync/atomic"
)

// headScanner notices a request that has both Content-Length and Transfer-Encoding. Two
// servers may disagree on where such a request ends, and net/http forgets that there
// were both. It knows lines only: what looks like both headers within a body disputes
// the connection too, which then costs its client a new connection and nothing else.
type headScanner struct {
	line         [24]byte // the beginning of the present line
	size         int
	sized, coded bool
	disputed     atomic.Bool
}

func (s *headScanner) look(b []byte) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		part := b
		if end >= 0 {
			part = b[:end]
		}
		s.size += copy(s.line[s.size:], part)
		if end < 0 {
			return
		}
		s.endLine()
		b = b[end+1:]
	}
}

// endLine looks at the name of a header; an empty line ends a head.
func (s *headScanner) endLine() {
	name, _, isHeader := bytes.Cut(s.line[:s.size], []byte(":"))
	s.size = 0
	switch {
	case len(bytes.TrimRight(name, "\r")) == 0:
		s.sized, s.coded = false, false
	case !isHeader:
	case bytes.EqualFold(name, []byte("content-length")):
		s.sized = true
	case bytes.EqualFold(name, []byte("transfer-encoding")):
		s.coded = true
	}
	if s.sized && s.coded {
		s.disputed.Store(true)
	}
}
