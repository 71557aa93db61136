package logindex

import (
	"crypto/sha256"
)

// sectionBits is how many bits of a block's number are its place in a section.
const sectionBits = 12

// SectionBlocks is how many blocks a section has.
const SectionBlocks = 1 << sectionBits

// Section is the section that a block is in.
func Section(number uint64) uint64 { return number >> sectionBits }

// KeyBytes is the size of a key. Sections of a busy chain have some million values, so two
// of them share a key in one section of a hundred. That costs a look at a transaction.
const KeyBytes = 6

// Key stands for an address, or for a topic at one position. It is a part of a hash, so that
// values that begin or end alike, as numbers and short strings do, have different keys.
type Key [KeyBytes]byte

// MaxTopics is how many topics a log can have.
const MaxTopics = 4

// AddressKey is the key of an address.
func AddressKey(address []byte) Key { return keyOf(0, address) }

// TopicKey is the key of a topic at a position, the first of which is 0.
func TopicKey(position int, topic []byte) Key { return keyOf(byte(position+1), topic) }

func keyOf(kind byte, value []byte) Key {
	var room [33]byte
	room[0] = kind
	n := copy(room[1:], value)
	sum := sha256.Sum256(room[:1+n])
	return Key(sum[:])
}
