package eth

import (
	"strconv"
)

const noValue = "null"

var (
	fixHash    = sized(hashDigits)
	fixAddress = sized(addressDigits)
)

// transactionShape is a transaction as Geth has it, and what other clients add:
// the first four are Parity's and of those who took after it.
var transactionShape = newShape(
	field{name: "creates", drop: true}, field{name: "publicKey", drop: true}, field{name: "standardV", drop: true},
	field{name: "condition", drop: true}, field{name: "raw", drop: true},
	field{name: "data", fix: fixBytes}, // Nethermind's second name for input
	field{name: "blockHash", fix: fixHash, null: noValue}, field{name: "blockNumber", fix: fixQuantity, null: noValue},
	field{name: "transactionIndex", fix: fixQuantity, null: noValue}, field{name: "to", fix: fixAddress, null: noValue},
	field{name: "from", fix: fixAddress}, field{name: "hash", fix: fixHash}, field{name: "input", fix: fixBytes},
	field{name: "gas", fix: fixQuantity}, field{name: "nonce", fix: fixQuantity}, field{name: "value", fix: fixQuantity},
	field{name: "gasPrice", fix: fixQuantity}, field{name: "maxFeePerGas", fix: fixQuantity},
	field{name: "maxPriorityFeePerGas", fix: fixQuantity}, field{name: "maxFeePerBlobGas", fix: fixQuantity},
	field{name: "type", fix: fixQuantity}, field{name: "chainId", fix: fixQuantity}, field{name: "accessList", fix: fixAccessList},
	field{name: "blobVersionedHashes", fix: listOf(fixHash)}, field{name: "authorizationList", fix: listOf(asIs)},
	field{name: "v", fix: fixQuantity}, field{name: "r", fix: fixQuantity}, field{name: "s", fix: fixQuantity},
	field{name: "yParity", fix: fixQuantity}, field{name: "blockTimestamp", fix: fixQuantity},
)

var fixAccessList = listOf(func(entry []byte) ([]byte, bool) {
	var r record
	ok := r.read(accessShape, entry)
	return r.bytes(), ok
})

var accessShape = newShape(
	field{name: "address", fix: fixAddress}, field{name: "storageKeys", fix: listOf(fixHash), null: "[]"},
)

func asIs(value []byte) ([]byte, bool) { return value, true }

// fixTransaction puts a transaction into Geth's form.
func fixTransaction(raw []byte) ([]byte, bool) {
	var r record
	if !r.read(transactionShape, raw) || !r.has("hash") {
		return nil, false
	}
	if !r.has("input") {
		r.set("input", r.get("data"))
	}
	r.set("data", "")
	if !r.has("type") {
		r.set("type", r.guessType())
	}
	switch r.get("type") {
	case typeLegacy:
		r.legacy()
	case `"0x1"`, typeDynamic, typeBlob, `"0x4"`: // rollups have types of their own
		r.typed()
	}
	// Of a transaction that waits, nobody knows yet what it will pay.
	if !r.has("gasPrice") && !r.has("blockHash") {
		r.set("gasPrice", r.get("maxFeePerGas"))
	}
	return r.bytes(), true
}

// guessType tells a transaction's type by its members, the newest first.
func (r *record) guessType() string {
	switch {
	case r.has("authorizationList"):
		return `"0x4"`
	case r.has("blobVersionedHashes"):
		return typeBlob
	case r.has("maxFeePerGas"):
		return typeDynamic
	case r.has("accessList"):
		return `"0x1"`
	}
	return typeLegacy
}

// The values of v in legacy transactions: two without a chain, and from EIP-155 on
// twice the chain's id and more.
const (
	unprotectedV = 28
	protectedV   = 35
)

// legacy settles what belongs to transactions without a type: no list, no parity,
// and a chain only where the signature names it.
func (r *record) legacy() {
	r.set("accessList", "")
	r.set("yParity", "")
	v, ok := r.number("v")
	switch {
	case !ok:
	case v <= unprotectedV:
		r.set("chainId", "")
	case v >= protectedV && !r.has("chainId"):
		r.set("chainId", `"`+quoted((v-protectedV)/2)+`"`)
	}
}

// typed settles what belongs to the typed ones: a list, and the parity under both names.
func (r *record) typed() {
	if !r.has("accessList") {
		r.set("accessList", "[]")
	}
	if v, ok := r.number("v"); ok && (v == unprotectedV-1 || v == unprotectedV) {
		r.set("v", `"`+quoted(v-(unprotectedV-1))+`"`)
	}
	switch parity := r.get("yParity"); {
	case parity == "" && r.has("v"):
		r.set("yParity", r.get("v"))
	case parity != "" && !r.has("v"):
		r.set("v", parity)
	}
}

// number reads a member that fits 64 bits.
func (r *record) number(name string) (uint64, bool) {
	text, err := strconv.Unquote(r.get(name))
	if err != nil {
		return 0, false
	}
	return number(text)
}
