package verify

import (
	"encoding/hex"

	"github.com/nodegate/nodegate/internal/rpc/upstream/hexjson"
)

// The fields of a header and of a block. Those before blockHash are hashed, in this order.
const (
	parentHash = iota
	sha3Uncles
	miner
	stateRoot
	transactionsRoot
	receiptsRoot
	logsBloom
	difficulty
	blockNumber
	gasLimit
	gasUsed
	timestamp
	extraData
	mixHash
	blockNonce
	baseFeePerGas // optional from here on, in this order
	withdrawalsRoot
	blobGasUsed
	excessBlobGas
	parentBeaconBlockRoot
	requestsHash
	blockAccessListHash
	slotNumber
	blockHash // not hashed from here on
	blockTransactions
	uncles
	withdrawals
	size
	totalDifficulty
	blockFields
)

// quantities are the header's fields that are numbers; the others are bytes.
const quantities = 1<<difficulty | 1<<blockNumber | 1<<gasLimit | 1<<gasUsed | 1<<timestamp | 1<<baseFeePerGas | 1<<blobGasUsed | 1<<excessBlobGas | 1<<slotNumber

var blockNames = names{
	list: []string{
		"parentHash", "sha3Uncles", "miner", "stateRoot", "transactionsRoot", "receiptsRoot", "logsBloom", "difficulty", "number", "gasLimit", "gasUsed",
		"timestamp", "extraData", "mixHash", "nonce", "baseFeePerGas", "withdrawalsRoot", "blobGasUsed", "excessBlobGas", "parentBeaconBlockRoot",
		"requestsHash", "blockAccessListHash", "slotNumber", "hash", "transactions", "uncles", "withdrawals", "size", "totalDifficulty",
	},
	at: blockField,
}

func blockField(name []byte) int {
	switch string(name) {
	case "parentHash":
		return parentHash
	case "sha3Uncles":
		return sha3Uncles
	case "miner":
		return miner
	case "stateRoot":
		return stateRoot
	case "transactionsRoot":
		return transactionsRoot
	case "receiptsRoot":
		return receiptsRoot
	case "logsBloom":
		return logsBloom
	case "difficulty":
		return difficulty
	case "number":
		return blockNumber
	case "gasLimit":
		return gasLimit
	case "gasUsed":
		return gasUsed
	case "timestamp":
		return timestamp
	case "extraData":
		return extraData
	case "mixHash":
		return mixHash
	case "nonce":
		return blockNonce
	case "baseFeePerGas":
		return baseFeePerGas
	case "withdrawalsRoot":
		return withdrawalsRoot
	case "blobGasUsed":
		return blobGasUsed
	case "excessBlobGas":
		return excessBlobGas
	case "parentBeaconBlockRoot":
		return parentBeaconBlockRoot
	case "requestsHash":
		return requestsHash
	case "blockAccessListHash":
		return blockAccessListHash
	case "slotNumber":
		return slotNumber
	case "hash":
		return blockHash
	case "transactions":
		return blockTransactions
	case "uncles":
		return uncles
	case "withdrawals":
		return withdrawals
	case "size":
		return size
	case "totalDifficulty":
		return totalDifficulty
	}
	return -1
}

// Header is what is kept of a header that hashes to its hash.
type Header struct {
	Hash                                      [32]byte
	Number                                    uint64
	StateRoot, TransactionsRoot, ReceiptsRoot [32]byte
	Bloom                                     [bloomBytes]byte
}

// The hashes of nothing: of an empty trie, of no uncles, and of no code.
var (
	emptyRoot   = mustHash("56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421")
	emptyUncles = mustHash("1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347")
	emptyCode   = mustHash("c5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470")
)

func mustHash(text string) (h [32]byte) {
	if n, err := hex.Decode(h[:], []byte(text)); err != nil || n != len(h) {
		panic(text)
	}
	return h
}

// header checks that a header hashes to its hash.
func (s *scratch) header(o *object) (*Header, *Finding) {
	h := &Header{}
	if !fixed(h.Hash[:], o.fields[blockHash]) {
		return nil, falsely(Identity, "the block has no hash")
	}
	claim := Finding{Kind: HeaderHash, Claim: h.Hash, Shape: o.shape() & shapeOfHeader, Foreign: o.strange || !wholeHeader(o)}
	claim.Shape ^= o.other
	var ok bool
	if s.buf, ok = encodeHeader(s.buf[:0], o); !ok || *s.hash(s.buf) != h.Hash {
		claim.What = "the block's fields don't hash to its hash"
		return nil, &claim
	}
	h.Number, ok = hexjson.Quantity(o.fields[blockNumber])
	if !ok || !fixed(h.StateRoot[:], o.fields[stateRoot]) || !fixed(h.TransactionsRoot[:], o.fields[transactionsRoot]) ||
		!fixed(h.ReceiptsRoot[:], o.fields[receiptsRoot]) || !fixed(h.Bloom[:], o.fields[logsBloom]) {
		claim.What = "the block's fields have the wrong length"
		return nil, &claim
	}
	return h, nil
}

const shapeOfHeader = 1<<blockHash - 1

// wholeHeader tells whether all fields are there that every Ethereum header has.
func wholeHeader(o *object) bool {
	for _, f := range o.fields[:baseFeePerGas] {
		if f == nil {
			return false
		}
	}
	return true
}

// encodeHeader appends the RLP of a header. A field that is left out before one that is
// there is an empty string, as Geth has it.
func encodeHeader(dst []byte, o *object) (out []byte, ok bool) {
	last := blockHash
	for last > baseFeePerGas && o.fields[last-1] == nil {
		last--
	}
	start, ok := len(dst), true
	for i, f := range o.fields[:last] {
		switch {
		case !ok:
			return dst, false
		case f == nil && i >= baseFeePerGas:
			dst = append(dst, shortString)
		case quantities>>i&1 != 0:
			dst, ok = appendQuantity(dst, f)
		default:
			dst, ok = appendData(dst, f)
		}
	}
	return wrap(dst, start), ok
}
