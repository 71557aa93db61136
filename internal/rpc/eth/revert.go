package eth

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

const (
	reverted       = "execution reverted"
	revertedNumber = 3
)

// The selectors of the two errors that Solidity itself raises.
const (
	errorSelector = "\x08\xc3\x79\xa0" // Error(string)
	panicSelector = "\x4e\x48\x7b\x71" // Panic(uint256)
)

// panics are the words for Solidity's panic codes, as Geth has them.
var panics = map[uint64]string{
	0x00: "generic panic", 0x01: "assert(false)", 0x11: "arithmetic underflow or overflow",
	0x12: "division or modulo by zero", 0x21: "enum overflow", 0x22: "invalid encoded storage byte array accessed",
	0x31: "out-of-bounds array access; popping on an empty array", 0x32: "out-of-bounds access of an array or bytesN",
	0x41: "out of memory", 0x51: "uninitialized function",
}

// revertOf is a node's error as the contract's revert, or nil where it is none. The
// words come from the data, whatever the client made of it; only where the client
// gave none they come from its message.
func revertOf(e *nodegate.Error) error {
	detail, _ := jsonrpc.String(e.Data)
	if !isRevert(e.Number, strings.ToLower(e.Msg), strings.ToLower(string(detail))) {
		return nil
	}
	out := &nodegate.Error{Op: "eth.node", Code: nodegate.Reverted, Msg: reverted}
	if data, ok := revertData(e.Data, 0); ok {
		out.Data = json.RawMessage(`"0x` + hex.EncodeToString(data) + `"`)
		if reason, ok := reasonIn(data); ok {
			out.Msg += ": " + reason
		}
		return out
	}
	if reason := reasonOf(e.Msg, string(detail)); reason != "" {
		out.Msg += ": " + reason // the data is unknown, not empty
		return out
	}
	out.Data = json.RawMessage(`"0x"`)
	return out
}

// vmFailed are the words of clients that put what happened into the data instead.
var vmFailed = []string{"vm execution error", "transaction execution error"}

func isRevert(number int, msg, detail string) bool {
	if number == revertedNumber || strings.HasPrefix(msg, reverted) {
		return true
	}
	for _, words := range vmFailed {
		if strings.HasPrefix(msg, words) {
			detail = strings.TrimPrefix(detail, "err: ")
			return strings.HasPrefix(detail, "revert") || strings.HasPrefix(detail, "0x")
		}
	}
	return strings.Contains(msg, "vm exception") && strings.Contains(msg, "revert") || strings.HasPrefix(msg, "execution error: revert")
}

// Where the bytes stand in the objects that some clients give for data.
var dataMembers = []string{"data", "result", "return", "output", "originalError"}

const maxDataDepth = 3

// revertData finds the bytes: a string with hex somewhere in it, or an object.
func revertData(raw []byte, depth int) (data []byte, found bool) {
	if s, ok := jsonrpc.String(raw); ok {
		return hexIn(string(s))
	}
	if depth == maxDataDepth || len(raw) == 0 || raw[0] != '{' {
		return nil, false
	}
	for _, name := range dataMembers {
		if data, found = revertData([]byte(member(raw, name)), depth+1); found {
			return data, true
		}
	}
	// Ganache puts it under the transaction's hash.
	jsonrpc.Fields(raw, func(_, value []byte) bool {
		if value[0] == '{' {
			data, found = revertData(value, depth+1)
		}
		return !found
	})
	return data, found
}

// hexIn reads what follows the first 0x: "Reverted 0x1234", "err: 0x1234 (supplied
// gas 36000000)".
func hexIn(s string) ([]byte, bool) {
	_, digits, found := strings.Cut(s, "0x")
	end := strings.IndexFunc(digits, func(c rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF", c) })
	if end >= 0 {
		digits = digits[:end]
	}
	data, err := hex.DecodeString(digits)
	return data, found && err == nil
}

// reasonOf finds the reason in a client's words: behind its own words for a revert.
func reasonOf(msg, detail string) string {
	for _, s := range []string{msg, detail} {
		s = withoutGas(s)
		if _, quoted, ok := strings.Cut(s, "reverted with reason string '"); ok {
			return clean(strings.TrimSuffix(quoted, "'"))
		}
		at := strings.Index(strings.ToLower(s), "revert")
		if at < 0 {
			continue
		}
		s = strings.TrimPrefix(s[at+len("revert"):], "ed")
		if s = strings.Trim(s, ": ."); s != "" {
			return clean(s)
		}
	}
	return ""
}

// reasonIn decodes the reason from the bytes, as Geth does.
func reasonIn(data []byte) (string, bool) {
	if len(data) < 4 {
		return "", false
	}
	args := data[4:]
	switch string(data[:4]) {
	case errorSelector:
		return stringArg(args)
	case panicSelector:
		if len(args) < 32 {
			return "", false
		}
		code := new(big.Int).SetBytes(args[:32])
		if words, ok := panics[code.Uint64()]; ok && code.IsUint64() {
			return words, true
		}
		return fmt.Sprintf("unknown panic code: %#x", code), true
	}
	return "", false
}

// stringArg decodes an only argument: an offset, and there a length and the bytes.
func stringArg(args []byte) (string, bool) {
	offset, ok := lengthAt(args, 0)
	if !ok {
		return "", false
	}
	length, ok := lengthAt(args, offset)
	if !ok || length > len(args)-offset-32 {
		return "", false
	}
	return string(args[offset+32 : offset+32+length]), true
}

// lengthAt reads a word that must not point beyond the bytes.
func lengthAt(args []byte, at int) (int, bool) {
	if at > len(args)-32 {
		return 0, false
	}
	n := new(big.Int).SetBytes(args[at : at+32])
	if !n.IsInt64() || n.Int64() > int64(len(args)) {
		return 0, false
	}
	return int(n.Int64()), true
}
