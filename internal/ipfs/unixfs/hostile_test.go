package unixfs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
)

// keep stores a block as it is, whatever it holds.
func (m *memory) keep(codec uint64, data []byte) cid.Cid {
	c, err := scheme{version: 1, hash: multihash.SHA2_256, inline: -1}.sum(codec, data)
	if err != nil {
		panic(err)
	}
	m.blocks[string(c.Hash())] = data
	return c
}

// inner is the block of an inner node of a file that says what it likes.
func inner(sizes []uint64, children ...cid.Cid) []byte {
	var b []byte
	for _, c := range children {
		b = appendLink(b, "", c, 0)
	}
	u := []byte{tagKind, kindFile}
	for _, s := range sizes {
		u = appendUint(u, tagBlockSize, s)
	}
	return appendBytes(b, tagNodeData, u)
}

// The tags that only shards have.
const (
	tagHashType = 0x28
	tagFanout   = 0x30
)

// shardNode is the block of a shard.
func shardNode(fanout uint64, names []string, children ...cid.Cid) []byte {
	var b []byte
	for i, c := range children {
		b = appendLink(b, names[i], c, 0)
	}
	u := appendUint(appendUint([]byte{tagKind, kindShard}, tagHashType, hashMurmur3), tagFanout, fanout)
	return appendBytes(b, tagNodeData, u)
}

