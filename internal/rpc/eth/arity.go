package eth

import (
	"bytes"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// maxParams is more than any method takes. A body has room for millions of parameters;
// to copy and decode them, only to learn that there are too many, would cost half a
// second.
const maxParams = 32

// checkArity refuses parameters that no node could use, before anything is done with
// them. A few too many are left to the node, which may know better. The error names how
// many the method takes, where that is known.
func checkArity(name string, params []byte) error {
	if !manyParams(params) {
		return nil
	}
	if row := method.Of(name); row.Name != "" {
		return tooMany(row.MaxParams())
	}
	return tooMany(maxParams)
}

func manyParams(params []byte) bool {
	const shortest = 2 * maxParams // of more: each takes a byte and a comma
	return len(params) > shortest && jsonrpc.Count(params, maxParams) > maxParams
}

// maxValues bounds the lists and objects in the parameters all together. An address
// takes 44 bytes and a storage slot more than 100, so that a body of 5 MiB has no room
// for so many; what has is made to be expensive to decode.
const maxValues = 1 << 17

// checkValues refuses parameters with too many values. Commas are counted, which costs
// next to nothing and counts those in strings too: the strings of calls are hexadecimal.
func checkValues(params []byte) error {
	if len(params) <= 2*maxValues || manyParams(params) || bytes.Count(params, []byte(",")) <= maxValues {
		return nil
	}
	return invalid("too many values in the parameters, want at most %d", maxValues)
}
