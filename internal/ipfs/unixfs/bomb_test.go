package unixfs

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
)

// shardBomb is a sharded directory of eight levels of shards, each with 256 links to
// the one below: 256^8 shards in nine blocks.
func shardBomb(m *memory) cid.Cid {
	names := make([]string, 256)
	for i := range names {
		names[i] = fmt.Sprintf("%02X", i)
	}
	at := m.keep(cid.DagProtobuf, shardNode(256, nil))
	for range 7 {
		children := make([]cid.Cid, 256)
		for i := range children {
			children[i] = at
		}
		at = m.keep(cid.DagProtobuf, shardNode(256, names, children...))
	}
	return at
}

// virtualFile is a file of leaf << 4 * levels bytes in a block for each level.
func virtualFile(m *memory, leaf, levels int) cid.Cid {
	at, size := m.keep(cid.Raw, make([]byte, leaf)), uint64(leaf)
	for range levels {
		children, sizes := make([]cid.Cid, 16), make([]uint64, 16)
		for i := range children {
			children[i], sizes[i] = at, size
		}
		at, size = m.keep(cid.DagProtobuf, inner(sizes, children...)), 16*size
	}
	return at
}

// folderBomb is directories in directories, each with many entries that are the same.
func folderBomb(m *memory, levels int) cid.Cid {
	at := m.keep(cid.DagProtobuf, simpleNode(kindDirectory, nil, stat{}))
	for range levels {
		var b []byte
		for i := range 16 {
			b = appendLink(b, fmt.Sprintf("n%02d", i), at, 0)
		}
		at = m.keep(cid.DagProtobuf, append(b, simpleNode(kindDirectory, nil, stat{})...))
	}
	return at
}

// inlinedBomb is folderBomb of CIDs that hold their content.
func inlinedBomb(m *memory, levels int) cid.Cid {
	at, err := scheme{version: 1, hash: multihash.IDENTITY, inline: -1}.sum(cid.Raw, []byte("x"))
	if err != nil {
		panic(err)
	}
	for range levels {
		at = m.keep(cid.DagProtobuf, inner(nil, slices.Repeat([]cid.Cid{at}, 4000)...))
	}
	return at
}

