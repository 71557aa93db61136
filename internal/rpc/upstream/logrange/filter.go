package logrange

import (
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// Filter is a log query over a range of blocks that are given by their numbers.
type Filter struct {
	Span
	rest []byte // its other members, each with a comma before it
}

// Read reads the parameters of a log query. ok is false for a query that has no range to
// split: by block hash, with a tag, or one that a node may read in another way.
func Read(params []byte) (f Filter, ok bool) {
	list, over, ok := jsonrpc.FirstElements(nil, params, 1)
	if !ok || over || len(list) != 1 {
		return Filter{}, false
	}
	var from, to bool
	ok = jsonrpc.Fields(list[0], func(name, value []byte) bool {
		switch string(name) {
		case "fromBlock":
			return readEnd(&f.From, &from, value)
		case "toBlock":
			return readEnd(&f.To, &to, value)
		case "blockHash":
			return false
		}
		f.rest = append(jsonrpc.AppendString(append(f.rest, ','), string(name)), ':')
		f.rest = append(f.rest, value...)
		return true
	})
	return f, ok && from && to && f.From <= f.To
}

// readEnd reads one end of the range, and refuses a second one of the same name.
func readEnd(end *uint64, seen *bool, value []byte) bool {
	if *seen {
		return false
	}
	*end, *seen = hexjson.Quantity(value)
	return *seen
}

// Params are the parameters of the same query over another span.
func (f Filter) Params(s Span) []byte {
	const room = len(`[{"fromBlock":"0x0123456789abcdef","toBlock":"0x0123456789abcdef"}]`)
	b := append(make([]byte, 0, room+len(f.rest)), `[{"fromBlock":`...)
	b = append(append(b, hexjson.Number(s.From)...), `,"toBlock":`...)
	b = append(append(b, hexjson.Number(s.To)...), f.rest...)
	return append(b, `}]`...)
}
