package unixfs

import (
	"bytes"
	"fmt"
	"testing"

	blocks "github.com/ipfs/go-block-format"
	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
)

// blockOf is a block of a codec.
func blockOf(t *testing.T, codec uint64, data []byte) blocks.Block {
	t.Helper()
	c, err := cid.Prefix{Version: 1, Codec: codec, MhType: multihash.SHA2_256, MhLength: -1}.Sum(data)
	if err != nil {
		t.Fatal(err)
	}
	b, err := blocks.NewBlockWithCid(data, c)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// listOf is a dag-cbor list of links.
func listOf(t *testing.T, links ...cid.Cid) blocks.Block {
	t.Helper()
	data := []byte{0x80 | byte(len(links))}
	for _, c := range links {
		data = append(data, 0xd8, tagCID, 0x58, byte(c.ByteLen()+1), 0)
		data = append(data, c.Bytes()...)
	}
	return blockOf(t, cid.DagCBOR, data)
}

// TestImportLoose counts the blocks of CARs that no pinned root reaches, each once.
func TestImportLoose(t *testing.T) {
	raw := func(i, size int) blocks.Block {
		return blockOf(t, cid.Raw, bytes.Repeat([]byte{byte(i)}, size))
	}
	tiny, a, b, missing := raw(1, 9), raw(2, 1_000), raw(3, 2_000), raw(4, 10)
	whole, part := listOf(t, a.Cid(), b.Cid()), listOf(t, a.Cid(), missing.Cid())
	for i, c := range []struct {
		cars [][]byte
		want int
	}{
		{[][]byte{carOf(tiny.Cid(), tiny, a, b)}, 3_000},
		{[][]byte{carOf(tiny.Cid(), tiny, a, b, a)}, 3_000},
		{[][]byte{carOf(whole.Cid(), whole, a, b, a)}, 0},
		{[][]byte{carOf(whole.Cid(), whole, a, b), carOf(tiny.Cid(), tiny, a)}, 0},
		{[][]byte{carOf(part.Cid(), part, a, b), carOf(tiny.Cid(), tiny)}, nodegate.MinBlockCharge + 3_000},
		{[][]byte{carOf(part.Cid(), part, a, b), carOf(a.Cid())}, nodegate.MinBlockCharge + 2_000},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			if got := importedLoose(t, newMemory(t), c.cars...); got != int64(c.want) {
				t.Errorf("%d bytes are loose, want %d", got, c.want)
			}
		})
	}
}

// TestImportLooseBesidePinned: a root that is stored already keeps its own blocks alone.
func TestImportLooseBesidePinned(t *testing.T) {
	m := newMemory(t)
	a, other := blockOf(t, cid.Raw, make([]byte, 1_000)), blockOf(t, cid.Raw, make([]byte, 900))
	root := listOf(t, a.Cid())
	for _, c := range []struct {
		car  []byte
		want int64
	}{{carOf(root.Cid(), root, a), 0}, {carOf(root.Cid(), root, a), 0}, {carOf(root.Cid(), other), 900}} {
		if got := importedLoose(t, m, c.car); got != c.want {
			t.Errorf("%d bytes are loose, want %d", got, c.want)
		}
	}
}

func importedLoose(t *testing.T, m *memory, cars ...[]byte) int64 {
	t.Helper()
	opts, err := ParseImport(query(t, ""), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	var parts []upload
	for _, c := range cars {
		parts = append(parts, file("c", string(c)))
	}
	batch := &memoryBatch{store: m, blocks: map[string][]byte{}, account: "a"}
	if _, err := New(m).Import(t.Context(), batch, bytes.NewReader(bodyOf(parts...)), boundary, opts); err != nil {
		t.Fatal(err)
	}
	loose := batch.loose
	if err := batch.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return loose
}

// TestWalkTellsApart: a link whose CID looks like that of another block doesn't hide
// that block, which would then be pinned without being paid for.
func TestWalkTellsApart(t *testing.T) {
	m := newMemory(t)
	leaf := blockOf(t, cid.Raw, make([]byte, 1_000))
	node := listOf(t, leaf.Cid())
	tail := node.Cid().Hash()[18:]
	identityOf := func(codec uint64, data []byte) cid.Cid {
		hash, err := multihash.Sum(data, multihash.IDENTITY, -1)
		if err != nil {
			t.Fatal(err)
		}
		return cid.NewCidV1(codec, hash)
	}
	inline := listOf(t, node.Cid()).RawData()
	want := int64(len(node.RawData()) + 1_000)
	for name, links := range map[string][]cid.Cid{
		"an identity CID with the end of a digest": {identityOf(cid.DagCBOR, append([]byte{0x50}, tail...)), node.Cid()},
		"a codec beyond 32 bits":                   {cid.NewCidV1(1<<32|cid.DagCBOR, node.Cid().Hash()), node.Cid()},
		"identity CIDs that end alike":             {identityOf(cid.DagCBOR, append([]byte{0x58, byte(len(inline))}, inline...)), identityOf(cid.DagCBOR, inline)},
	} {
		root := listOf(t, links...)
		for _, b := range []blocks.Block{leaf, node, root} {
			m.blocks[string(b.Cid().Hash())] = b.RawData()
		}
		got, err := New(m).Stat(t.Context(), root.Cid(), Limits{})
		if err != nil || got.Bytes-int64(len(root.RawData())) < want {
			t.Errorf("%s: %d bytes below the root, %v, want %d", name, got.Bytes-int64(len(root.RawData())), err, want)
		}
	}
}
