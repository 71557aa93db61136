package eth

import (
	"encoding/hex"

	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

const typeBlob = `"0x3"`

// receiptShape is a receipt as Geth has it, and what other clients add: the removed
// and error members are Nethermind's, the reason Besu's, the time anvil's.
var receiptShape = newShape(
	field{name: "removed", drop: true}, field{name: "error", drop: true}, field{name: "revertReason", drop: true},
	field{name: "blockTimestamp", drop: true}, field{name: "authorizationList", drop: true},
	field{name: "gasPrice", fix: fixQuantity}, // what effectiveGasPrice was before it had a name
	field{name: "blockHash", fix: fixHash}, field{name: "blockNumber", fix: fixQuantity},
	field{name: "transactionHash", fix: fixHash}, field{name: "transactionIndex", fix: fixQuantity},
	field{name: "from", fix: fixAddress}, field{name: "to", fix: fixAddress, null: noValue},
	field{name: "contractAddress", fix: fixAddress, null: noValue},
	field{name: "cumulativeGasUsed", fix: fixQuantity}, field{name: "gasUsed", fix: fixQuantity},
	field{name: "effectiveGasPrice", fix: fixQuantity}, field{name: "blobGasUsed", fix: fixQuantity},
	field{name: "blobGasPrice", fix: fixQuantity}, field{name: "type", fix: fixQuantity, null: typeLegacy},
	field{name: "status", fix: fixStatus}, field{name: "root", fix: fixBytes},
	field{name: "logs", fix: listOf(fixLog), null: "[]"}, field{name: "logsBloom", fix: sized(2 * bloomBytes)},
)

// logShape is a log of a receipt. What is dropped is Parity's.
var logShape = newShape(
	field{name: "transactionLogIndex", drop: true}, field{name: "type", drop: true}, field{name: "logType", drop: true},
	field{name: "address", fix: fixAddress}, field{name: "topics", fix: listOf(fixHash), null: "[]"},
	field{name: "data", fix: fixBytes, null: `"0x"`}, field{name: "blockHash", fix: fixHash, null: noValue},
	field{name: "blockNumber", fix: fixQuantity, null: noValue}, field{name: "blockTimestamp", fix: fixQuantity},
	field{name: "transactionHash", fix: fixHash, null: noValue}, field{name: "transactionIndex", fix: fixQuantity, null: noValue},
	field{name: "logIndex", fix: fixQuantity, null: noValue}, field{name: "removed", fix: fixFlag, null: "false"},
)

func fixLog(raw []byte) ([]byte, bool) {
	var r record
	ok := r.read(logShape, raw) && r.has("address")
	return r.bytes(), ok
}

var fixReceipts = listOf(fixReceipt)

// fixReceipt puts a receipt into Geth's form.
func fixReceipt(raw []byte) ([]byte, bool) {
	var r record
	if !r.read(receiptShape, raw) || !r.has("transactionHash") {
		return nil, false
	}
	if !r.has("effectiveGasPrice") {
		r.set("effectiveGasPrice", r.get("gasPrice"))
	}
	r.set("gasPrice", "")
	if r.has("status") {
		r.set("root", "") // a receipt has one or the other
	}
	if r.get("type") != typeBlob {
		r.set("blobGasUsed", "")
		r.set("blobGasPrice", "")
	}
	if !r.has("logsBloom") {
		r.set("logsBloom", bloomOf(r.values[r.index["logs"]]))
	}
	return r.bytes(), true
}

const bloomBytes = 256

// bloomOf computes the filter over the addresses and topics of logs that were read.
func bloomOf(logs []byte) string {
	var bloom [bloomBytes]byte
	list, _ := jsonrpc.Elements(nil, logs)
	for _, log := range list {
		jsonrpc.Fields(log, func(name, value []byte) bool {
			switch string(name) {
			case "address":
				addToBloom(&bloom, value)
			case "topics":
				topics, _ := jsonrpc.Elements(nil, value)
				for _, topic := range topics {
					addToBloom(&bloom, topic)
				}
			}
			return true
		})
	}
	return `"0x` + hex.EncodeToString(bloom[:]) + `"`
}

// addToBloom sets the three bits of a value: each is eleven bits of its hash.
func addToBloom(bloom *[bloomBytes]byte, value []byte) {
	digits, _ := hexDigits(value)
	content, _ := hex.DecodeString(digits)
	hash := crypto.Keccak256(content)
	for i := 0; i < 6; i += 2 {
		bit := (uint(hash[i])<<8 | uint(hash[i+1])) & (8*bloomBytes - 1)
		bloom[bloomBytes-1-bit/8] |= 1 << (bit % 8)
	}
}
