package verify

import (
	"encoding/binary"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// The fields of a transaction.
const (
	txHash = iota
	txType
	txNonce
	txGasPrice
	txTip
	txFeeCap
	txGas
	txTo
	txValue
	txInput
	txData // as some nodes call the input, or name it twice
	txV
	txR
	txS
	txYParity
	txChainID
	txAccessList
	txBlobFeeCap
	txBlobHashes
	txAuthorizations
	txBlockHash
	txBlockNumber
	txIndex
	txFrom
	txSourceHash // of OP stack deposits, with the next two
	txMint
	txSystem
	txFields
)

var transactionNames = names{
	list: []string{
		"hash", "type", "nonce", "gasPrice", "maxPriorityFeePerGas", "maxFeePerGas", "gas", "to", "value", "input", "data", "v", "r", "s", "yParity", "chainId",
		"accessList", "maxFeePerBlobGas", "blobVersionedHashes", "authorizationList", "blockHash", "blockNumber", "transactionIndex", "from",
		"sourceHash", "mint", "isSystemTx",
	},
	at: transactionField,
}

func transactionField(name []byte) int {
	switch string(name) {
	case "hash":
		return txHash
	case "type":
		return txType
	case "nonce":
		return txNonce
	case "gasPrice":
		return txGasPrice
	case "maxPriorityFeePerGas":
		return txTip
	case "maxFeePerGas":
		return txFeeCap
	case "gas":
		return txGas
	case "to":
		return txTo
	case "value":
		return txValue
	case "input":
		return txInput
	case "data":
		return txData
	case "v":
		return txV
	case "r":
		return txR
	case "s":
		return txS
	case "yParity":
		return txYParity
	case "chainId":
		return txChainID
	case "accessList":
		return txAccessList
	case "maxFeePerBlobGas":
		return txBlobFeeCap
	case "blobVersionedHashes":
		return txBlobHashes
	case "authorizationList":
		return txAuthorizations
	case "blockHash":
		return txBlockHash
	case "blockNumber":
		return txBlockNumber
	case "transactionIndex":
		return txIndex
	case "from":
		return txFrom
	case "sourceHash":
		return txSourceHash
	case "mint":
		return txMint
	case "isSystemTx":
		return txSystem
	}
	return -1
}

// The types of transactions that can be encoded.
const (
	legacyType  = 0
	accessType  = 1
	feeType     = 2
	blobType    = 3
	setCodeType = 4
	depositType = 0x7e // of the OP stack
	syncType    = 0x7f // of Polygon: state that comes from the base chain
)

// typeOf is a transaction's or receipt's type. Old nodes leave out that of legacy ones.
func typeOf(token []byte) (kind uint64, ok bool) {
	if token == nil {
		return legacyType, true
	}
	return hexjson.Quantity(token)
}

// transaction checks that a transaction hashes to its hash, and appends what it is
// encoded as to dst. own transactions were made by the chain, outside the list that the
// header commits to.
func (s *scratch) transaction(dst []byte, o *object) (out []byte, own bool, f *Finding) {
	claim := Finding{Kind: TransactionHash}
	kind, ok := typeOf(o.fields[txType])
	if !fixed(claim.Claim[:], o.fields[txHash]) || !ok {
		return dst, false, falsely(Identity, "the transaction has no hash or no type")
	}
	start := len(dst)
	out, known, ok := encodeTransaction(dst, o, kind)
	if known && ok && *s.hash(out[start:]) == claim.Claim {
		return out, false, nil
	}
	if kind == legacyType && s.stateSync(o, &claim.Claim) {
		return dst, true, nil
	}
	claim.Foreign, claim.Shape = !known || o.strange, kind<<32^o.other
	claim.What = "the transaction's fields don't hash to its hash"
	if !known {
		claim.What = "the transaction has a type that is not known"
	}
	return dst, false, &claim
}

// stateSync tells whether a transaction is one of those that Polygon's nodes show for
// state from the base chain. They were never sent, and their hash names their block.
func (s *scratch) stateSync(o *object, hash *[32]byte) bool {
	number, ok := hexjson.Quantity(o.fields[txBlockNumber])
	var block [32]byte
	if !ok || !fixed(block[:], o.fields[txBlockHash]) {
		return false
	}
	return *s.hash(stateSyncText(number, block)) == *hash
}

func stateSyncText(number uint64, block [32]byte) []byte {
	text := append(make([]byte, 0, 64), "matic-bor-receipt-"...)
	return append(binary.BigEndian.AppendUint64(text, number), block[:]...)
}

// encodeTransaction appends a transaction of a type that is known.
func encodeTransaction(dst []byte, o *object, kind uint64) (out []byte, known, ok bool) {
	if !consistentInput(o) {
		return dst, kind <= setCodeType, false
	}
	w := writer{out: dst, ok: true}
	if kind != legacyType {
		w.out = append(w.out, byte(kind))
	}
	start := len(w.out)
	switch kind {
	case legacyType:
		w.legacy(o)
	case accessType, feeType, blobType, setCodeType:
		w.typed(o, kind)
	case depositType:
		if o.fields[txSourceHash] == nil {
			return dst, false, false // another chain's
		}
		w.deposit(o)
	default:
		return dst, false, false
	}
	return wrap(w.out, start), true, w.ok
}

// consistentInput tells whether fields that are there under two names are the same.
func consistentInput(o *object) bool {
	input, data := o.fields[txInput], o.fields[txData]
	if input == nil {
		o.fields[txInput] = data
	} else if data != nil && !same(input, data) {
		return false
	}
	kind, _ := typeOf(o.fields[txType])
	if kind == legacyType && !sameChain(o) {
		return false
	}
	v, parity := o.fields[txV], o.fields[txYParity]
	if v == nil {
		o.fields[txV] = parity
	} else if parity != nil && kind != legacyType && !same(v, parity) {
		return false
	}
	return true
}

// sameChain tells whether the chain id that nodes show with a legacy transaction is the
// one in its signature. One that doesn't fit 64 bits is not compared.
func sameChain(o *object) bool {
	const protected = 35 // EIP-155
	v, ok := hexjson.Quantity(o.fields[txV])
	shown, given := hexjson.Quantity(o.fields[txChainID])
	return !ok || !given || v < protected || shown == (v-protected)/2
}

// writer appends fields until one can't be read.
type writer struct {
	out []byte
	ok  bool
}

func (w *writer) quantity(token []byte) {
	if w.ok {
		w.out, w.ok = appendQuantity(w.out, token)
	}
}

func (w *writer) data(token []byte) {
	if w.ok {
		w.out, w.ok = appendData(w.out, token)
	}
}

// address writes an address, or an empty string where there is none.
func (w *writer) address(token []byte) {
	if token == nil {
		w.out = append(w.out, shortString)
		return
	}
	w.data(token)
}

// numbers writes quantities of an object, in order.
func (w *writer) numbers(o *object, fields ...int) {
	for _, f := range fields {
		w.quantity(o.fields[f])
	}
}

func (w *writer) legacy(o *object) {
	w.numbers(o, txNonce, txGasPrice, txGas)
	w.address(o.fields[txTo])
	w.quantity(o.fields[txValue])
	w.data(o.fields[txInput])
	w.numbers(o, txV, txR, txS)
}

func (w *writer) typed(o *object, kind uint64) {
	w.numbers(o, txChainID, txNonce)
	if kind == accessType {
		w.quantity(o.fields[txGasPrice])
	} else {
		w.numbers(o, txTip, txFeeCap)
	}
	w.quantity(o.fields[txGas])
	w.address(o.fields[txTo])
	w.quantity(o.fields[txValue])
	w.data(o.fields[txInput])
	if o.fields[txAccessList] == nil { // Nethermind leaves out an empty one
		w.out = append(w.out, shortList)
	} else {
		w.list(o.fields[txAccessList], w.access)
	}
	switch kind {
	case blobType:
		w.quantity(o.fields[txBlobFeeCap])
		w.list(o.fields[txBlobHashes], w.data)
	case setCodeType:
		w.list(o.fields[txAuthorizations], w.authorization)
	}
	w.numbers(o, txV, txR, txS)
}

func (w *writer) deposit(o *object) {
	w.data(o.fields[txSourceHash])
	w.data(o.fields[txFrom])
	w.address(o.fields[txTo])
	if o.fields[txMint] == nil {
		w.out = append(w.out, shortString)
	} else {
		w.quantity(o.fields[txMint])
	}
	w.numbers(o, txValue, txGas)
	if string(o.fields[txSystem]) == "true" {
		w.out = append(w.out, 1)
	} else {
		w.out = append(w.out, shortString)
	}
	w.data(o.fields[txInput])
}

// list writes a list whose elements a function writes.
func (w *writer) list(raw []byte, element func([]byte)) {
	start := len(w.out)
	var room [16][]byte
	list, ok := elements(room[:0], raw)
	w.ok = w.ok && ok && raw != nil
	for _, e := range list {
		element(e)
	}
	w.out = wrap(w.out, start)
}

// members finds the members of a small object. One that is there twice is refused.
func members(raw []byte, list ...string) (values [8][]byte, ok bool) {
	ok = jsonrpc.Fields(raw, func(name, value []byte) bool {
		for i, n := range list {
			if string(name) == n {
				if values[i] != nil {
					return false
				}
				values[i] = value
			}
		}
		return true
	})
	return values, ok
}

func (w *writer) access(raw []byte) {
	start := len(w.out)
	v, ok := members(raw, "address", "storageKeys")
	w.ok = w.ok && ok
	w.data(v[0])
	w.list(v[1], w.data)
	w.out = wrap(w.out, start)
}

func (w *writer) authorization(raw []byte) {
	start := len(w.out)
	v, ok := members(raw, "chainId", "address", "nonce", "yParity", "r", "s")
	w.ok = w.ok && ok
	w.quantity(v[0])
	w.data(v[1])
	for _, token := range v[2:6] {
		w.quantity(token)
	}
	w.out = wrap(w.out, start)
}
