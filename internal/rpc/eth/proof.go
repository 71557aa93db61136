package eth

import (
	"bytes"
	"context"

	"github.com/nodegate/nodegate/internal/rpc/jsonrpc"
)

// The hashes of what is empty, and what Geth says of an account that isn't there.
const (
	emptyCode = `"0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470"`
	emptyTrie = `"0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"`
	zeroHash  = `"0x0000000000000000000000000000000000000000000000000000000000000000"`
	zero      = `"0x0"`
)

var proofShape = newShape(
	field{name: "address", fix: fixAddress}, field{name: "accountProof", fix: listOf(fixBytes), null: "[]"},
	field{name: "balance", fix: fixQuantity, null: zero}, field{name: "nonce", fix: fixQuantity, null: zero},
	field{name: "codeHash", fix: fixHash, null: zeroHash}, field{name: "storageHash", fix: fixHash, null: zeroHash},
	field{name: "storageProof", fix: listOf(asIs), null: "[]"},
)

var slotShape = newShape(
	field{name: "key", fix: fixQuantityOrWord}, field{name: "value", fix: fixQuantity, null: zero},
	field{name: "proof", fix: listOf(fixBytes), null: "[]"},
)

func fixQuantityOrWord(value []byte) ([]byte, bool) {
	digits, ok := hexDigits(value)
	return value, ok && len(digits) <= hashDigits
}

// proof sends every key with all its 32 bytes, which all clients take, and puts it
// back as the client wrote it.
func (r remote) proof(ctx context.Context, name string, params []byte) ([]byte, error) {
	var a args
	if err := a.split(params, 3); err != nil {
		return nil, err
	}
	keys, ok := jsonrpc.Elements(nil, a.at(1))
	if !ok {
		return nil, nonsense(name)
	}
	c := newCanonical(len(params) + len(keys)*hashDigits)
	c.raw(a.at(0))
	c.raw(fullKeys(keys))
	c.raw(a.at(2))
	result, err := r.ask(ctx, name, c.bytes())
	if err != nil {
		return nil, err
	}
	if result, ok = fixProof(result, keys); !ok {
		return nil, nonsense(name)
	}
	return result, nil
}

func fullKeys(keys [][]byte) []byte {
	full := make([][]byte, len(keys))
	for i, key := range keys {
		full[i], _ = storageWord(key)
	}
	return append(append([]byte{'['}, bytes.Join(full, []byte{','})...), ']')
}

// fixProof puts a proof into Geth's form.
func fixProof(raw []byte, keys [][]byte) ([]byte, bool) {
	var r record
	if !r.read(proofShape, raw) {
		return nil, false
	}
	none := isEmpty(r.get("storageHash"), emptyTrie)
	if none && r.get("balance") == zero && r.get("nonce") == zero && isEmpty(r.get("codeHash"), emptyCode) {
		r.set("codeHash", zeroHash)
		r.set("storageHash", zeroHash)
	}
	slots, ok := fixSlots(r.values[r.index["storageProof"]], keys, none)
	r.set("storageProof", string(slots))
	return r.bytes(), ok
}

func isEmpty(hash, empty string) bool { return hash == empty || hash == zeroHash }

// fixSlots gives the proven slots the keys they were asked by. A slot that wasn't
// asked for proves nothing.
func fixSlots(raw []byte, keys [][]byte, none bool) ([]byte, bool) {
	list, ok := jsonrpc.Elements(nil, raw)
	if !ok || len(list) != len(keys) {
		return nil, false
	}
	for i := range list {
		var slot record
		if !slot.read(slotShape, list[i]) || !sameKey(slot.values[0], keys[i]) {
			return nil, false
		}
		slot.set("key", string(keys[i]))
		if none {
			slot.set("proof", "[]") // some show the node of an empty trie
		}
		list[i] = slot.bytes()
	}
	return append(append([]byte{'['}, bytes.Join(list, []byte{','})...), ']'), true
}

func sameKey(a, b []byte) bool {
	x, okX := storageWord(a)
	y, okY := storageWord(b)
	return okX && okY && bytes.Equal(x, y)
}
