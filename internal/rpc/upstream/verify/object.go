package verify

import (
	"bytes"
	"hash/maphash"
	"strings"
)

// names knows the fields of one kind of object by their place in a list.
type names struct {
	list []string
	at   func(name []byte) int // the place of a name; -1: not known
}

// object is the raw values of an object's known fields. A field that is null is absent.
type object struct {
	fields  []([]byte)
	present uint64 // a bit for each field that is there, null or not
	other   uint64 // the names that aren't known, as one number
	strange bool   // there are such names
	broken  bool   // a name is there twice, or a second time in other letters
}

// read splits an object into fields, which is room for them.
func (n *names) read(raw []byte, fields [][]byte, seed maphash.Seed) (o object, ok bool) {
	s := scanner{d: raw}
	o = n.scan(&s, fields, seed, nil)
	return o, s.ended()
}

// scan reads the next object. A visitor, where there is one, may read values by itself,
// and tells whether it did.
func (n *names) scan(s *scanner, fields [][]byte, seed maphash.Seed, visit func(field int) bool) (o object) {
	clear(fields)
	o.fields = fields
	if !s.take('{') {
		return o
	}
	for first := true; s.more(first, '}'); first = false {
		name := s.name()
		if s.bad {
			return o
		}
		i := n.at(name)
		if i < 0 {
			o.unknown(n, name, seed)
			s.value()
			continue
		}
		o.broken = o.broken || o.present>>i&1 != 0
		o.present |= 1 << i
		s.peek()
		start := s.i
		if visit == nil || !visit(i) {
			s.value()
		}
		if value := s.d[start:s.i:s.i]; !s.bad && value[0] != 'n' {
			fields[i] = value
		}
	}
	return o
}

// unknown notes a name that isn't in the list. Some decoders don't look at the case of
// letters: for them a name that differs only in case replaces a field that was checked.
func (o *object) unknown(n *names, name []byte, seed maphash.Seed) {
	o.strange = true
	o.other ^= maphash.Bytes(seed, name)
	for _, known := range n.list {
		if len(known) == len(name) && strings.EqualFold(known, string(name)) {
			o.broken = true
		}
	}
}

// shape says which fields there are.
func (o *object) shape() uint64 {
	mask := uint64(0)
	for i, f := range o.fields {
		if f != nil {
			mask |= 1 << i
		}
	}
	return mask ^ o.other
}

// same tells whether two hex tokens stand for the same bytes.
func same(a, b []byte) bool {
	return bytes.Equal(a, b) || a != nil && b != nil && bytes.EqualFold(a, b)
}
