package logrange

import (
	"bytes"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

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

// Within tells whether a node's answer is a list of logs of a span's blocks, and of no others:
// a log that a part has too many would be in the merged list twice.
func Within(answer []byte, s Span) bool {
	list, ok := jsonrpc.Elements(nil, answer)
	if !ok {
		return false
	}
	for _, log := range list {
		if !s.holds(log) {
			return false
		}
	}
	return true
}

// holds tells whether a log says that it is of one of the span's blocks.
func (s Span) holds(log []byte) bool {
	found := 0
	ok := jsonrpc.Fields(log, func(name, value []byte) bool {
		if string(name) != "blockNumber" {
			return true
		}
		at, ok := hexjson.Quantity(value)
		found++
		return ok && s.From <= at && at <= s.To
	})
	return ok && found == 1
}
