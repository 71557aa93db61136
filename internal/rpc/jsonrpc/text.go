package jsonrpc

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String decodes a JSON string token. It returns a slice of raw when there is
// nothing to decode, and false when raw is anything but one string.
func String(raw []byte) (s []byte, ok bool) {
	if len(raw) == 0 || raw[0] != '"' || skipString(raw, 0) != len(raw) {
		return nil, false
	}
	return unquote(raw), true
}

// Strings calls f with each string token of well-formed JSON, names of members included.
func Strings(raw []byte, f func(token []byte)) {
	for i := 0; ; {
		n := bytes.IndexByte(raw[i:], '"')
		if n < 0 {
			return
		}
		i += n
		end := skipString(raw, i)
		if end < 0 {
			return
		}
		f(raw[i:end:end])
		i = end
	}
}

// unquote decodes a string token that has been checked.
func unquote(raw []byte) []byte {
	s := raw[1 : len(raw)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	return unescape(make([]byte, 0, len(s)), s)
}

// unescape appends s, checked and without its quotes, with its escapes decoded.
// It never appends more bytes than s has.
func unescape(dst, s []byte) []byte {
	for {
		n := bytes.IndexByte(s, '\\')
		if n < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:n]...)
		if s[n+1] != 'u' {
			dst = append(dst, shortEscape(s[n+1]))
			s = s[n+2:]
			continue
		}
		r, size := escapedRune(s, n)
		dst = utf8.AppendRune(dst, r)
		s = s[n+size:]
	}
}

// shortEscape returns what a backslash and c stand for, or 0.
func shortEscape(c byte) byte {
	switch c {
	case '"', '\\', '/':
		return c
	case 'b':
		return '\b'
	case 'f':
		return '\f'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	}
	return 0
}

func skipEscape(d []byte, i int) int {
	if i+1 >= len(d) {
		return bad
	}
	if d[i+1] != 'u' {
		if shortEscape(d[i+1]) == 0 {
			return bad
		}
		return i + 2
	}
	_, size := escapedRune(d, i)
	if size == 0 {
		return bad
	}
	return i + size
}

// escapedRune decodes the \u escape at d[i], or the pair of them that a rune
// beyond 16 bits takes. Half a pair is refused with size 0: it is no rune, and
// decoders differ in what they make of it.
func escapedRune(d []byte, i int) (r rune, size int) {
	const one = len(`\u0000`)
	r = hex4(d, i)
	if r < 0 {
		return 0, 0
	}
	if !utf16.IsSurrogate(r) {
		return r, one
	}
	low := hex4(d, i+one)
	if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
		return 0, 0
	}
	return r, 2 * one
}

// hex4 reads the four digits of the \u escape at d[i], or returns -1.
func hex4(d []byte, i int) rune {
	if i+6 > len(d) || d[i] != '\\' || d[i+1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range d[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = (c | 0x20) - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}
