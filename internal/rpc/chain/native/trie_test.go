package native

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/trie"
	"github.com/ethereum/go-ethereum/trie/trienode"
	"github.com/ethereum/go-ethereum/triedb"
	"github.com/maypok86/otter/v2"
)

// nodeMap is a NodeReader over nodes by hash. A test may damage them.
type nodeMap map[common.Hash][]byte

func (m nodeMap) Node(_ common.Hash, _ []byte, hash common.Hash) ([]byte, error) {
	return m[hash], nil
}

// source reads from the map, with a cache of its own.
func (m nodeMap) source(t testing.TB) nodeSource {
	t.Helper()
	cache, err := otter.New(&otter.Options[common.Hash, []byte]{MaximumSize: 100})
	if err != nil {
		t.Fatal(err)
	}
	return nodeSource{m, cache}
}

// buildTrie puts values under hashed keys 0 to n-1 and collects the nodes. Values of a
// byte or two make nodes so small that they stand inside their parents.
func buildTrie(t *testing.T, n int, value func(int) []byte) (*trie.Trie, common.Hash, nodeMap) {
	t.Helper()
	db := triedb.NewDatabase(rawdb.NewMemoryDatabase(), triedb.HashDefaults)
	tr := trie.NewEmpty(db)
	for i := range n {
		tr.MustUpdate(hashedKey(i).Bytes(), value(i))
	}
	root, set := tr.Commit(false)
	nodes := nodeMap{}
	set.ForEachWithOrder(func(_ string, node *trienode.Node) { nodes[node.Hash] = node.Blob })
	if err := db.Update(root, types.EmptyRootHash, 0, trienode.NewWithNodeSet(set), nil); err != nil {
		t.Fatal(err)
	}
	opened, err := trie.New(trie.TrieID(root), db)
	if err != nil {
		t.Fatal(err)
	}
	return opened, root, nodes
}

func hashedKey(i int) common.Hash {
	return crypto.Keccak256Hash(binary.BigEndian.AppendUint64(nil, uint64(i)))
}

// proofNodes collects what go-ethereum calls the proof.
type proofNodes struct{ list [][]byte }

func (p *proofNodes) Put(_, value []byte) error {
	p.list = append(p.list, bytes.Clone(value))
	return nil
}
func (p *proofNodes) Delete([]byte) error { return nil }

// The walk finds what go-ethereum finds, and visits the nodes of its proof.
func TestWalkAsGeth(t *testing.T) {
	for _, c := range []struct {
		name  string
		size  int
		value func(int) []byte
	}{
		{"one", 1, func(i int) []byte { return []byte{1} }},
		{"two", 2, func(i int) []byte { return []byte{byte(i + 1)} }},
		{"small values", 300, func(i int) []byte { return []byte{byte(i%100 + 1)} }},
		{"large values", 300, func(i int) []byte { return bytes.Repeat([]byte{byte(i%100 + 1)}, 40) }},
		{"many", 3000, func(i int) []byte { return bytes.Repeat([]byte{7}, i%60+1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr, root, nodes := buildTrie(t, c.size, c.value)
			source := nodes.source(t)
			for i := range c.size + 50 { // some of them absent
				compareWalk(t, tr, root, source, hashedKey(i))
			}
		})
	}
}

// Hashed keys hardly ever share more than a few nibbles, so embedded leaves are
// rare: keys that share almost all of theirs make them.
func TestWalkEmbeddedNodes(t *testing.T) {
	db := triedb.NewDatabase(rawdb.NewMemoryDatabase(), triedb.HashDefaults)
	tr := trie.NewEmpty(db)
	var keys []common.Hash
	for i := range 40 {
		key := crypto.Keccak256Hash([]byte{byte(i / 8)})
		key[31], key[30] = byte(i*7), byte(i/4)
		keys = append(keys, key)
		tr.MustUpdate(key[:], []byte{byte(i + 1)})
	}
	root, set := tr.Commit(false)
	nodes := nodeMap{}
	set.ForEachWithOrder(func(_ string, node *trienode.Node) { nodes[node.Hash] = node.Blob })
	if err := db.Update(root, types.EmptyRootHash, 0, trienode.NewWithNodeSet(set), nil); err != nil {
		t.Fatal(err)
	}
	opened, err := trie.New(trie.TrieID(root), db)
	if err != nil {
		t.Fatal(err)
	}
	source := nodes.source(t)
	for _, key := range keys {
		compareWalk(t, opened, root, source, key)
		for _, at := range []int{0, 15, 30, 31} { // neighbors that are not there
			absent := key
			absent[at] ^= 0x11
			compareWalk(t, opened, root, source, absent)
		}
	}
}

func compareWalk(t *testing.T, tr *trie.Trie, root common.Hash, nodes nodeSource, key common.Hash) {
	t.Helper()
	var got [][]byte
	value, err := walk(nodes, common.Hash{}, root, key, func(node []byte) { got = append(got, bytes.Clone(node)) })
	if err != nil {
		t.Fatalf("%s: %v", key, err)
	}
	want, err := tr.Get(key[:])
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(value, want) {
		t.Errorf("%s: value %x, want %x", key, value, want)
	}
	var proof proofNodes
	if err := tr.Prove(key[:], &proof); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(bytes.Join(got, nil), bytes.Join(proof.list, nil)) || len(got) != len(proof.list) {
		t.Errorf("%s: %d nodes, want %d", key, len(got), len(proof.list))
	}
}

// An empty trie has nothing to visit.
func TestWalkEmptyTrie(t *testing.T) {
	for _, root := range []common.Hash{types.EmptyRootHash, {}} {
		value, err := walk(nodeMap{}.source(t), common.Hash{}, root, hashedKey(1), func([]byte) { t.Error("a node was visited") })
		if value != nil || err != nil {
			t.Errorf("%x, %v", value, err)
		}
	}
}

// A missing node is an error, never an absent key.
func TestWalkMissingNode(t *testing.T) {
	_, root, nodes := buildTrie(t, 120, func(i int) []byte { return bytes.Repeat([]byte{1}, 40) })
	for hash := range nodes {
		damaged := nodeMap{}
		for h, blob := range nodes {
			if h != hash {
				damaged[h] = blob
			}
		}
		failed, source := false, damaged.source(t)
		for i := range 120 {
			value, err := walk(source, common.Hash{}, root, hashedKey(i), nil)
			if err == nil && value == nil {
				t.Fatalf("without node %s key %d seems absent", hash, i)
			}
			failed = failed || err != nil
		}
		if !failed {
			t.Fatalf("nobody missed node %s", hash)
		}
	}
}

// Damaged nodes are errors or wrong values, never a panic or an endless walk.
func TestWalkDamagedNodes(t *testing.T) {
	_, root, nodes := buildTrie(t, 60, func(i int) []byte { return bytes.Repeat([]byte{1}, i%40+1) })
	random := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		damaged := nodeMap{}
		for h, blob := range nodes {
			blob = bytes.Clone(blob)
			if random.IntN(3) == 0 {
				blob[random.IntN(len(blob))] ^= byte(1 + random.IntN(255))
				blob = blob[:len(blob)-random.IntN(min(3, len(blob)))]
			}
			damaged[h] = blob
		}
		source := damaged.source(t)
		for i := range 5 {
			_, _ = walk(source, common.Hash{}, root, hashedKey(i), func([]byte) {})
		}
	}
}
