package store

import "encoding/binary"

// The keys, by their first byte. Numbers are big-endian, so that rows are in the order
// of the chain: tables of old blocks are never written again, and one range deletion
// prunes them.
const (
	keyBlock    = 'b' // number, branch, part -> the parts of blocks
	keyMark     = 'c' // number -> which branch is canonical, and who vouches for it
	keyHoles    = 'g' // section -> blocks whose logs may be unknown
	keyHash     = 'h' // hash -> number, branch
	keyLogs     = 'l' // section, key of an address or a topic -> blocks and transactions
	keyNote     = 'n' // what the user of the store noted
	keyOrphan   = 'o' // number, branch of each block that is not canonical
	keyState    = 's' // first and newest block
	keyIdentity = 'v' // format, chain id, genesis and stack
	keyLookup   = 'x' // first 8 bytes of a transaction's hash -> number, index
)

// part is what comes behind number and branch in a key of a block. All rows of a block lie
// together: whoever looks for one row of an old block needs others of it too, and reading
// what isn't in memory is what such a lookup costs. Canonical pointers are apart: they are
// small enough to stay in memory, and some go through all of them.
type part byte

// The parts of a block, in the order in which they lie.
const (
	partHead    part = iota // header and what else there is one of in a block
	partSenders             // 20 bytes for each transaction
	partHashes              // of the transactions, 32 bytes each
	partTx                  // index -> transaction
	partReceipt             // index -> receipt
)

// byHeight are the kinds of rows that begin with a height.
var byHeight = [...]byte{keyBlock, keyMark, keyOrphan}

// maxIndex is how many transactions a block may have: an index takes three bytes,
// because blocks of layer 2 may have more than two can count.
const maxIndex = 1 << 24

// heightKey begins every key of a kind at a height.
func heightKey(kind byte, number uint64) []byte {
	key := make([]byte, 0, 14)
	return binary.BigEndian.AppendUint64(append(key, kind), number)
}

// afterHeight is the first key behind all rows of a kind at a height.
func afterHeight(kind byte, number uint64) []byte {
	if number == 1<<64-1 {
		return []byte{kind + 1}
	}
	return heightKey(kind, number+1)
}

func markKey(number uint64) []byte { return heightKey(keyMark, number) }

func orphanKey(number uint64, branch uint8) []byte {
	return append(heightKey(keyOrphan, number), branch)
}

// blockKey begins every key of a block's parts.
func blockKey(number uint64, branch uint8) []byte {
	return append(heightKey(keyBlock, number), branch)
}

// afterBlock is the first key behind all parts of a block.
func afterBlock(number uint64, branch uint8) []byte {
	if branch == 255 {
		return afterHeight(keyBlock, number)
	}
	return blockKey(number, branch+1)
}

// partKey is the key of a part that a block has one of, and begins those of the others.
func partKey(p part, number uint64, branch uint8) []byte {
	return append(blockKey(number, branch), byte(p))
}

// afterPart is the first key behind a part of a block.
func afterPart(p part, number uint64, branch uint8) []byte { return partKey(p+1, number, branch) }

// indexKey is the key of a transaction or a receipt.
func indexKey(p part, number uint64, branch uint8, index int) []byte {
	return append(partKey(p, number, branch), byte(index>>16), byte(index>>8), byte(index))
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

// partOf reads which part of a block a row is. It is false for other kinds of rows.
func partOf(key []byte) (p part, ok bool) {
	if len(key) < 11 || key[0] != keyBlock {
		return 0, false
	}
	return part(key[10]), true
}

// indexOf reads the index of a transaction's or a receipt's key.
func indexOf(key []byte) (index int, ok bool) {
	if len(key) != 14 {
		return 0, false
	}
	return int(key[11])<<16 | int(key[12])<<8 | int(key[13]), true
}
