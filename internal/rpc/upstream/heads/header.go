package heads

import (
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// Header is what is read of a block.
type Header struct {
	Number, Time, GasLimit uint64
	Hash, Parent           string // as JSON tokens
	Raw                    []byte // the whole object
}

// Place is the block by its number and hash.
func (h *Header) Place() Place { return Place{h.Number, h.Hash} }

// Read reads a block or a header as nodes send it.
func Read(raw []byte) (h Header, ok bool) {
	var number, stamp bool
	whole := jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch string(name) {
		case "number":
			h.Number, number = hexjson.Quantity(value)
		case "timestamp":
			h.Time, stamp = hexjson.Quantity(value)
		case "gasLimit":
			h.GasLimit, _ = hexjson.Quantity(value)
		case "hash":
			h.Hash = hashOf(value)
		case "parentHash":
			h.Parent = hashOf(value)
		}
		return true
	})
	h.Raw = raw
	return h, whole && number && stamp && h.Hash != "" && h.Parent != ""
}

func hashOf(raw []byte) string {
	if hexjson.IsHash(raw) {
		return strings.ToLower(string(raw))
	}
	return ""
}
