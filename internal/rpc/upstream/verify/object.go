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
	o = n.scan(&s, fields, seed, nil, nil)
	return o, s.ended()
}

// scan reads the next object. A visitor, where there is one, may read values by itself,
// and tells whether it did.
func (n *names) scan(s *scanner, fields [][]byte, seed maphash.Seed, habit *habit, visit func(field int) bool) (o object) {
	clear(fields)
	o.fields = fields
	if !s.take('{') {
		return o
	}
	for at := 0; s.more(at == 0, '}'); at++ {
		i, other := n.field(s, seed, habit, at, &o)
		if s.peek(); s.bad {
			return o
		}
		if i < 0 {
			o.strange, o.other = true, o.other^other
			s.value()
			continue
		}
		o.broken = o.broken || o.present>>i&1 != 0
		o.present |= 1 << i
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

// habit is the names of the last object of a kind, in order: a node writes all of them in
// the same order, so that most names need only be compared.
type habit struct {
	seen [maxFields]struct {
		text  []byte // with its quotes and the colon
		field int    // -1: not known
		other uint64
	}
}

// field reads a member's name. It returns its place, or what its name adds to the unknown.
func (n *names) field(s *scanner, seed maphash.Seed, h *habit, at int, o *object) (field int, other uint64) {
	if h != nil && at < maxFields && s.peek() == '"' {
		if was := &h.seen[at]; was.text != nil && bytes.HasPrefix(s.d[s.i:], was.text) {
			s.i += len(was.text)
			return was.field, was.other
		}
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
			return field, other
		}
	}
	if h != nil && at < maxFields && s.d[start] == '"' {
		was := &h.seen[at]
		was.text, was.field, was.other = append(was.text[:0], s.d[start:s.i]...), field, other
	}
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
