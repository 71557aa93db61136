package native

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/ethereum/go-ethereum/triedb/database"
)

// errTrie is a node that is missing or malformed. The call is handed over, so
// that go-ethereum words the error.
var errTrie = errors.New("unreadable trie node")

// keyNibbles is the length of a hashed key in the trie.
const keyNibbles = 2 * common.HashLength

// walk follows a hashed key from a trie's root and returns the leaf's value, nil
// when the key is absent. Every node that stands on its own (embedded ones don't)
// is given to visit as raw RLP, in order: that is the Merkle proof.
func walk(nodes nodeSource, owner, root, key common.Hash, visit func([]byte)) ([]byte, error) {
	if root == types.EmptyRootHash || root == (common.Hash{}) {
		return nil, nil
	}
	w := walker{nodes: nodes, owner: owner}
	for i, b := range key {
		w.path[2*i], w.path[2*i+1] = b>>4, b&0x0f
	}
	node, err := w.load(root)
	if err != nil {
		return nil, err
	}
	for {
		if visit != nil && !w.embedded {
			visit(node)
		}
		value, next, err := w.step(node)
		if err != nil || next == nil {
			return value, err
		}
		node = next
	}
}

// nodeSource reads nodes by hash. A hash never changes its content, so a node is
// true for every state that refers to it; go-ethereum's own cache copies what it
// returns, this one shares it.
type nodeSource struct {
	reader database.NodeReader
	cache  table[common.Hash, []byte]
}

type walker struct {
	nodes    nodeSource
	owner    common.Hash
	path     [keyNibbles]byte
	at       int  // nibbles consumed
	embedded bool // the current node is part of its parent
}

func (w *walker) load(hash common.Hash) ([]byte, error) {
	w.embedded = false
	if node, ok := w.nodes.cache.GetIfPresent(hash); ok {
		return node, nil
	}
	node, err := w.nodes.reader.Node(w.owner, w.path[:w.at], hash)
	if err != nil || len(node) == 0 {
		return nil, fmt.Errorf("%w %x", errTrie, hash)
	}
	w.nodes.cache.Set(hash, node)
	return node, nil
}

// step reads one node. It returns the leaf's value, or the next node, or neither
// when the key ends here.
func (w *walker) step(node []byte) (value, next []byte, err error) {
	content, _, err := rlp.SplitList(node)
	if err != nil {
		return nil, nil, errTrie
	}
	first, rest, err := splitRef(content)
	if err != nil {
		return nil, nil, err
	}
	second, tail, err := splitRef(rest)
	if err != nil {
		return nil, nil, err
	}
	if len(tail) == 0 {
		return w.short(first, second)
	}
	return w.branch(content)
}

// short is an extension or a leaf: a run of nibbles and what follows it.
func (w *walker) short(run, target []byte) (value, next []byte, err error) {
	_, compact, _, err := rlp.Split(run)
	if err != nil || len(compact) == 0 {
		return nil, nil, errTrie
	}
	leaf := compact[0]&0x20 != 0
	if !w.consume(compact) {
		return nil, nil, nil
	}
	if !leaf {
		next, err = w.child(target)
		return nil, next, err
	}
	if w.at != keyNibbles {
		return nil, nil, errTrie
	}
	_, value, _, err = rlp.Split(target)
	return value, nil, err
}

// consume compares a compactly encoded run with the key and moves past it.
func (w *walker) consume(compact []byte) bool {
	if compact[0]&0x10 != 0 && !w.nibble(compact[0]&0x0f) {
		return false
	}
	for _, b := range compact[1:] {
		if !w.nibble(b>>4) || !w.nibble(b&0x0f) {
			return false
		}
	}
	return true
}

func (w *walker) nibble(n byte) bool {
	if w.at >= keyNibbles || w.path[w.at] != n {
		return false
	}
	w.at++
	return true
}

// branch takes the child of the key's next nibble.
func (w *walker) branch(content []byte) (value, next []byte, err error) {
	if w.at >= keyNibbles {
		return nil, nil, errTrie
	}
	for range w.path[w.at] {
		if _, content, err = splitRef(content); err != nil {
			return nil, nil, err
		}
	}
	ref, _, err := splitRef(content)
	if err != nil {
		return nil, nil, err
	}
	w.at++
	next, err = w.child(ref)
	return nil, next, err
}

// child follows a reference: a hash, a node small enough to stand inline, or nothing.
func (w *walker) child(ref []byte) ([]byte, error) {
	kind, content, _, err := rlp.Split(ref)
	switch {
	case err != nil:
		return nil, errTrie
	case kind == rlp.List:
		w.embedded = true
		return ref, nil
	case len(content) == 0:
		return nil, nil
	case len(content) == common.HashLength:
		return w.load(common.Hash(content))
	}
	return nil, errTrie
}

// splitRef cuts the first item off, keeping its RLP header.
func splitRef(b []byte) (item, rest []byte, err error) {
	_, _, rest, err = rlp.Split(b)
	if err != nil {
		return nil, nil, errTrie
	}
	return b[:len(b)-len(rest)], rest, nil
}
