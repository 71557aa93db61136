package permit

import (
	"encoding/hex"
	"strings"

	"github.com/ethereum/go-ethereum/rlp"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// layout says where the fields of a transaction type are that name contracts.
type layout struct {
	to             int
	authorizations int // 0: none
}

// The layouts by type; 0 is the one without a type byte.
var layouts = map[byte]layout{
	0: {to: 3},
	1: {to: 4},                    // EIP-2930
	2: {to: 5},                    // EIP-1559
	3: {to: 5},                    // EIP-4844
	4: {to: 5, authorizations: 9}, // EIP-7702
}

// transaction checks a signed transaction: its recipient, and the contracts that accounts
// get the code of. One that creates a contract names none and is refused.
func (c contracts) transaction(value []byte) error {
	text, ok := jsonrpc.String(value)
	digits, prefixed := strings.CutPrefix(string(text), "0x")
	raw, err := hex.DecodeString(digits)
	if !ok || !prefixed || err != nil || len(raw) == 0 {
		return c.unreadable()
	}
	kind := byte(0)
	if raw[0] < 0xc0 { // not a list: the type of what follows
		if kind, raw = raw[0], raw[1:]; kind == 0 {
			return c.unreadable()
		}
	}
	at, known := layouts[kind]
	fields, ok := listOf(raw)
	if !known || !ok {
		return c.unreadable()
	}
	if kind == 3 { // with its blobs the transaction is the first element
		if inner, ok := listOf(fields[0]); ok {
			fields = inner
		}
	}
	return c.fields(fields, at)
}

func (c contracts) fields(fields [][]byte, at layout) error {
	if len(fields) <= max(at.to, at.authorizations) {
		return c.unreadable()
	}
	if err := c.rlpAddress(fields[at.to]); err != nil || at.authorizations == 0 {
		return err
	}
	list, ok := listOf(fields[at.authorizations])
	if !ok {
		return c.unreadable()
	}
	for _, a := range list {
		parts, ok := listOf(a)
		if !ok || len(parts) < 2 {
			return c.unreadable()
		}
		if err := c.rlpAddress(parts[1]); err != nil {
			return err
		}
	}
	return nil
}

func (c contracts) rlpAddress(field []byte) error {
	content, rest, err := rlp.SplitString(field)
	if err != nil || len(rest) > 0 || len(content) != 20 {
		return c.unreadable()
	}
	return c.allowed("0x" + hex.EncodeToString(content))
}

// listOf splits a whole RLP list into its elements, with their headers.
func listOf(raw []byte) (elements [][]byte, ok bool) {
	content, rest, err := rlp.SplitList(raw)
	if err != nil || len(rest) > 0 {
		return nil, false
	}
	for len(content) > 0 {
		_, _, after, err := rlp.Split(content)
		if err != nil {
			return nil, false
		}
		elements = append(elements, content[:len(content)-len(after)])
		content = after
	}
	return elements, len(elements) > 0
}
