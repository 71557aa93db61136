package logrange

import "bytes"

const space = " \t\r\n"

// Merge makes one JSON array of several, in their order. The logs in them are copied as they
// are. Each part must be an array that was checked.
func Merge(parts [][]byte) []byte {
	size := len("[]")
	for _, p := range parts {
		size += len(p)
	}
	out := append(make([]byte, 0, size), '[')
	for _, p := range parts {
		p = bytes.Trim(p, space)
		inner := bytes.Trim(p[1:len(p)-1], space)
		if len(inner) == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, inner...)
	}
	return append(out, ']')
}
