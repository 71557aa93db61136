package verify

import (
	"bytes"
	"errors"

	"github.com/ethereum/go-ethereum/rlp"
)

// proof checks an account and its storage slots against a state root.
func (s *scratch) proof(h *Header, params, result []byte) *Finding {
	f := &Finding{Kind: Proof, Claim: h.StateRoot}
	asked, ok := elements(nil, params)
	if !ok || len(asked) < 2 {
		return nil // a node that answers this is asked something else than we know
	}
	v, ok := members(result, "address", "accountProof", "balance", "nonce", "codeHash", "storageHash", "storageProof")
	if !ok || !same(v[0], asked[0]) {
		return falsely(Identity, "the proof is of another account")
	}
	storage, there, err := s.account(h, v)
	if err == nil {
		err = s.slots(storage, there, asked[1], v[6])
	}
	if err == nil {
		return nil
	}
	f.What = "the proof doesn't hold: " + err.Error()
	return f
}

var (
	errProof   = errors.New("its nodes don't lead to the root")
	errAccount = errors.New("the account's fields are not those that are proven")
	errSlot    = errors.New("a slot's value is not the one that is proven")
	errSlots   = errors.New("the slots are not those that were asked for")
)

// account checks the account's own proof, and returns the root of its storage.
func (s *scratch) account(h *Header, v [8][]byte) (storage [32]byte, there bool, err error) {
	address, ok := plainBytes(v[0])
	if !ok {
		return storage, false, errAccount
	}
	value, err := s.prove(h.StateRoot, address, v[1])
	if err != nil {
		return storage, false, err
	}
	var code [32]byte
	if !fixed(code[:], v[4]) || !fixed(storage[:], v[5]) {
		return storage, false, errAccount
	}
	if value == nil {
		none := [32]byte{}
		if !isZero(v[2]) || !isZero(v[3]) || code != none && code != emptyCode || storage != none && storage != emptyRoot {
			return storage, false, errAccount
		}
		return storage, false, nil
	}
	w := writer{ok: true}
	w.quantity(v[3])
	w.quantity(v[2])
	w.data(v[5])
	w.data(v[4])
	if !w.ok || !bytes.Equal(wrap(w.out, 0), value) {
		return storage, false, errAccount
	}
	return storage, true, nil
}

// slots checks the storage proofs, each for the key that was asked for.
func (s *scratch) slots(root [32]byte, there bool, keys, proofs []byte) error {
	asked, ok := elements(nil, keys)
	given, fine := elements(nil, proofs)
	if !ok || !fine || len(asked) != len(given) {
		return errSlots
	}
	for i, raw := range given {
		v, ok := members(raw, "key", "value", "proof")
		key, fine := word(asked[i])
		if shown, readable := word(v[0]); !ok || !fine || !readable || shown != key {
			return errSlots
		}
		if err := s.slot(root, there, key, v[1], v[2]); err != nil {
			return err
		}
	}
	return nil
}

func (s *scratch) slot(root [32]byte, there bool, key [32]byte, value, proof []byte) error {
	if !there || root == emptyRoot {
		if !isZero(value) {
			return errSlot
		}
		return nil
	}
	proven, err := s.prove(root, key[:], proof)
	if err != nil {
		return err
	}
	if proven == nil {
		proven = []byte{shortString}
	}
	given, ok := appendQuantity(nil, value)
	if len(given) == 0 {
		given = []byte{shortString}
	}
	if !ok || !bytes.Equal(given, proven) {
		return errSlot
	}
	return nil
}

// prove follows a proof from the root to the value of a key; nil when it shows that there
// is none.
func (s *scratch) prove(root [32]byte, key []byte, proof []byte) (value []byte, err error) {
	nodes, ok := elements(nil, proof)
	if !ok {
		return nil, errProof
	}
	if root == emptyRoot && len(nodes) == 0 {
		return nil, nil
	}
	hashed := *s.hash(key)
	path := nibbles(hashed[:])
	for _, token := range nodes {
		node, ok := plainBytes(token)
		if !ok || *s.hash(node) != root {
			return nil, errProof
		}
		next, rest, done, err := step(node, path)
		if err != nil || done {
			return next, err
		}
		if copy(root[:], next) != len(root) {
			return nil, errProof
		}
		path = rest
	}
	return nil, errProof
}

// step goes through a node, and through the short ones that are inside it: to the hash of
// the next one, or to the end.
func step(node, path []byte) (next, rest []byte, done bool, err error) {
	for {
		items, err := split(node)
		if err != nil {
			return nil, nil, false, err
		}
		var child []byte
		if len(items) == branchItems {
			if len(path) == 0 {
				return nil, nil, false, errProof // all keys have the same length
			}
			child, path = items[path[0]], path[1:]
		} else {
			own, leaf := unpath(items[0])
			if !bytes.HasPrefix(path, own) || leaf && len(path) != len(own) {
				return nil, nil, true, nil // another key is here
			}
			path = path[len(own):]
			if child = items[1]; leaf {
				value, _, err := rlp.SplitString(child)
				return value, nil, true, err
			}
		}
		kind, content, _, err := rlp.Split(child)
		switch {
		case err != nil:
			return nil, nil, false, err
		case kind == rlp.List:
			node = child
		case len(content) == 0:
			return nil, nil, true, nil
		default:
			return content, path, false, nil
		}
	}
}

const branchItems = 17

// split is the items of a node, each with its head.
func split(node []byte) (items [][]byte, err error) {
	content, rest, err := rlp.SplitList(node)
	if err != nil || len(rest) > 0 {
		return nil, errProof
	}
	for len(content) > 0 {
		_, _, after, err := rlp.Split(content)
		if err != nil || len(items) == branchItems {
			return nil, errProof
		}
		items = append(items, content[:len(content)-len(after)])
		content = after
	}
	if len(items) != branchItems && len(items) != 2 {
		return nil, errProof
	}
	return items, nil
}

// unpath is the nibbles of a leaf or an extension, and which of them it is.
func unpath(item []byte) (own []byte, leaf bool) {
	content, _, err := rlp.SplitString(item)
	if err != nil || len(content) == 0 {
		return nil, false
	}
	all := nibbles(content)
	leaf = all[0]&2 != 0
	if all[0]&1 != 0 {
		return all[1:], leaf
	}
	return all[2:], leaf
}

func nibbles(b []byte) []byte {
	out := make([]byte, 0, 2*len(b))
	for _, c := range b {
		out = append(out, c>>4, c&15)
	}
	return out
}

func plainBytes(token []byte) ([]byte, bool) {
	hex, ok := digits(token)
	if !ok || len(hex)%2 == 1 {
		return nil, false
	}
	return appendHex(nil, hex)
}

// word reads a storage key, of which nodes leave out zeros before it or not.
func word(token []byte) (w [32]byte, ok bool) {
	hex, ok := digits(token)
	if !ok || len(hex) > 2*len(w) {
		return w, false
	}
	b, ok := appendHex(nil, hex)
	copy(w[len(w)-len(b):], b)
	return w, ok
}

func isZero(token []byte) bool {
	hex, ok := digits(token)
	return ok && len(bytes.Trim(hex, "0")) == 0
}
