package store

import "encoding/binary"

// The keys, by their first byte. Numbers are big-endian, so that rows are in the order
// of the chain: tables of old blocks are never written again, and one range deletion
// prunes them.
const (
	keyBlock    = 'b' // number, branch -> header and what else there is one of in a block
	keyMark     = 'c' // number -> which branch is canonical, and who vouches for it
	keySenders  = 'f' // number, branch -> 20 bytes for each transaction
	keyHash     = 'h' // hash -> number, branch
	keyHashes   = 'k' // number, branch -> hashes of the transactions, 32 bytes each
	keyLogs     = 'l' // section, key of an address or a topic -> blocks and transactions
	keyNote     = 'n' // what the user of the store noted
	keyOrphan   = 'o' // number, branch of each block that is not canonical
	keyReceipt  = 'r' // number, branch, index -> receipt
	keyState    = 's' // first and newest block
	keyTx       = 't' // number, branch, index -> transaction
	keyIdentity = 'v' // format, chain id, genesis and stack
	keyLookup   = 'x' // first 8 bytes of a transaction's hash -> number, index
)

// byHeight are the kinds of rows that begin with a height.
var byHeight = [...]byte{keyBlock, keyMark, keySenders, keyHashes, keyOrphan, keyReceipt, keyTx}

// maxIndex is how many transactions a block may have: an index takes three bytes,
// because blocks of layer 2 may have more than two can count.
const maxIndex = 1 << 24

// heightKey begins every key of a kind at a height.
func heightKey(kind byte, number uint64) []byte {
	key := make([]byte, 0, 13)
	return binary.BigEndian.AppendUint64(append(key, kind), number)
}

// placeKey is the key of a row that a block has one of.
func placeKey(kind byte, number uint64, branch uint8) []byte {
	return append(heightKey(kind, number), branch)
}

// indexKey is the key of a transaction or a receipt.
func indexKey(kind byte, number uint64, branch uint8, index int) []byte {
	return append(placeKey(kind, number, branch), byte(index>>16), byte(index>>8), byte(index))
}

// afterPlace is the first key behind all rows of a kind of a block.
func afterPlace(kind byte, number uint64, branch uint8) []byte {
	if branch == 255 {
		return afterHeight(kind, number)
	}
	return placeKey(kind, number, branch+1)
}

// afterHeight is the first key behind all rows of a kind at a height.
func afterHeight(kind byte, number uint64) []byte {
	if number == 1<<64-1 {
		return []byte{kind + 1}
	}
	return heightKey(kind, number+1)
}

func hashKey(hash [32]byte) []byte { return append([]byte{keyHash}, hash[:]...) }

func lookupKey(tx []byte) []byte { return append([]byte{keyLookup}, tx[:8]...) }

// numberOf reads the height of a key that has one.
func numberOf(key []byte) uint64 { return binary.BigEndian.Uint64(key[1:]) }

// placeOf reads number and branch of a key that has both.
func placeOf(key []byte) (number uint64, branch uint8, ok bool) {
	if len(key) < 10 {
		return 0, 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), key[9], true
}

// indexOf reads the index of a transaction's or a receipt's key.
func indexOf(key []byte) (index int, ok bool) {
	if len(key) != 13 {
		return 0, false
	}
	return int(key[10])<<16 | int(key[11])<<8 | int(key[12]), true
}
