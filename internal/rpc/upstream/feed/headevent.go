package feed

import (
	"slices"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// headMembers are the members of a header in the order of go-ethereum's newHeads, which is not
// that of its blocks.
func headMembers() []string {
	return []string{
		"parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty", "number", "gasLimit", "gasUsed",
		"timestamp", "extraData", "mixHash", "nonce", "baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot",
		"requestsHash", "blockAccessListHash", "slotNumber", "hash",
	}
}

// optionalMember is the first of those that not every chain has. go-ethereum's newHeads has null
// for each that is missing; its blocks leave them out.
const optionalMember = "baseFeePerGas"

// headEvent is a header as newHeads shows it: a block without what is in it. Members that
// go-ethereum doesn't know come last.
func headEvent(raw []byte) []byte {
	names := headMembers()
	values, others := make([][]byte, len(names)), []byte(nil)
	jsonrpc.Fields(raw, func(name, value []byte) bool {
		switch i := slices.Index(names, string(name)); {
		case i >= 0:
			values[i] = value
		case !ofBlock(name):
			others = append(jsonrpc.AppendString(append(others, ','), string(name)), ':')
			others = append(others, value...)
		}
		return true
	})
	out, optional := make([]byte, 0, len(raw)+len(names)*16), slices.Index(names, optionalMember)
	for i, value := range values {
		if value == nil && i >= optional && i < len(names)-1 {
			value = []byte("null")
		}
		if value != nil {
			out = jsonrpc.AppendMember(out, []byte(names[i]), value)
		}
	}
	return append(append(out, others...), '}')
}

// ofBlock tells whether a member is one that a block has and its header hasn't.
func ofBlock(name []byte) bool {
	switch string(name) {
	case "transactions", "uncles", "withdrawals", "size", "totalDifficulty":
		return true
	}
	return false
}