// TestHostileFiles has files that lie. Each is refused before or while it is read.
func TestHostileFiles(t *testing.T) {
	m := newMemory(nil)
	leaf := m.keep(cid.Raw, []byte("leaf"))
	dir := m.keep(cid.DagProtobuf, simpleNode(kindDirectory, nil, stat{}))
	deep := leaf
	for range maxDepth + 2 {
		deep = m.keep(cid.DagProtobuf, inner([]uint64{4}, deep))
	}
	var wide []byte
	for range 100 {
		wide = appendLink(wide, strings.Repeat("n", 20_000), leaf, 0)
	}
	heavy := leaf
	for i := range 20 { // a chain of blocks of 2 MB each
		u := appendUint([]byte{tagKind, kindFile}, tagBlockSize, 4)
		for j := 1; j < 101; j++ {
			u = appendUint(u, tagBlockSize, 0)
		}
		heavy = m.keep(cid.DagProtobuf, appendBytes(append(appendLink(nil, fmt.Sprint(i), heavy, 0), wide...), tagNodeData, u))
	}
	identity, _ := sumInline(cid.Raw, []byte(noise(200)))
	for name, root := range map[string]cid.Cid{
		"fewer sizes than links": m.keep(cid.DagProtobuf, inner([]uint64{4}, leaf, leaf)),
		"size too small":         m.keep(cid.DagProtobuf, inner([]uint64{3}, leaf)),
		"size too large":         m.keep(cid.DagProtobuf, inner([]uint64{5}, leaf)),
		"impossible size":        m.keep(cid.DagProtobuf, inner([]uint64{1 << 63, 1 << 63}, leaf, leaf)),
		"negative size":          m.keep(cid.DagProtobuf, inner([]uint64{1<<64 - 1}, leaf)),
		"a directory inside":     m.keep(cid.DagProtobuf, inner([]uint64{4}, dir)),
		"too deep":               deep,
		"too heavy":              heavy,
		"no UnixFS":              m.keep(cid.DagProtobuf, []byte{0x0a, 1, 0xff}),
		"no type":                m.keep(cid.DagProtobuf, []byte{0x0a, 2, 0x18, 0}),
		"unknown type":           m.keep(cid.DagProtobuf, []byte{0x0a, 2, 8, 99}),
		"no data":                m.keep(cid.DagProtobuf, nil),
		"garbage":                m.keep(cid.DagProtobuf, []byte("garbage")),
		"long identity":          identity,
		"long identity inside":   m.keep(cid.DagProtobuf, inner([]uint64{200}, identity)),
		"unknown codec":          m.keep(0x99, []byte("x")),
	} {
		got, err := whole(t, New(m), Span{ToEnd: true}, root.String())
		if err == nil || errors.Is(err, nodegate.Internal) {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

func TestHostileDirectories(t *testing.T) {
	m := newMemory(nil)
	leaf := m.keep(cid.Raw, []byte("leaf"))
	deep := m.keep(cid.DagProtobuf, shardNode(256, []string{"00x"}, leaf))
	for range 10 {
		deep = m.keep(cid.DagProtobuf, shardNode(256, []string{"00"}, deep))
	}
	for name, root := range map[string]cid.Cid{
		"fanout 3":       m.keep(cid.DagProtobuf, shardNode(3, nil)),
		"fanout 0":       m.keep(cid.DagProtobuf, shardNode(0, nil)),
		"wide fanout":    m.keep(cid.DagProtobuf, shardNode(1<<40, nil)),
		"short name":     m.keep(cid.DagProtobuf, shardNode(256, []string{"0"}, leaf)),
		"no shard below": m.keep(cid.DagProtobuf, shardNode(256, []string{"00"}, leaf)),
		"too deep":       deep,
	} {
		o := New(m)
		if list, err := lsOf(t.Context(), o, root.String(), true, Encoder{}); err == nil || errors.Is(err, nodegate.Internal) {
			t.Errorf("%s: ls %v, %v", name, list, err)
		}
		for _, entry := range []string{"x", "00", "y"} {
			if r, err := o.Resolve(t.Context(), root.String()+"/"+entry); err == nil || errors.Is(err, nodegate.Internal) {
				t.Errorf("%s: %s is %v, %v", name, entry, r, err)
			}
		}
	}
	loop := m.keep(cid.DagProtobuf, simpleNode(kindDirectory, nil, stat{}))
	for range maxDepth + 2 {
		loop = m.keep(cid.DagProtobuf, append(appendLink(nil, "d", loop, 0), simpleNode(kindDirectory, nil, stat{})...))
	}
	tree, err := New(m).Get(t.Context(), loop.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.WriteTar(t.Context(), io.Discard, true); err == nil {
		t.Error("a tar that is nested too deeply")
	}
}

// TestRelativeNames: names that lead elsewhere stay in the archive, and lead through no
// symlink of it.
func TestRelativeNames(t *testing.T) {
	m := newMemory(nil)
	leaf := m.keep(cid.Raw, []byte("leaf"))
	link := m.keep(cid.DagProtobuf, simpleNode(kindSymlink, []byte("/etc"), stat{}))
	folder := func(entries ...any) cid.Cid {
		var block []byte
		for i := 0; i < len(entries); i += 2 {
			block = appendLink(block, entries[i].(string), entries[i+1].(cid.Cid), 4)
		}
		return m.keep(cid.DagProtobuf, append(block, simpleNode(kindDirectory, nil, stat{})...))
	}
	for name, c := range map[string]struct {
		root cid.Cid
		want string // the last name in the archive; "" is refused
	}{
		"inside":              {folder("a", folder("b", folder("../f", leaf))), "/a/f"},
		"absolute":            {folder("/etc/passwd", leaf), "/etc/passwd"},
		"two names":           {folder("a/b", leaf), "/a/b"},
		"outside":             {folder("../f", leaf), ""},
		"outside from inside": {folder("a", folder("../../f", leaf)), ""},
		"beside":              {folder("../ROOTx", leaf), ""},
		"parent":              {folder("..", leaf), ""},
		"itself":              {folder(".", leaf), ""},
		"itself by a detour":  {folder("a", folder("x/..", leaf)), ""},
		"over its parent":     {folder("a", folder("b", folder("../../a", leaf))), ""},
		"no name":             {folder("", leaf), ""},
		"through a symlink":   {folder("x", link, "x/passwd", leaf), ""},
		"a symlink later":     {folder("a", folder("../x/passwd", leaf), "x", link), ""},
	} {
		tree, err := New(m).Get(t.Context(), c.root.String())
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = tree.WriteTar(t.Context(), &out, true)
		if c.want == "" {
			if messageOf(err) != "relative UnixFS paths outside the root are not allowed, use CAR instead" {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if list := readTar(t, &out); list[len(list)-1].Name != c.root.String()+c.want {
			t.Errorf("%s: %v", name, list)
		}
	}
}

func TestHostileWalks(t *testing.T) {
	m := newMemory(nil)
	leaf := m.keep(cid.Raw, []byte("leaf"))
	deep := leaf
	for range maxDepth + 2 {
		deep = m.keep(cid.DagProtobuf, inner([]uint64{4}, deep))
	}
	var many []byte
	for i := range 5000 {
		c, _ := scheme{version: 1, hash: multihash.SHA2_256, inline: -1}.sum(cid.Raw, fmt.Append(nil, i))
		m.blocks[string(c.Hash())] = fmt.Append(nil, i)
		many = appendLink(many, "", c, 0)
	}
	bomb := leaf // 2^40 paths to one leaf
	for range 40 {
		bomb = m.keep(cid.DagProtobuf, inner([]uint64{1, 1}, bomb, bomb))
	}
	tiny, _ := sumInline(cid.Raw, nil)
	million := bytes.Repeat(appendLink(nil, "", tiny, 0), maxLinks+1)
	for name, c := range map[string]struct {
		root cid.Cid
		code nodegate.Code
	}{
		"deep":    {deep, nodegate.ExecutionFailed},
		"many":    {m.keep(cid.DagProtobuf, many), nodegate.TooLarge},
		"missing": {m.keep(cid.DagProtobuf, inner([]uint64{1}, cid.NewCidV1(cid.Raw, leaf.Hash()[:0:0]))), nodegate.ExecutionFailed},
		"garbage": {m.keep(cid.DagCBOR, []byte("\xff")), nodegate.ExecutionFailed},
		"links":   {m.keep(cid.DagProtobuf, million), nodegate.ExecutionFailed},
	} {
		o := New(m)
		if w, err := o.Stat(t.Context(), c.root, Limits{Blocks: 2000}); !errors.Is(err, c.code) {
			t.Errorf("%s: %+v, %v", name, w, err)
		}
		err := inOrder(t.Context(), o.get, c.root, Limits{Blocks: 2000}, func(cid.Cid, []byte) error { return nil })
		if !errors.Is(err, c.code) {
			t.Errorf("%s in order: %v", name, err)
		}
	}
	w, err := New(m).Stat(t.Context(), bomb, Limits{})
	if err != nil || w.Blocks != 41 {
		t.Errorf("bomb: %+v, %v", w, err)
	}
}

// TestWalk sums each block once and reports every one.
// TestWalkSmall: a small walk finds what Walk finds, or leaves it to Walk.
func TestWalkSmall(t *testing.T) {
	m := newMemory(t)
	leaf := m.keep(cid.Raw, []byte("leaf"))
	three := m.keep(cid.DagProtobuf, inner([]uint64{4, 4}, leaf, m.keep(cid.Raw, []byte("other"))))
	four := m.keep(cid.DagProtobuf, inner([]uint64{9}, three))
	inline, err := sumInline(cid.Raw, []byte("inline"))
	if err != nil {
		t.Fatal(err)
	}
	half := m.keep(cid.Raw, make([]byte, smallWalk/2))
	large := m.keep(cid.Raw, make([]byte, smallWalk/2+1))
	missing, err := scheme{version: 1, hash: multihash.SHA2_256, inline: -1}.sum(cid.Raw, []byte("missing"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		root cid.Cid
		ok   bool
	}{
		"a leaf":                {leaf, true},
		"three blocks":          {three, true},
		"twice the same":        {m.keep(cid.DagProtobuf, inner([]uint64{4, 4}, leaf, leaf)), true},
		"an inline block":       {m.keep(cid.DagProtobuf, inner([]uint64{6}, inline)), true},
		"a few":                 {four, true},
		"more than a few":       {m.keep(cid.DagProtobuf, inner([]uint64{9}, four)), false},
		"more bytes than a few": {m.keep(cid.DagProtobuf, inner([]uint64{9, 9}, half, large)), false},
		"a missing block":       {m.keep(cid.DagProtobuf, inner([]uint64{9}, missing)), false},
		"what is no block":      {m.keep(cid.DagCBOR, []byte("\xff")), false},
	} {
		o, b := New(m), m.Begin("a", -1)
		got, ok := WalkSmall(t.Context(), b, c.root, Limits{})
		if ok != c.ok {
			t.Errorf("%s: ok %v, want %v", name, ok, c.ok)
		}
		if want, err := o.Walk(t.Context(), b, c.root, Limits{}, func(Walked) {}); ok && (err != nil || got != want) {
			t.Errorf("%s: %+v, want %+v, %v", name, got, want, err)
		}
	}
}

func TestWalk(t *testing.T) {
	m, out := added(t, "chunker=size-100&max-file-links=3", file("d/a", noise(5000)), file("d/b", noise(5000)), file("d/c", strings.Repeat("x", 1000)))
	calls := int64(0)
	w, err := New(m).Walk(t.Context(), m.Begin("a", -1), out.Roots[0].CID, Limits{}, func(at Walked) {
		if calls++; at.Blocks != calls {
			t.Errorf("call %d: %+v", calls, at)
		}
	})
	if err != nil || w.Charge != out.Roots[0].Stored || w.Blocks != int64(len(m.blocks)) {
		t.Errorf("%+v, %v, want %d blocks of %d bytes", w, err, len(m.blocks), out.Roots[0].Stored)
	}
	_, err = New(without(m, "xxxx")).Stat(t.Context(), out.Roots[0].CID, Limits{})
	if !errors.Is(err, nodegate.NotFound) {
		t.Errorf("with a missing leaf: %v", err)
	}
}

// TestCancel ends everything that runs when its caller goes away.
func TestCancel(t *testing.T) {
	m, out := added(t, "chunker=size-100", file("f", noise(5000)))
	root := out.Roots[0].CID
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		o := New(m)
		c, err := o.Cat(ctx, []string{root.String()}, Span{ToEnd: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(make([]byte, 150)); err != nil {
			t.Fatal(err)
		}
		cancel()
		synctest.Wait()
		if _, err := io.Copy(io.Discard, c); err == nil {
			t.Error("reading goes on")
		}
		c.Close()
		if _, err := o.Stat(ctx, root, Limits{}); !errors.Is(err, context.Canceled) {
			t.Errorf("walk: %v", err)
		}
		body := bodyOf(file("f", noise(4<<20)))
		stuck := &stuckBatch{Batch: m.Begin("a", -1), ctx: ctx}
		if _, err := o.Add(ctx, stuck, bytes.NewReader(body), boundary, optionsOf(t, ""), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("add: %v", err)
		}
	})
}

// stuckBatch waits for the end of its context.
type stuckBatch struct {
	Batch
	ctx context.Context
}

func (b *stuckBatch) Put(context.Context, cid.Cid, []byte) error {
	<-b.ctx.Done()
	return b.ctx.Err()
}

// TestAddFails hands the store's error through, from any block on.
func TestAddFails(t *testing.T) {
	full := &nodegate.Error{Op: "test", Code: nodegate.TooLarge, Msg: "storage quota reached"}
	body := bodyOf(file("f", noise(6<<20)), file("g", "g"))
	for n := range 30 {
		b := &failingBatch{after: n, err: full}
		_, err := New(newMemory(t)).Add(t.Context(), b, bytes.NewReader(body), boundary, optionsOf(t, ""), nil)
		if b.failed != errors.Is(err, full) {
			t.Errorf("after %d blocks: %v", n, err)
		}
	}
}

type failingBatch struct {
	discard
	after  int
	err    error
	failed bool
}

func (b *failingBatch) Put(context.Context, cid.Cid, []byte) error {
	if b.after--; b.after < 0 {
		b.failed = true
		return b.err
	}
	return nil
}

// TestLinksCBOR has blocks whose heads promise more than there is.
func TestLinksCBOR(t *testing.T) {
	c := cid.NewCidV1(cid.DagCBOR, nil)
	huge := binary.BigEndian.AppendUint64([]byte{0x9b}, 1<<63)
	for _, data := range [][]byte{nil, {0x9f, 0xff}, huge, append([]byte{0xbb}, huge[1:]...), append([]byte{0x5b}, huge[1:]...), {0xd8, 42, 0x41, 1}, {0xd8, 42, 0x40}, {0xd8, 42, 0x82, 1, 1}, {0xd8, 43, 0x41, 0}, {0x01, 0x01}, {0x19, 1}, bytes.Repeat([]byte{0x81}, 5000)} {
		if list, err := Links(c, data); !errors.Is(err, nodegate.ExecutionFailed) {
			t.Errorf("%x: %v, %v", data, list, err)
		}
	}
}
