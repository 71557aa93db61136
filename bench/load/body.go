package load

import (
	"bytes"
)

// Unique stands in a body's text where every request is to have another number. It
// is as wide as the number's hex digits and can't be mistaken for any.
const Unique = "################"

// Body is one JSON-RPC request.
type Body struct {
	text   []byte
	unique int // where the number begins, counted from the end; 0 when there is none
}

// NewBody makes a body from its text. At most one Unique may stand in it.
func NewBody(text string) Body {
	b := Body{text: []byte(text)}
	if i := bytes.Index(b.text, []byte(Unique)); i >= 0 {
		b.unique = len(text) - i
	}
	return b
}

// Text returns the body as a request that nobody else sends when n is new.
func (b Body) Text(n uint64) []byte {
	text := bytes.Clone(b.text)
	b.number(text, n)
	return text
}

// number writes n into bytes that end with the body. Both transports put the body
// last, so the place is the same from the end of either.
func (b Body) number(wire []byte, n uint64) {
	if b.unique == 0 {
		return
	}
	const digits = "0123456789abcdef"
	at := len(wire) - b.unique
	for i := len(Unique) - 1; i >= 0; i-- {
		wire[at+i] = digits[n&15]
		n >>= 4
	}
}
