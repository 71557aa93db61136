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
	// nested is the field whose value a visitor reads.
	nested int
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
	o = n.scan(&s, fields, seed, nil, nil)
	return o, s.ended()
}

// scan reads the next object. A visitor, where there is one, may read the value of the
// nested field by itself, and tells whether it did.
func (n *names) scan(s *scanner, fields [][]byte, seed maphash.Seed, habit *habit, visit func() bool) (o object) {
	clear(fields)
	o.fields = fields
	if !s.take('{') {
		return o
	}
	for at := 0; s.more(at == 0, '}'); at++ {
		if habit.repeated(s, at, &o) {
			continue
		}
		start := s.i
		i, other := n.field(s, seed, habit, at, &o)
		if s.peek(); s.bad {
			return o
		}
		value := s.i
		if visit == nil || i != n.nested || !visit() {
			s.value()
		}
		if s.bad {
			return o
		}
		o.note(i, other, s.d[value:s.i:s.i])
		habit.remember(s, at, start, value)
	}
	return o
}

// note keeps the value of a member. The field is -1 where the name isn't known.
func (o *object) note(field int, other uint64, value []byte) {
	if field < 0 {
		o.strange, o.other = true, o.other^other
		return
	}
	o.broken = o.broken || o.present>>field&1 != 0
	o.present |= 1 << field
	if value[0] != 'n' {
		o.fields[field] = value
	}
}

// field reads a member's name. It returns its place, or what its name adds to the unknown.
func (n *names) field(s *scanner, seed maphash.Seed, h *habit, at int, o *object) (field int, other uint64) {
	if field, other, ok := h.expected(s, at); ok {
		return field, other
	}
	start := s.i
	name := s.name()
	if s.bad {
		return -1, 0
	}
	if field = n.at(name); field < 0 {
		other = maphash.Bytes(seed, name)
		if n.disguised(name) {
			o.broken = true
			h.forget(at)
			return field, other
		}
	}
	h.learn(at, s.d[start:s.i], field, other)
	return field, other
}

// disguised tells whether a name that isn't in the list differs from one that is only in the
// case of letters. Some decoders don't look at that: for them it replaces a field that was
// checked.
func (n *names) disguised(name []byte) bool {
	for _, known := range n.list {
		if len(known) == len(name) && strings.EqualFold(known, string(name)) {
			return true
		}
	}
	return false
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
