package eth

import (
	"slices"
	"strings"
)

// headFields are a header as Geth has it. What is dropped are members that single
// clients have: the sum of difficulties, which Geth ended with v1.14.11, and Parity's.
var headFields = []field{
	{name: "totalDifficulty", drop: true}, {name: "author", drop: true}, {name: "sealFields", drop: true},
	{name: "number", fix: fixQuantity}, {name: "hash", fix: fixHash, null: noValue}, {name: "parentHash", fix: fixHash},
	{name: "nonce", fix: fixNonce, null: noValue}, {name: "miner", fix: fixAddress, null: noValue},
	{name: "difficulty", fix: fixQuantity}, {name: "gasLimit", fix: fixQuantity}, {name: "gasUsed", fix: fixQuantity},
	{name: "timestamp", fix: fixQuantity}, {name: "baseFeePerGas", fix: fixQuantity}, {name: "blobGasUsed", fix: fixQuantity},
	{name: "excessBlobGas", fix: fixQuantity}, {name: "extraData", fix: fixBytes}, {name: "logsBloom", fix: sized(2 * bloomBytes), null: noValue},
	{name: "mixHash", fix: fixHash}, {name: "sha3Uncles", fix: fixHash}, {name: "stateRoot", fix: fixHash},
	{name: "transactionsRoot", fix: fixHash}, {name: "receiptsRoot", fix: fixHash}, {name: "withdrawalsRoot", fix: fixHash},
	{name: "parentBeaconBlockRoot", fix: fixHash}, {name: "requestsHash", fix: fixHash},
}

var (
	headShape  = newShape(headFields...)
	blockShape = newShape(append(slices.Clip(headFields),
		field{name: "size", fix: fixQuantity}, field{name: "uncles", fix: listOf(fixHash), null: "[]"},
		field{name: "transactions", fix: listOf(fixEntry), null: "[]"}, field{name: "withdrawals", fix: listOf(fixWithdrawal)})...)
	withdrawalShape = newShape(
		field{name: "index", fix: fixQuantity}, field{name: "validatorIndex", fix: fixQuantity},
		field{name: "address", fix: fixAddress}, field{name: "amount", fix: fixQuantity})
)

// fixBlock puts a block into Geth's form.
func fixBlock(raw []byte) ([]byte, bool) { return fixRecord(blockShape, raw, "parentHash") }

func fixWithdrawal(raw []byte) ([]byte, bool) { return fixRecord(withdrawalShape, raw, "address") }

// fixRecord puts an object right that must have one member.
func fixRecord(s *shape, raw []byte, must string) ([]byte, bool) {
	var r record
	ok := r.read(s, raw) && r.has(must)
	return r.bytes(), ok
}

// fixEntry is a transaction of a block: whole, or its hash.
func fixEntry(raw []byte) ([]byte, bool) {
	if len(raw) > 0 && raw[0] == '"' {
		return fixHash(raw)
	}
	return fixTransaction(raw)
}

const nonceDigits = 16

// fixNonce fills a block's nonce up to its eight bytes.
func fixNonce(value []byte) ([]byte, bool) {
	digits, ok := hexDigits(value)
	if short := nonceDigits - len(digits); ok && short > 0 {
		value = []byte(`"0x` + strings.Repeat("0", short) + digits + `"`)
	}
	return sized(nonceDigits)(value)
}

// orAsIs leaves what can't be put right as it came: beyond the nine methods, networks
// may have forms of their own.
func orAsIs(fix fixer) fixer {
	return func(raw []byte) ([]byte, bool) {
		if fixed, ok := fix(raw); ok {
			return fixed, true
		}
		return raw, true
	}
}

// BlockForm puts a block of a remote node into Geth's form. Not ok is what can't be one.
func BlockForm(raw []byte) ([]byte, bool) { return fixBlock(raw) }

// ReceiptsForm does the same for a list of receipts.
func ReceiptsForm(raw []byte) ([]byte, bool) { return fixReceipts(raw) }

// HeadEvent is a header of a remote node, as subscribers get it.
func HeadEvent(raw []byte) []byte {
	fixed, ok := fixRecord(headShape, raw, "parentHash")
	if !ok {
		return raw
	}
	return fixed
}

// ReceiptEvent is a receipt of a remote node, as subscribers get it.
func ReceiptEvent(raw []byte) []byte {
	fixed, ok := fixReceipt(raw)
	if !ok {
		return raw
	}
	return fixed
}

// LogEvent is a log of a remote node, as subscribers get it.
func LogEvent(raw []byte) []byte {
	fixed, ok := fixLog(raw)
	if !ok {
		return raw
	}
	return fixed
}
