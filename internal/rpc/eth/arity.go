package eth

import (
	"bytes"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// maxParams is more than any method takes. A body has room for millions of parameters;
// to copy and decode them, only to learn that there are too many, would cost half a
// second.
const maxParams = 32

// arity is how many parameters the methods take that have no rules of their own: the
// error for too many names it. It is read, never written.
var arity = map[string]int{
	"eth_chainId": 0, "eth_blockNumber": 0, "eth_gasPrice": 0, "eth_maxPriorityFeePerGas": 0, "eth_blobBaseFee": 0, "eth_syncing": 0,
	"eth_newBlockFilter": 0, "net_version": 0, "net_listening": 0, "net_peerCount": 0, "web3_clientVersion": 0,
	"eth_sendRawTransaction": 1, "eth_newPendingTransactionFilter": 1, "eth_getFilterChanges": 1, "eth_uninstallFilter": 1, "web3_sha3": 1,
	"eth_getBalance": 2, "eth_getCode": 2, "eth_getTransactionCount": 2, "eth_getBlockByNumber": 2, "eth_getBlockByHash": 2, "eth_simulateV1": 2,
	"eth_feeHistory": 3,
}

// checkArity refuses parameters that no node could use, before anything is done with
// them. A few too many are left to the node, which may know better.
func checkArity(name string, params []byte) error {
	if !manyParams(params) {
		return nil
	}
	if most, known := arity[name]; known {
		return tooMany(most)
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
