package jsonrpc

import "math"

// Elements appends the raw elements of a JSON array to dst, without the
// whitespace around them. It is safe on any bytes: ok is false, and dst as it
// was, when raw is not one well-formed array. A nil raw is an empty array.
func Elements(dst [][]byte, raw []byte) (elems [][]byte, ok bool) {
	elems, _, ok = FirstElements(dst, raw, math.MaxInt)
	return elems, ok
}

// FirstElements is Elements for an array that should have at most so many. It stops at
// the first one too many, with over set: the rest, which may be millions, is not looked
// at, not even for whether it is JSON.
func FirstElements(dst [][]byte, raw []byte, most int) (elems [][]byte, over, ok bool) {
	if raw == nil {
		return dst, false, true
	}
	i := space(raw, 0)
	if !inside(raw, i) || raw[i] != '[' {
		return dst, false, false
	}
	elems = dst
	i, more := first(raw, i, ']')
	for more {
		if len(elems)-len(dst) == most {
			return dst, true, true
		}
		end := skipValue(raw, i, 1)
		if end < 0 {
			return dst, false, false
		}
		elems = append(elems, raw[i:end:end])
		i, more = next(raw, end, ']')
	}
	if i < 0 || space(raw, i) != len(raw) {
		return dst, false, false
	}
	return elems, false, true
}

// Count returns how many elements a JSON array has, known to be well-formed, or most+1
// if there are more than most: it looks at no more of them than that, and copies none.
func Count(raw []byte, most int) (n int) {
	i := space(raw, 0)
	if !inside(raw, i) || raw[i] != '[' {
		return 0
	}
	i, more := first(raw, i, ']')
	for more && n <= most {
		n++
		i, more = next(raw, skipValue(raw, i, 1), ']')
	}
	return n
}

// Without returns a JSON object without the members that drop names, in one pass. The rest
// keeps its bytes: an object that loses nothing is returned as it is. It returns false when
// raw is not one well-formed object.
func Without(raw []byte, drop func(name, value []byte) bool) (object []byte, ok bool) {
	i := space(raw, 0)
	if !inside(raw, i) || raw[i] != '{' {
		return nil, false
	}
	i, more := first(raw, i, '}')
	run, stop := i, i // the members since the last one that was dropped
	for more {
		end, at := member(raw, i)
		after := skipValue(raw, at, 1)
		if after < 0 {
			return nil, false
		}
		begin := i
		i, more = next(raw, after, '}')
		if !drop(unquote(raw[begin:end]), raw[at:after:after]) {
			stop = after
			continue
		}
		object = appendMembers(object, raw, run, stop)
		run, stop = i, i
	}
	if i < 0 || space(raw, i) != len(raw) {
		return nil, false
	}
	if object == nil {
		return raw, true
	}
	return append(appendMembers(object, raw, run, stop), '}'), true
}

// appendMembers adds the members between two places to an object that is being written.
func appendMembers(object, raw []byte, run, stop int) []byte {
	if object == nil {
		object = append(make([]byte, 0, len(raw)), '{')
	}
	if run < stop && len(object) > 1 {
		object = append(object, ',')
	}
	return append(object, raw[run:max(run, stop)]...)
}

// Fields calls f with each member of a JSON object, in order: its decoded name
// and its raw value. It returns false when f does, and when raw is not one
// well-formed object; f may then have been called with the members before the
// defect. Repeated names are f's to notice, or Compact's.
func Fields(raw []byte, f func(name, value []byte) bool) bool {
	i := space(raw, 0)
	if !inside(raw, i) || raw[i] != '{' {
		return false
	}
	i, more := first(raw, i, '}')
	for more {
		end, at := member(raw, i)
		stop := skipValue(raw, at, 1)
		if stop < 0 || !f(unquote(raw[i:end]), raw[at:stop:stop]) {
			return false
		}
		i, more = next(raw, stop, '}')
	}
	return i >= 0 && space(raw, i) == len(raw)
}
