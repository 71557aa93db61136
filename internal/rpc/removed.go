package rpc

import "github.com/nodegate/nodegate/internal/rpc/jsonrpc"

// Removed is a log that a reorg took off the chain, as clients are told of it.
func Removed(log []byte) []byte {
	out := make([]byte, 0, len(log)+len(`,"removed":true`))
	jsonrpc.Fields(log, func(name, value []byte) bool {
		if string(name) != "removed" {
			out = jsonrpc.AppendMember(out, name, value)
		}
		return true
	})
	return append(jsonrpc.AppendMember(out, []byte("removed"), []byte("true")), '}')
}
