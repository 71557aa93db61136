package eth

import (
	"bytes"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// The members of the specification's tables.
const (
	transactionMembers = " accessList blockHash blockNumber chainId from gas gasPrice hash input maxPriorityFeePerGas maxFeePerGas nonce r s to transactionIndex type v value yParity "
	receiptMembers     = " blockHash blockNumber contractAddress cumulativeGasUsed effectiveGasPrice from gasUsed logs logsBloom root status to transactionHash transactionIndex type "
	logMembers         = " address topics data blockHash blockNumber transactionHash transactionIndex logIndex removed "
)

// Types of transactions as they stand in answers.
const (
	typeLegacy  = `"0x0"`
	typeDynamic = `"0x2"`
)

// transaction shapes a transaction. yParity belongs to the answer by block hash
// and index only, chainId to typed transactions (strictly: to type 2 only); strictly, r
// and s have all their 32 bytes.
func (d Dialect) transaction(result []byte, withParity bool) []byte {
	if d == Standard || isNull(result) {
		return result
	}
	if d == Spec {
		if shaped, ok := specTransaction(result, withParity); ok {
			return shaped
		}
	}
	return d.filtered(result, withParity)
}

// filtered shapes a transaction of any form.
func (d Dialect) filtered(result []byte, withParity bool) []byte {
	kind := member(result, "type")
	return filter(result, func(name []byte) bool {
		switch string(name) {
		case "yParity":
			return withParity
		case "chainId":
			return kind == typeDynamic || (d == Spec && kind != typeLegacy)
		}
		return d == Spec || in(transactionMembers, name)
	}, d.signature())
}

// specTransaction shapes a transaction in one pass, for the dialect of most networks. It is
// false where that isn't enough: when the chain's number comes before the type.
func specTransaction(result []byte, withParity bool) (shaped []byte, ok bool) {
	typed, legacy, early := false, false, false
	shaped, ok = jsonrpc.Without(result, func(name, value []byte) bool {
		switch string(name) {
		case "type":
			if !typed { // the first counts
				typed, legacy = true, string(value) == typeLegacy
			}
		case "yParity":
			return !withParity
		case "chainId":
			early = early || !typed
			return legacy
		}
		return false
	})
	return shaped, ok && !early
}

// receipt shapes a receipt: only the strict dialect leaves anything out.
func (d Dialect) receipt(result []byte) []byte {
	if d != Strict || isNull(result) {
		return result
	}
	return filter(result, func(name []byte) bool { return in(receiptMembers, name) }, strictLogs)
}

// receipts shapes an array of receipts.
func (d Dialect) receipts(result []byte) []byte {
	if d != Strict || isNull(result) {
		return result
	}
	return each(result, d.receipt)
}

func strictLogs(name, value []byte) []byte {
	if string(name) != "logs" {
		return value
	}
	return each(value, func(log []byte) []byte {
		return filter(log, func(name []byte) bool { return in(logMembers, name) }, nil)
	})
}

func isNull(result []byte) bool { return string(result) == "null" }

// in looks a member up in a list of names between spaces.
func in(list string, name []byte) bool {
	return !bytes.ContainsRune(name, ' ') && strings.Contains(list, " "+string(name)+" ")
}

// member returns the raw value of one member.
func member(object []byte, want string) (value string) {
	jsonrpc.Fields(object, func(name, v []byte) bool {
		if string(name) == want {
			value = string(v)
			return false
		}
		return true
	})
	return value
}

// filter copies an object without the members that keep refuses, with the values that
// rewrite makes of those it has; nil leaves them. What is not an object is returned as it is.
func filter(object []byte, keep func(name []byte) bool, rewrite func(name, value []byte) []byte) []byte {
	out := append(make([]byte, 0, len(object)), '{')
	ok := jsonrpc.Fields(object, func(name, value []byte) bool {
		if !keep(name) {
			return true
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(jsonrpc.AppendString(out, string(name)), ':')
		if rewrite != nil {
			value = rewrite(name, value)
		}
		out = append(out, value...)
		return true
	})
	if !ok {
		return object
	}
	return append(out, '}')
}

// each rewrites the elements of an array.
func each(array []byte, f func([]byte) []byte) []byte {
	list, ok := jsonrpc.Elements(nil, array)
	if !ok {
		return array
	}
	out := append(make([]byte, 0, len(array)), '[')
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, f(e)...)
	}
	return append(out, ']')
}
