package native

import (
	"bytes"
	"encoding/hex"
	"math/bits"
	"slices"
	"strconv"

	"github.com/ethereum/go-ethereum/common"

	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/rpc/chain/lane"
)

// maxArgs is the most parameters any of the methods takes natively.
const maxArgs = 3

// args are the parameters of a call, split. Only the canonical form is
// understood: no white space, no escapes.
type args struct {
	raw [maxArgs][]byte
	n   int
}

// parse splits a canonical parameter array. False hands the call over.
func (a *args) parse(params []byte) bool {
	if len(params) == 0 {
		return true
	}
	if len(params) < 2 || params[0] != '[' || params[len(params)-1] != ']' {
		return false
	}
	rest := params[1 : len(params)-1]
	for len(rest) > 0 {
		if a.n == maxArgs {
			return false
		}
		end := valueEnd(rest)
		if end <= 0 {
			return false
		}
		a.raw[a.n] = rest[:end]
		a.n++
		if rest = rest[end:]; len(rest) == 0 {
			break
		}
		if rest[0] != ',' || len(rest) == 1 {
			return false
		}
		rest = rest[1:]
	}
	return true
}

// valueEnd finds the end of the JSON value that b begins with. It refuses
// strings with escapes by returning 0. The value's grammar was checked before.
func valueEnd(b []byte) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := stringEnd(b[i+1:])
			if end < 0 {
				return 0
			}
			if i += 1 + end; depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth <= 0 {
				return i + 1
			}
		case ',', ' ':
			if depth == 0 {
				return i
			}
		}
	}
	if depth != 0 {
		return 0
	}
	return len(b)
}

// stringEnd finds the closing quote of a plain string, -1 when there is an escape.
func stringEnd(b []byte) int {
	end := bytes.IndexByte(b, '"')
	if end < 0 || bytes.IndexByte(b[:end], '\\') >= 0 {
		return -1
	}
	return end
}

// text returns parameter i as the inside of a plain string.
func (a *args) text(i int) ([]byte, bool) {
	if i >= a.n {
		return nil, false
	}
	return unquote(a.raw[i])
}

func unquote(b []byte) ([]byte, bool) {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return nil, false
	}
	return b[1 : len(b)-1], true
}

// address returns parameter i as a 20-byte address.
func (a *args) address(i int) (addr common.Address, ok bool) {
	s, ok := a.text(i)
	return addr, ok && fixedHex(addr[:], s)
}

// hash returns parameter i as 32 bytes.
func (a *args) hash(i int) (h common.Hash, ok bool) {
	s, ok := a.text(i)
	return h, ok && fixedHex(h[:], s)
}

// fixedHex decodes 0x and exactly len(dst) bytes.
func fixedHex(dst, s []byte) bool {
	if len(s) != 2+2*len(dst) || s[0] != '0' || s[1] != 'x' {
		return false
	}
	_, err := hex.Decode(dst, s[2:])
	return err == nil
}

// quantity decodes a hex number without leading zeros that fits 64 bits.
func quantity(s []byte) (uint64, bool) {
	if len(s) < 3 || len(s) > 18 || s[0] != '0' || s[1] != 'x' || (s[2] == '0' && len(s) > 3) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s[2:]), 16, 64)
	return n, err == nil && s[2] != '_' && s[2] != '+'
}

// quoteUint renders a quantity as a JSON string.
func quoteUint(n uint64) []byte {
	digits := max(1, (bits.Len64(n)+3)/4)
	out := make([]byte, 0, digits+4)
	out = append(out, '"', '0', 'x')
	out = strconv.AppendUint(out, n, 16)
	return append(out, '"')
}

// QuoteHex renders bytes as a JSON string. More of them than lane.LightResult come from the
// heavy lane only, whose threads let others go first.
func QuoteHex(b []byte) []byte {
	dst := append(make([]byte, 0, 4+2*len(b)), '"')
	if len(b) <= lane.LightResult {
		return append(appendHex(dst, b), '"')
	}
	const piece = 16 << 10
	var rests background.Rests
	dst = append(dst, '0', 'x')
	for part := range slices.Chunk(b, piece) {
		dst = appendDigits(dst, part)
		rests.Now()
	}
	return append(dst, '"')
}

// appendHex appends 0x and the bytes in lower case.
func appendHex(dst, b []byte) []byte { return appendDigits(append(dst, '0', 'x'), b) }

func appendDigits(dst, b []byte) []byte {
	at := len(dst)
	dst = slices.Grow(dst, 2*len(b))[:at+2*len(b)]
	out := dst[at:]
	for i, c := range b {
		pair := hexPairs[c]
		out[2*i], out[2*i+1] = byte(pair), byte(pair>>8)
	}
	return dst
}

// hexPairs are the two digits of every byte: one look-up instead of two.
var hexPairs = func() (table [256]uint16) {
	const digits = "0123456789abcdef"
	for i := range table {
		table[i] = uint16(digits[i>>4]) | uint16(digits[i&15])<<8
	}
	return table
}()
