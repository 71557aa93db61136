package eth

import (
	"bytes"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// shape is the members that objects of one kind have. A node's other members pass
// as they are, for networks have some of their own.
type shape struct {
	fields []field
	index  map[string]int
}

// field is one member of a shape.
type field struct {
	name string
	fix  fixer
	null string // what stands where there is none: "null", "[]", or "" for nothing
	drop bool   // a member of single clients that no other has
}

// maxFields is how many fields a shape has at most.
const maxFields = 32

func newShape(fields ...field) *shape {
	s := &shape{fields: fields, index: make(map[string]int, len(fields))}
	for i, f := range fields {
		s.index[f.name] = i
	}
	return s
}

// record is one object of a shape while it is put right.
type record struct {
	*shape
	raw     []byte
	values  [maxFields][]byte // nil where there is none
	changed bool
}

// read takes an object apart. It is false where a member has no value it could
// have, or stands there twice.
func (r *record) read(s *shape, raw []byte) bool {
	r.shape, r.raw = s, raw
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		i, known := s.index[string(name)]
		return !known || r.take(i, value)
	})
	for i, f := range s.fields {
		if r.values[i] == nil && f.null != "" {
			r.set(f.name, f.null)
		}
	}
	return ok
}

func (r *record) take(i int, value []byte) bool {
	f := &r.fields[i]
	switch {
	case r.values[i] != nil:
		return false
	case f.drop:
		r.changed = true
		return true
	case isNull(value):
		if f.null == "null" {
			r.values[i] = value
		} else {
			r.changed = true
		}
		return true
	}
	fixed, ok := f.fix(value)
	if !ok {
		return false
	}
	r.changed = r.changed || !bytes.Equal(fixed, value)
	r.values[i] = fixed
	return true
}

// get is a member's value, "" where there is none.
func (r *record) get(name string) string { return string(r.values[r.index[name]]) }

// has tells whether a member is there and not null.
func (r *record) has(name string) bool {
	v := r.values[r.index[name]]
	return v != nil && !isNull(v)
}

// set gives a member a value; "" takes it out.
func (r *record) set(name, value string) {
	i := r.index[name]
	if string(r.values[i]) == value {
		return
	}
	r.changed = true
	r.values[i] = nil
	if value != "" {
		r.values[i] = []byte(value)
	}
}

// bytes is the object: as it came where nothing had to change, otherwise with its
// members in the order they had, and new ones behind.
func (r *record) bytes() []byte {
	if !r.changed {
		return r.raw
	}
	out := append(make([]byte, 0, len(r.raw)+64), '{')
	jsonrpc.Fields(r.raw, func(name, value []byte) bool {
		if i, known := r.index[string(name)]; known {
			value, r.values[i] = r.values[i], nil
		}
		out = appendMember(out, string(name), value)
		return true
	})
	for i, f := range r.fields {
		out = appendMember(out, f.name, r.values[i])
	}
	return append(out, '}')
}

func appendMember(out []byte, name string, value []byte) []byte {
	if value == nil {
		return out
	}
	if len(out) > 1 {
		out = append(out, ',')
	}
	out = append(jsonrpc.AppendString(out, name), ':')
	return append(out, value...)
}
