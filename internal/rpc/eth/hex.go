package eth

import (
	"strconv"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// Lengths of the hex digits of fixed-size values.
const (
	addressDigits = 40
	hashDigits    = 64
)

// hexText returns the digits behind 0x of a JSON string. An empty string has none:
// Geth takes it for bytes, and so does everything here but quantity.
func hexText(raw []byte, into string) (digits []byte, reason string) {
	s, ok := jsonrpc.String(raw)
	if !ok {
		return nil, "json: cannot unmarshal non-string into Go value of type " + into
	}
	if len(s) == 0 {
		return nil, ""
	}
	if len(s) < 2 || s[0] != '0' || (s[1] != 'x' && s[1] != 'X') {
		return nil, "json: cannot unmarshal hex string without 0x prefix into Go value of type " + into
	}
	return s[2:], ""
}

// fixed checks a value of a fixed number of digits and returns it lower-cased.
func fixed(raw []byte, digits int, into string) (string, string) {
	s, reason := hexText(raw, into)
	switch {
	case reason != "":
		return "", reason
	case len(s)%2 != 0:
		return "", "json: cannot unmarshal hex string of odd length into Go value of type " + into
	case len(s) != digits:
		return "", "hex string has length " + strconv.Itoa(len(s)) + ", want " + strconv.Itoa(digits) + " for " + into
	case !allHex(s):
		return "", "json: cannot unmarshal invalid hex string into Go value of type " + into
	}
	return prefixed(s), ""
}

func address(raw []byte) (value, reason string) { return fixed(raw, addressDigits, "common.Address") }

func hash(raw []byte) (value, reason string) { return fixed(raw, hashDigits, "common.Hash") }

// quantity checks a number without leading zeros of at most bits bits.
func quantity(raw []byte, bits int, into string) (value, reason string) {
	if string(raw) == `""` {
		return "", "json: cannot unmarshal empty hex string into Go value of type " + into
	}
	s, reason := hexText(raw, into)
	if reason != "" {
		return "", reason
	}
	return quantityDigits(s, bits, into)
}

func quantityDigits(s []byte, bits int, into string) (value, reason string) {
	wrap := func(why string) string { return "json: cannot unmarshal " + why + " into Go value of type " + into }
	switch {
	case len(s) == 0:
		return "", wrap("hex string \"0x\"")
	case len(s) > 1 && s[0] == '0':
		return "", wrap("hex number with leading zero digits")
	case !allHex(s):
		return "", wrap("invalid hex string")
	case len(s) > bits/4:
		return "", wrap("hex number > " + strconv.Itoa(bits) + " bits")
	}
	return prefixed(s), ""
}

// data checks a byte string.
func data(raw []byte, into string) (value, reason string) {
	s, reason := hexText(raw, into)
	switch {
	case reason != "":
		return "", reason
	case len(s)%2 != 0:
		return "", "json: cannot unmarshal hex string of odd length into Go value of type " + into
	case !allHex(s):
		return "", "json: cannot unmarshal invalid hex string into Go value of type " + into
	}
	return prefixed(s), ""
}

func allHex(s []byte) bool { return digitsOf(s)&noDigit == 0 }

// Kinds of bytes.
const (
	capital = 1 << iota // A to F
	noDigit
)

// digitKinds has the kind of every byte, 0 for digits in lower case.
var digitKinds = func() (kinds [256]uint8) {
	for c := range kinds {
		switch {
		case c >= '0' && c <= '9', c >= 'a' && c <= 'f':
		case c >= 'A' && c <= 'F':
			kinds[c] = capital
		default:
			kinds[c] = noDigit
		}
	}
	return kinds
}()

// digitsOf returns which kinds there are, 0 if all are digits in lower case.
func digitsOf(s []byte) (kinds uint8) {
	for _, c := range s {
		kinds |= digitKinds[c]
	}
	return kinds
}

// prefixed lower-cases digits and puts 0x before them.
func prefixed(s []byte) string {
	if digitsOf(s)&capital == 0 { // as nearly all clients write them
		return "0x" + string(s)
	}
	out := append(make([]byte, 0, 2+len(s)), "0x"...)
	for _, c := range s {
		if c >= 'A' && c <= 'F' {
			c |= 0x20
		}
		out = append(out, c)
	}
	return string(out)
}

// number reads the value of a canonical quantity that fits 64 bits. A tag is none: the end of
// "safe" has hex digits.
func number(q string) (uint64, bool) {
	if len(q) < 3 || q[0] != '0' {
		return 0, false
	}
	n, err := strconv.ParseUint(q[2:], 16, 64)
	return n, err == nil
}

func quoted(n uint64) string { return "0x" + strconv.FormatUint(n, 16) }
