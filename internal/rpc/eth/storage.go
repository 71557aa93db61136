package eth

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// maxProofKeys is how many storage keys one eth_getProof takes.
const maxProofKeys = 1024

// getStorageAt: address, position, block.
func getStorageAt(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	addr, err := addressArg(&a, 0)
	if err != nil {
		return nil, err
	}
	if a.at(1) == nil {
		return nil, missing(1)
	}
	key, reason := parseStorageKey(a.at(1))
	if reason != "" {
		return nil, keyError(a.at(1), reason)
	}
	b, err := n.block(&a, row.Block)
	if err != nil {
		return nil, err
	}
	if err := n.inWindow(ctx, row.Name, b); err != nil {
		return nil, err
	}
	c := newCanonical(160)
	c.str(addr)
	c.str("0x" + key.padded())
	b.append(&c)
	return n.next.Call(ctx, row.Name, c.bytes())
}

// getProof: address, storage keys, block. A pending state is never committed, so
// its proof is the latest block's.
func getProof(ctx context.Context, n *Node, row *method.Row, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, row.MaxParams()); err != nil {
		return nil, err
	}
	addr, err := addressArg(&a, 0)
	if err != nil {
		return nil, err
	}
	keys, err := proofKeys(&a)
	if err != nil {
		return nil, err
	}
	b, err := n.block(&a, row.Block)
	if err != nil {
		return nil, err
	}
	if b.text == "pending" {
		b.text = "latest"
	}
	if err := n.inWindow(ctx, row.Name, b); err != nil {
		return nil, err
	}
	c := newCanonical(96 + len(keys))
	c.str(addr)
	c.raw(keys)
	b.append(&c)
	return n.next.Call(ctx, row.Name, c.bytes())
}

func addressArg(a *args, i int) (string, error) {
	if a.at(i) == nil {
		return "", missing(i)
	}
	addr, reason := address(a.at(i))
	if reason != "" {
		return "", badArg(i, reason)
	}
	return addr, nil
}

// proofKeys rewrites the array of storage keys.
func proofKeys(a *args) ([]byte, error) {
	if a.at(1) == nil {
		return nil, missing(1)
	}
	list, over, ok := jsonrpc.FirstElements(nil, a.at(1), maxProofKeys)
	switch {
	case !ok:
		return nil, badArg(1, "json: cannot unmarshal non-array into Go value of type []string")
	case over:
		return nil, invalid("too many storage keys requested (max %d, got %d)", maxProofKeys, jsonrpc.Count(a.at(1), math.MaxInt-1))
	}
	out := append(make([]byte, 0, 2+len(list)*(hashDigits+5)), '[')
	for i, raw := range list {
		if string(raw) == "null" {
			raw = []byte(`""`) // Go's JSON leaves a string of null empty, and Geth takes that for 0
		}
		key, reason := parseStorageKey(raw)
		if reason != "" {
			return nil, keyError(raw, reason)
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, `"0x`...), key.echo()...), '"')
	}
	return append(out, ']'), nil
}

// storageKey is a position in an account's storage, as lower-case digits.
type storageKey struct{ digits string }

// keyError words a key that can't be read. Geth names the argument only where it
// is not even a string.
func keyError(raw []byte, reason string) error {
	if len(raw) > 0 && raw[0] != '"' {
		return badArg(1, reason)
	}
	return invalid("%s", reason)
}

// parseStorageKey is as lenient as Geth: the prefix and leading zeros are optional.
func parseStorageKey(raw []byte) (storageKey, string) {
	s, ok := jsonrpc.String(raw)
	if !ok {
		return storageKey{}, "json: cannot unmarshal non-string into Go value of type string"
	}
	d := s
	if len(d) >= 2 && d[0] == '0' && d[1]|0x20 == 'x' {
		d = d[2:]
	}
	if len(d)%2 != 0 {
		d = append([]byte("0"), d...)
	}
	switch {
	case len(d) > hashDigits:
		return storageKey{}, fmt.Sprintf("storage key too long (want at most 32 bytes): %q", s)
	case !allHex(d):
		return storageKey{}, fmt.Sprintf("invalid hex in storage key: %q", s)
	}
	return storageKey{digits: strings.ToLower(string(d))}, ""
}

func (k storageKey) padded() string {
	return strings.Repeat("0", hashDigits-len(k.digits)) + k.digits
}

// echo is how the key stands in the answer: a full key as it is, a short one as a
// quantity.
func (k storageKey) echo() string {
	if len(k.digits) == hashDigits {
		return k.digits
	}
	if short := strings.TrimLeft(k.digits, "0"); short != "" {
		return short
	}
	return "0"
}
