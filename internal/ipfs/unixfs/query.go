package unixfs

import (
	"net/url"
	"strconv"
	"strings"
)

// Query reads a command's options out of a request's parameters with Kubo's rules:
// an option stands once, an empty boolean is true, unknown names are ignored. The
// first error is kept, so that a command reads all its options and checks once.
type Query struct {
	values url.Values
	err    error
}

// NewQuery returns the options of a request.
func NewQuery(values url.Values) *Query { return &Query{values: values} }

// Err is the first thing that was wrong with the options that were read.
func (q *Query) Err() error { return q.err }

// text finds an option by its name or a short form.
func (q *Query) text(names ...string) (value, name string, given bool) {
	for _, n := range names {
		list, ok := q.values[n]
		switch {
		case !ok:
		case len(list) != 1:
			q.fail("expected key %s to have only a single value, received %v", n, list)
		case given:
			q.fail("duplicate command options were provided (%q and %q)", name, n)
		default:
			value, name, given = list[0], n, true
		}
	}
	return value, name, given
}

func (q *Query) fail(format string, args ...any) {
	if q.err == nil {
		q.err = usage(format, args...)
	}
}

func (q *Query) unreadable(value, kind, name string) {
	if value == "" {
		q.fail("could not convert empty value to type %q (for option %q)", kind, "-"+name)
		return
	}
	q.fail("could not convert value %q to type %q (for option %q)", value, kind, "-"+name)
}

// Bool is a switch. Its second result tells whether it was given.
func (q *Query) Bool(preset bool, names ...string) (value, given bool) {
	text, name, given := q.text(names...)
	if !given || text == "" {
		return preset || given, given
	}
	v, err := strconv.ParseBool(strings.ToLower(text))
	if err != nil {
		q.unreadable(text, "bool", name)
	}
	return v, given
}

// Flag is a switch that is off when it is not given.
func (q *Query) Flag(names ...string) bool {
	v, _ := q.Bool(false, names...)
	return v
}

// Int is a whole number of 32 bits, in any base that its prefix tells.
func (q *Query) Int(preset int, name string) (value int, given bool) {
	text, _, given := q.text(name)
	if !given {
		return preset, false
	}
	v, err := strconv.ParseInt(text, 0, 32)
	if err != nil {
		q.unreadable(text, "int", name)
	}
	return int(v), true
}

// Uint is like Int, without a sign.
func (q *Query) Uint(name string) uint32 {
	text, _, given := q.text(name)
	if !given {
		return 0
	}
	v, err := strconv.ParseUint(text, 0, 32)
	if err != nil {
		q.unreadable(text, "uint", name)
	}
	return uint32(v)
}

// Int64 is a whole number of 64 bits.
func (q *Query) Int64(preset int64, names ...string) (value int64, given bool) {
	text, name, given := q.text(names...)
	if !given {
		return preset, false
	}
	v, err := strconv.ParseInt(text, 0, 64)
	if err != nil {
		q.unreadable(text, "int64", name)
	}
	return v, true
}

// String is a text.
func (q *Query) String(preset string, names ...string) (value string, given bool) {
	text, _, given := q.text(names...)
	if !given {
		return preset, false
	}
	return text, true
}
