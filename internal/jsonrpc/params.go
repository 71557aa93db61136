package jsonrpc

// Elements appends the raw elements of a JSON array to dst, without the
// whitespace around them. It is safe on any bytes: ok is false, and dst as it
// was, when raw is not one well-formed array. A nil raw is an empty array.
func Elements(dst [][]byte, raw []byte) (elems [][]byte, ok bool) {
	if raw == nil {
		return dst, true
	}
	i := space(raw, 0)
	if !inside(raw, i) || raw[i] != '[' {
		return dst, false
	}
	elems = dst
	i, more := first(raw, i, ']')
	for more {
		end := skipValue(raw, i, 1)
		if end < 0 {
			return dst, false
		}
		elems = append(elems, raw[i:end:end])
		i, more = next(raw, end, ']')
	}
	if i < 0 || space(raw, i) != len(raw) {
		return dst, false
	}
	return elems, true
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
