package eth

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// fixer takes a JSON value of a node and returns it in the right form: the same
// bytes where it has that form, or false where it can't be what it should be.
type fixer func(value []byte) ([]byte, bool)

// quantityDigits256 is how many digits the largest number has.
const quantityDigits256 = 64

// fixQuantity takes leading zeros and capitals out of a number. A bare JSON number
// is written in hex.
func fixQuantity(value []byte) ([]byte, bool) {
	if isQuantity(value) {
		return value, true
	}
	if allDecimal(value) {
		n, err := strconv.ParseUint(string(value), 10, 64)
		return []byte(`"` + quoted(n) + `"`), err == nil
	}
	digits, ok := hexDigits(value)
	if !ok {
		return nil, false
	}
	digits = strings.TrimLeft(digits, "0")
	if digits == "" {
		digits = "0"
	}
	return []byte(`"0x` + digits + `"`), len(digits) <= quantityDigits256
}

func isQuantity(v []byte) bool {
	if len(v) < len(`"0x0"`) || len(v) > len(`"0x"`)+quantityDigits256 || !isLowerHex(v) {
		return false
	}
	return v[3] != '0' || len(v) == len(`"0x0"`)
}

// isLowerHex tells whether a value is a string of 0x and lower-case digits.
func isLowerHex(v []byte) bool {
	end := len(v) - 1
	if end < 3 || v[0] != '"' || v[1] != '0' || v[2] != 'x' || v[end] != '"' {
		return false
	}
	return digitsOf(v[3:end]) == 0
}

// hexDigits returns the digits of a string in lower case.
func hexDigits(value []byte) (string, bool) {
	s, ok := jsonrpc.String(value)
	if !ok || len(s) < 2 || s[0] != '0' || s[1]|0x20 != 'x' || !allHex(s[2:]) {
		return "", false
	}
	return strings.ToLower(string(s[2:])), true
}

// fixBytes takes capitals out of a byte string.
func fixBytes(value []byte) ([]byte, bool) {
	if len(value)%2 == 0 && isLowerHex(value) {
		return value, true
	}
	digits, ok := hexDigits(value)
	return []byte(`"0x` + digits + `"`), ok && len(digits)%2 == 0
}

// sized is a byte string of that many digits.
func sized(digits int) fixer {
	return func(value []byte) ([]byte, bool) {
		value, ok := fixBytes(value)
		return value, ok && len(value) == len(`"0x"`)+digits
	}
}

// fixFlag takes true and false.
func fixFlag(value []byte) ([]byte, bool) {
	return value, string(value) == "true" || string(value) == "false"
}

// fixStatus also takes a flag for the number it stands for.
func fixStatus(value []byte) ([]byte, bool) {
	switch string(value) {
	case "true":
		return []byte(`"0x1"`), true
	case "false":
		return []byte(`"0x0"`), true
	}
	return fixQuantity(value)
}

// listOf is an array of such values.
func listOf(fix fixer) fixer {
	return func(array []byte) ([]byte, bool) {
		var store [16][]byte
		list, ok := jsonrpc.Elements(store[:0], array)
		if !ok || array == nil {
			return nil, false
		}
		changed := false
		for i, old := range list {
			fixed, ok := fix(old)
			if !ok {
				return nil, false
			}
			changed = changed || !bytes.Equal(fixed, old)
			list[i] = fixed
		}
		if !changed {
			return array, true
		}
		return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']'), true
	}
}

// storageWord fills a stored value up to 32 bytes: some clients leave zeros out.
func storageWord(value []byte) ([]byte, bool) {
	if len(value) == len(`"0x"`)+hashDigits && isLowerHex(value) {
		return value, true
	}
	digits, ok := hexDigits(value)
	if !ok || len(digits) > hashDigits {
		return nil, false
	}
	return []byte(`"0x` + strings.Repeat("0", hashDigits-len(digits)) + digits + `"`), true
}

// returned is what a call returned. Nothing is "0x", whatever the client calls it.
func returned(value []byte) ([]byte, bool) {
	if isNull(value) || string(value) == `""` {
		return []byte(`"0x"`), true
	}
	return fixBytes(value)
}