// TestDAGBombs: a few blocks that stand for very much end with an error that names the
// bound, after a bounded number of reads.
func TestDAGBombs(t *testing.T) {
	const nodes = 2000
	m := newMemory(nil)
	o := NewLimited(m, ReadLimits{Nodes: nodes, Bytes: 1 << 30})
	shard, file, folder := shardBomb(m), virtualFile(m, 1<<18, 8), folderBomb(m, 8)
	inlined, large := inlinedBomb(m, 8), virtualFile(m, 2<<20, 3)
	otherFolder := m.keep(cid.DagProtobuf, append(appendLink(nil, "n00", folder, 0), simpleNode(kindDirectory, nil, stat{})...))
	tarOf := func(c cid.Cid) error {
		tree, err := o.Get(t.Context(), c.String())
		if err != nil {
			return err
		}
		return tree.WriteTar(t.Context(), io.Discard, true)
	}
	carOf := func(c cid.Cid, options ExportOptions) error {
		e, err := mustFind(t, o, c).Export(t.Context(), options)
		if err != nil {
			return err
		}
		return e.Write(t.Context(), io.Discard)
	}
	for name, c := range map[string]struct {
		run  func() error
		want string
	}{
		"ls of a shard": {func() error { _, err := lsOf(t.Context(), o, shard.String(), true, Encoder{}); return err }, "linked twice"},
		"tar of shards": {func() error { return tarOf(shard) }, "linked twice"},
		"page of a shard": {func() error {
			e, err := mustFind(t, o, shard).Open(t.Context())
			if err == nil {
				_, _, err = e.Items(t.Context(), 100)
			}
			return err
		}, "linked twice"},
		"cat of a file":    {func() error { _, err := o.Cat(t.Context(), []string{file.String()}, Span{ToEnd: true}); return err }, "storage.max_read"},
		"tar of a file":    {func() error { return tarOf(file) }, "storage.max_read"},
		"tar of folders":   {func() error { return tarOf(folder) }, "storage.max_nodes"},
		"entity of a file": {func() error { return carOf(file, ExportOptions{Scope: ScopeEntity}) }, "storage.max_nodes"},
		"repeated folders": {func() error { return carOf(folder, ExportOptions{Duplicates: true}) }, "storage.max_nodes"},
		"repeated inlined": {func() error { return carOf(inlined, ExportOptions{Duplicates: true}) }, "storage.max_nodes"},
		"repeated content": {func() error { return carOf(file, ExportOptions{Duplicates: true}) }, "storage.max_nodes"},
		"repeated entity":  {func() error { return carOf(file, ExportOptions{Duplicates: true, Scope: ScopeEntity}) }, "storage.max_nodes"},
		"repeated bytes":   {func() error { return carOf(large, ExportOptions{Duplicates: true}) }, "storage.max_read"},
		"refs of folders": {func() error {
			return NewRefs(o, RefOptions{MaxDepth: -1}, func(Ref) error { return nil }).Root(t.Context(), folder)
		}, "storage.max_nodes"},
		"diff of folders": {func() error { _, err := o.Diff(t.Context(), folder.String(), otherFolder.String()); return err }, "storage.max_nodes"},
	} {
		before := m.gets
		err := c.run()
		if err == nil || !strings.Contains(nodegate.AsError(err).Msg, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if n := m.gets - before; n > 2*nodes {
			t.Errorf("%s: %d blocks were read", name, n)
		}
	}
	// A part of the same file can be read.
	content, err := o.Cat(t.Context(), []string{file.String()}, Span{Offset: 1 << 40, Length: 100})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(content); err != nil || len(b) != 100 {
		t.Errorf("%d bytes: %v", len(b), err)
	}
}

func mustFind(t *testing.T, o *Objects, c cid.Cid) *Found {
	t.Helper()
	f, err := o.Find(t.Context(), "/ipfs/"+c.String())
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestWideListing: distinct blocks count too.
func TestWideListing(t *testing.T) {
	m := newMemory(nil)
	o := NewLimited(m, ReadLimits{Nodes: 100})
	var b []byte
	for i := range 200 {
		b = appendLink(b, fmt.Sprint(i), m.keep(cid.DagProtobuf, simpleNode(kindFile, []byte(fmt.Sprint(i)), stat{})), 0)
	}
	dir := m.keep(cid.DagProtobuf, append(b, simpleNode(kindDirectory, nil, stat{})...))
	if _, err := lsOf(t.Context(), o, dir.String(), true, Encoder{}); err == nil || !strings.Contains(err.Error(), "storage.max_nodes") {
		t.Errorf("ls: %v", err)
	}
	if list, err := lsOf(t.Context(), o, dir.String(), false, Encoder{}); err != nil || len(list) != 200 {
		t.Errorf("without looking into the entries: %d, %v", len(list), err)
	}
}

// TestNULInNames: such a name is refused when it is added. Directories that have one
// already can be listed; a tar can't hold it and says so.
func TestNULInNames(t *testing.T) {
	m := newMemory(nil)
	o := New(m)
	opts, err := ParseAdd(NewQuery(nil), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a%00b", "dir%00/b", "%00"} {
		body := "--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"" + name + "\"\r\n\r\nx\r\n--b--\r\n"
		_, err := o.Add(t.Context(), m.Begin("a", 0), strings.NewReader(body), "b", opts, func(Event) {})
		if e := nodegate.AsError(err); err == nil || e.Code != nodegate.InvalidInput || !strings.Contains(e.Msg, "NUL character") {
			t.Errorf("%s: %v", name, err)
		}
	}
	leaf := m.keep(cid.Raw, []byte("x"))
	old := m.keep(cid.DagProtobuf, append(appendLink(nil, "a\x00b", leaf, 1), simpleNode(kindDirectory, nil, stat{})...))
	if list, err := lsOf(t.Context(), o, old.String(), true, Encoder{}); err != nil || len(list) != 1 || list[0].Name != "a\x00b" {
		t.Errorf("ls: %v, %v", list, err)
	}
	tree, err := o.Get(t.Context(), old.String())
	if err != nil {
		t.Fatal(err)
	}
	if err := tree.WriteTar(t.Context(), io.Discard, true); err == nil || !strings.Contains(err.Error(), `a\x00b`) {
		t.Errorf("get: %v", err)
	}
}
