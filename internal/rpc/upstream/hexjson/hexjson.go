// Package hexjson reads the hex values that nodes send as JSON strings: quantities,
// hashes and data.
package hexjson

import (
	"bytes"
	"strconv"
)

// HashLength is the length of a 32-byte hash as a JSON token.
const HashLength = len(`"0x"`) + 64

// IsHash tells whether a JSON token is a 32-byte hash.
func IsHash(raw []byte) bool {
	return len(raw) == HashLength && bytes.HasPrefix(raw, []byte(`"0x`)) && raw[HashLength-1] == '"' && isHex(raw[3:HashLength-1])
}

// IsData tells whether a JSON token is a string of hex digits, possibly none.
func IsData(raw []byte) bool {
	const shortest = len(`"0x"`)
	return len(raw) >= shortest && string(raw[:3]) == `"0x` && raw[len(raw)-1] == '"' && isHex(raw[3:len(raw)-1])
}

func isHex(s []byte) bool {
	for _, c := range s {
		if !('0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f') {
			return false
		}
	}
	return true
}

// Quantity reads a JSON token such as "0x1f".
func Quantity(raw []byte) (uint64, bool) {
	const shortest = len(`"0x0"`)
	if len(raw) < shortest || !bytes.HasPrefix(raw, []byte(`"0x`)) || raw[len(raw)-1] != '"' {
		return 0, false
	}
	v, err := strconv.ParseUint(string(raw[3:len(raw)-1]), 16, 64)
	return v, err == nil
}

// Number is a block number as a JSON token.
func Number(n uint64) string { return `"0x` + strconv.FormatUint(n, 16) + `"` }
