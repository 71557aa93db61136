package verify

import "bytes"

// habit is the members of the last object of a kind, in order. A node writes the names of all
// of them in the same order, and the logs of a receipt share most of their values: many
// members need only be compared with those before.
type habit struct {
	seen  [maxFields]member
	round int // the answer that is being read
}

// member is a member as it was in the last object.
type member struct {
	name  []byte // with its quotes and the colon; nil: not known
	field int    // -1: not one that is checked
	other uint64

	// Where the whole member was in the answer of a round, and its value within.
	round, start, value, end int
}

// begin forgets the values of the last answer, but not the names.
func (h *habit) begin() { h.round++ }

// expected steps over the name that was there in the last object, if it is the next one.
func (h *habit) expected(s *scanner, at int) (field int, other uint64, ok bool) {
	if h == nil || at >= maxFields || s.peek() != '"' {
		return 0, 0, false
	}
	was := &h.seen[at]
	if was.name == nil || !bytes.HasPrefix(s.d[s.i:], was.name) {
		return 0, 0, false
	}
	s.i += len(was.name)
	return was.field, was.other, true
}

// learn keeps a name.
func (h *habit) learn(at int, name []byte, field int, other uint64) {
	if h == nil || at >= maxFields || name[0] != '"' {
		return
	}
	was := &h.seen[at]
	was.name, was.field, was.other, was.round = append(was.name[:0], name...), field, other, 0
}

// forget drops a name: the one that is there now must be looked at each time.
func (h *habit) forget(at int) {
	if h != nil && at < maxFields {
		h.seen[at].name = nil
	}
}

// repeated notes the member of the last object, and steps over it, if it is the next one to
// the byte. What follows must end it: a number could go on.
func (h *habit) repeated(s *scanner, at int, o *object) bool {
	if h == nil || at >= maxFields || h.seen[at].round != h.round {
		return false
	}
	was := &h.seen[at]
	end := s.i + was.end - was.start
	if end >= len(s.d) || s.d[end] != ',' && s.d[end] != '}' || string(s.d[s.i:end]) != string(s.d[was.start:was.end]) {
		return false
	}
	value := s.i + was.value - was.start
	s.i = end
	o.note(was.field, was.other, s.d[value:end:end])
	return true
}

// remember keeps where a member is, unless it has members itself: those are read each time.
func (h *habit) remember(s *scanner, at, start, value int) {
	if h == nil || at >= maxFields || h.seen[at].name == nil || s.d[value] == '[' || s.d[value] == '{' || s.d[start] != '"' {
		return
	}
	was := &h.seen[at]
	was.round, was.start, was.value, was.end = h.round, start, value, s.i
}
