package form

import (
	"encoding/binary"

	"github.com/ethereum/go-ethereum/rlp"
)

// The sizes of what headers, transactions and receipts are made of, in bytes.
const (
	addressBytes = 20
	hashBytes    = 32
	wordBytes    = 32 // the largest number
	smallBytes   = 8  // the largest number that go-ethereum keeps in a uint64
)

// cursor reads the elements of a list one after the other. After the first one that is not
// what was expected it is bad, and everything else it returns is empty.
type cursor struct {
	rest []byte
	bad  bool
}

// done tells whether everything was read and nothing was wrong.
func (c *cursor) done() bool { return !c.bad && len(c.rest) == 0 }

// more tells whether there is another element.
func (c *cursor) more() bool { return !c.bad && len(c.rest) > 0 }

func (c *cursor) fail() []byte {
	c.bad, c.rest = true, nil
	return nil
}

// data reads a string.
func (c *cursor) data() []byte {
	kind, content, rest, err := rlp.Split(c.rest)
	if err != nil || kind == rlp.List || c.bad {
		return c.fail()
	}
	c.rest = rest
	return content
}

// list reads a list, whose elements the result reads.
func (c *cursor) list() cursor {
	kind, content, rest, err := rlp.Split(c.rest)
	if err != nil || kind != rlp.List || c.bad {
		c.fail()
		return cursor{bad: true}
	}
	c.rest = rest
	return cursor{rest: content}
}

// fixed reads a string of one size.
func (c *cursor) fixed(size int) []byte {
	b := c.data()
	if len(b) != size {
		return c.fail()
	}
	return b
}

// quantity reads a number of at most some bytes. Zero is the empty string.
func (c *cursor) quantity(most int) []byte {
	b := c.data()
	if len(b) > most || len(b) > 0 && b[0] == 0 {
		return c.fail()
	}
	return b
}

// number reads a number that fits 64 bits.
func (c *cursor) number() uint64 { return small(c.quantity(smallBytes)) }

// recipient reads an address, or nil where a contract is created.
func (c *cursor) recipient() []byte {
	b := c.data()
	switch len(b) {
	case addressBytes:
		return b
	case 0:
		return nil
	}
	return c.fail()
}

// small is a number of at most 8 bytes.
func small(b []byte) (n uint64) {
	for _, c := range b {
		n = n<<8 | uint64(c)
	}
	return n
}

// The first bytes of short strings and lists in RLP; longer ones have their size behind it.
const (
	shortString = 0x80
	shortList   = 0xc0
	mostShort   = 55
)

// appendHead appends the head of a string or a list.
func appendHead(dst []byte, kind byte, size int) []byte {
	if size <= mostShort {
		return append(dst, kind+byte(size))
	}
	var room [8]byte
	binary.BigEndian.PutUint64(room[:], uint64(size))
	i := 0
	for room[i] == 0 {
		i++
	}
	return append(append(dst, kind+mostShort+byte(len(room)-i)), room[i:]...)
}

// headSize is how many bytes appendHead appends.
func headSize(size int) int {
	n := 1
	for rest := size; size > mostShort && rest > 0; rest >>= 8 {
		n++
	}
	return n
}

// appendData appends a string.
func appendData(dst, b []byte) []byte {
	if len(b) == 1 && b[0] < shortString {
		return append(dst, b[0])
	}
	return append(appendHead(dst, shortString, len(b)), b...)
}

// AppendList appends the RLP of a list whose elements are encoded one after the other.
func AppendList(dst, elements []byte) []byte {
	return append(appendHead(dst, shortList, len(elements)), elements...)
}
