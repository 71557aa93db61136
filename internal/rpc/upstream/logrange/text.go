package logrange

import (
	"strconv"
	"strings"
)

// text is an error's text in lower case with a # in the place of each number.
type text struct {
	words  string
	values []uint64 // of the numbers, in order; 0 for one that is too large
}

func simplify(message string) *text {
	low := strings.ToLower(message)
	t := new(text)
	var b strings.Builder
	for i := 0; i < len(low); {
		switch c := low[i]; {
		case isDigit(c):
			value, size := readNumber(low[i:])
			t.values = append(t.values, value)
			b.WriteByte('#')
			i += size
			continue
		case c == '#':
			b.WriteByte(' ') // it would be taken for a number
		default:
			b.WriteByte(c)
		}
		i++
	}
	t.words = b.String()
	return t
}

// readNumber reads a number as people and programs write it: 5000, 10,000, 10k, 0x1f.
func readNumber(s string) (value uint64, size int) {
	if strings.HasPrefix(s, "0x") && len(s) > 2 && isHex(s[2]) {
		size = 2
		for size < len(s) && isHex(s[size]) {
			size++
		}
		return parse(s[2:size], 16), size
	}
	for size < len(s) && (isDigit(s[size]) || groups(s[size:])) {
		size++
	}
	value = parse(strings.NewReplacer(",", "", "_", "").Replace(s[:size]), 10)
	if size < len(s) && s[size] == 'k' && (size+1 == len(s) || !isLetter(s[size+1])) {
		return thousands(value), size + 1
	}
	return value, size
}

// groups tells whether a separator of thousands comes next.
func groups(s string) bool {
	return len(s) > 3 && (s[0] == ',' || s[0] == '_') && isDigit(s[1]) && isDigit(s[2]) && isDigit(s[3])
}

func parse(digits string, base int) uint64 {
	value, err := strconv.ParseUint(digits, base, 64)
	if err != nil {
		return 0 // too large
	}
	return value
}

// thousands is a number that was written with a k.
func thousands(n uint64) uint64 {
	const most = 1 << 50
	if n > most {
		return 0
	}
	return 1000 * n
}

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return 'a' <= c && c <= 'z' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c && c <= 'f' }
