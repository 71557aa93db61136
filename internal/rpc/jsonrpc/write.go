package jsonrpc

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// AppendResult appends the answer to a call. The id and the result are raw JSON;
// either is null when nil.
func AppendResult(dst, id, result []byte) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"result":`...)
	dst = appendRaw(dst, result)
	return append(dst, '}')
}

// AppendLargeResult is AppendResult. It calls pause every few microseconds.
func AppendLargeResult(dst, id, result []byte, pause func()) []byte {
	const piece = 64 << 10
	dst = append(appendHead(dst, id), `,"result":`...)
	for part := range slices.Chunk(result, piece) {
		dst = append(dst, part...)
		pause()
	}
	return append(dst, '}')
}

// AppendError appends the error that answers a call. The id and the data are raw
// JSON; a nil id is null, nil data is left out.
func AppendError(dst, id []byte, code int, message string, data []byte) []byte {
	dst = appendHead(dst, id)
	dst = append(dst, `,"error":{"code":`...)
	dst = strconv.AppendInt(dst, int64(code), 10)
	dst = append(dst, `,"message":`...)
	dst = AppendString(dst, message)
	if data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, data...)
	}
	return append(dst, "}}"...)
}

// AppendNotification appends one event of a subscription. The result is raw JSON.
func AppendNotification(dst []byte, method, subscription string, result []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":`...)
	dst = AppendString(dst, method)
	dst = append(dst, `,"params":{"subscription":`...)
	dst = AppendString(dst, subscription)
	dst = append(dst, `,"result":`...)
	dst = appendRaw(dst, result)
	return append(dst, "}}"...)
}

func appendHead(dst, id []byte) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	return appendRaw(dst, id)
}

func appendRaw(dst, raw []byte) []byte {
	if raw == nil {
		return append(dst, "null"...)
	}
	return append(dst, raw...)
}

// AppendString appends s as a JSON string, byte for byte as encoding/json writes
// it and so as Geth does: <, > and & are escaped, for answers that end up in a
// page, and what is not UTF-8 becomes U+FFFD.
func AppendString(dst []byte, s string) []byte {
	dst = append(dst, '"')
	done := 0 // s[:done] is written
	for i := 0; i < len(s); {
		r, size := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[i:])
		}
		if escaped(r, size) {
			dst = append(dst, s[done:i]...)
			dst = appendEscape(dst, r)
			done = i + size
		}
		i += size
	}
	dst = append(dst, s[done:]...)
	return append(dst, '"')
}

// escaped reports whether a rune of size bytes is not written as it is.
func escaped(r rune, size int) bool {
	switch r {
	case '"', '\\', '<', '>', '&':
		return true
	case '\u2028', '\u2029': // these end a line in JavaScript
		return true
	case utf8.RuneError: // sent as such, or a byte that is no rune
		return size == 1
	}
	return r < ' '
}

func appendEscape(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	const hex = "0123456789abcdef"
	return append(dst, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
}

// AppendMember appends a member to an object that is being written, and begins it if out
// is empty.
func AppendMember(out, name, value []byte) []byte {
	if len(out) == 0 {
		out = append(out, '{')
	} else {
		out = append(out, ',')
	}
	out = AppendString(out, string(name))
	out = append(out, ':')
	return append(out, value...)
}
