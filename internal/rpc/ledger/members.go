package ledger

import (
	"bytes"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// member is a member of a JSON object.
type member struct{ name, value []byte }

// members reads the members of an object.
func members(dst []member, raw []byte) ([]member, bool) {
	ok := jsonrpc.Fields(raw, func(name, value []byte) bool {
		dst = append(dst, member{name, value})
		return true
	})
	return dst, ok
}

// find returns the value of a member, nil if there is none.
func find(list []member, name string) []byte {
	for i := range list {
		if string(list[i].name) == name {
			return list[i].value
		}
	}
	return nil
}

// The members that are written from the encodings, whatever a node said. The size of a
// block is derived as well, and clients differ in what they count.
var (
	transactionMembers = []string{
		"blockHash", "blockNumber", "blockTimestamp", "from", "gas", "gasPrice", "maxFeePerGas", "maxPriorityFeePerGas", "maxFeePerBlobGas", "hash", "input",
		"nonce", "to", "transactionIndex", "value", "type", "accessList", "chainId", "blobVersionedHashes", "authorizationList", "v", "r", "s", "yParity",
	}
	receiptMembers = []string{
		"blobGasPrice", "blobGasUsed", "blockHash", "blockNumber", "contractAddress", "cumulativeGasUsed", "effectiveGasPrice", "from", "gasUsed", "logs",
		"logsBloom", "root", "status", "to", "transactionHash", "transactionIndex", "type",
	}
	blockMembers = []string{
		"baseFeePerGas", "blobGasUsed", "blockAccessListHash", "difficulty", "excessBlobGas", "extraData", "gasLimit", "gasUsed", "hash", "logsBloom",
		"miner", "mixHash", "nonce", "number", "parentBeaconBlockRoot", "parentHash", "receiptsRoot", "requestsHash", "sha3Uncles", "size", "slotNumber",
		"stateRoot", "timestamp", "transactions", "transactionsRoot", "uncles", "withdrawals", "withdrawalsRoot",
	}
)

// maxExtra bounds what is kept of one object beyond its encoding: rollups add some ten
// numbers.
const maxExtra = 4 << 10

// extras returns what a node's object has beyond known members, as the members to append
// to ours. They are the word of one node. Names that a client could take for one of ours
// are left out: many read them without regard to case.
func extras(said []member, known []string) (extra []byte) {
	for i := range said {
		name, value := said[i].name, said[i].value
		if !plainName(name) || isKnown(known, name) || duplicate(said[:i], name) || len(extra)+len(name)+len(value) > maxExtra {
			continue
		}
		if len(extra) > 0 {
			extra = append(extra, ',')
		}
		extra = append(append(append(extra, '"'), name...), `":`...)
		extra = append(extra, value...)
	}
	return extra
}

func isKnown(known []string, name []byte) bool {
	for _, k := range known {
		if strings.EqualFold(k, string(name)) {
			return true
		}
	}
	return false
}

func duplicate(before []member, name []byte) bool {
	for i := range before {
		if bytes.EqualFold(before[i].name, name) {
			return true
		}
	}
	return false
}

// plainName tells whether a name has letters, digits and underscores only.
func plainName(name []byte) bool {
	for _, c := range name {
		if !('a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9' || c == '_') {
			return false
		}
	}
	return len(name) > 0
}

// contradicted returns a member in which a node's object and what is written here differ,
// or "". Members that only one of them has, and lists, are not compared: roots cover the
// lists, and older nodes lack some members.
func contradicted(said []member, ours []byte) (name string) {
	jsonrpc.Fields(ours, func(n, value []byte) bool {
		theirs := find(said, string(n))
		if len(theirs) > 0 && theirs[0] == '"' && value[0] == '"' && !bytes.EqualFold(theirs, value) && string(n) != "size" {
			name = string(n)
		}
		return name == ""
	})
	return name
}

// priceName is the member of a receipt that nothing proves and everybody shows: what a unit
// of blob gas cost depends on the network's schedule. It is kept before other members.
const priceName = `"blobGasPrice":`

// cutPrice cuts the blob gas price off the kept members of a receipt.
func cutPrice(extra []byte) (price []byte, has bool, rest []byte) {
	value, has := bytes.CutPrefix(extra, []byte(priceName))
	if !has {
		return nil, false, extra
	}
	price, rest, _ = bytes.Cut(value, []byte(","))
	return price, true, rest
}

// withPrice puts a blob gas price before the kept members of a receipt.
func withPrice(price, extra []byte) []byte {
	out := append([]byte(priceName), price...)
	if len(extra) > 0 {
		out = append(append(out, ','), extra...)
	}
	return out
}

// priceWord reads a quantity of up to 32 bytes.
func priceWord(token []byte) (word [32]byte, ok bool) {
	n := len(token)
	if n < len(`"0x0"`) || n > len(`"0x"`)+2*len(word) || string(token[:3]) != `"0x` || token[n-1] != '"' {
		return word, false
	}
	digits := token[3 : n-1]
	padded := append(bytes.Repeat([]byte("0"), 2*len(word)-len(digits)), digits...)
	full := append(append([]byte(`"0x`), padded...), '"')
	return word, fixedHex(word[:], full)
}
