package unixfs

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/ipfs/go-cid"
	car "github.com/ipld/go-car/v2"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// carred writes a CAR of what is at a path, and returns a store with only the blocks
// that are in it. go-car checks each block against its CID.
func carred(t testing.TB, m *memory, path string, o ExportOptions) (only *memory, list []cid.Cid, root cid.Cid) {
	t.Helper()
	f, err := New(m).Find(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Export(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := e.Write(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	r, err := car.NewBlockReader(&out)
	if err != nil {
		t.Fatal(err)
	}
	only = newMemory(t)
	for {
		b, err := r.Next()
		if err == io.EOF {
			return only, list, r.Roots[0]
		}
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, b.Cid())
		only.blocks[string(b.Cid().Hash())] = b.RawData()
	}
}

// TestExportRanges: whatever part of a file is asked for, the CAR has what is needed
// to get from the root to it and to read it, and nothing twice.
func TestExportRanges(t *testing.T) {
	content := noise(40_000)
	m, out := added(t, "chunker=size-500&max-file-links=4&wrap-with-directory=true", file("deep/file", content))
	root := out.Roots[0].CID.String()
	trickled, trickle := added(t, "chunker=size-500&trickle=true&wrap-with-directory=true", file("deep/file", content))
	rapid.Check(t, func(rt *rapid.T) {
		m, root := m, root
		if rapid.Bool().Draw(rt, "trickle") {
			m, root = trickled, trickle.Roots[0].CID.String()
		}
		size := int64(len(content))
		span := ByteSpan{From: rapid.Int64Range(-size-10, size+10).Draw(rt, "from"), To: rapid.Int64Range(-size-10, size+10).Draw(rt, "to"), Bounded: rapid.Bool().Draw(rt, "bounded")}
		only, list, _ := carred(t, m, root+"/deep/file", ExportOptions{Scope: ScopeEntity, Bytes: span})
		seen := map[cid.Cid]bool{}
		for _, c := range list {
			if seen[c] {
				t.Fatalf("%+v: %s twice", span, c)
			}
			seen[c] = true
		}
		from, end := span.within(size)
		if from >= end {
			return
		}
		got, err := whole(t, New(only), Span{Offset: from, Length: end - from}, root+"/deep/file")
		if err != nil || got != content[from:end] {
			t.Fatalf("%+v: %d of %d bytes, %v", span, len(got), end-from, err)
		}
		if most := int((end-from)/500)*2 + 40; len(list) > most {
			t.Fatalf("%+v: %d blocks for %d bytes", span, len(list), end-from)
		}
	})
}

// TestExportScopes counts the blocks of each scope.
func TestExportScopes(t *testing.T) {
	var parts []upload
	for i := range 300 {
		parts = append(parts, file(fmt.Sprintf("d/big/%d", i), noise(10)))
	}
	parts = append(parts, file("d/f", noise(1000)), file("d/g", noise(1000)))
	m, out := added(t, "chunker=size-100&max-directory-links=100", parts...)
	root := out.Roots[0].CID.String()
	for path, want := range map[string]map[Scope]int{
		root + "/f": {ScopeBlock: 2, ScopeEntity: 12, ScopeAll: 12},
		root:        {ScopeBlock: 1, ScopeEntity: 1},
	} {
		for scope, n := range want {
			if _, list, _ := carred(t, m, path, ExportOptions{Scope: scope}); len(list) != n {
				t.Errorf("%s, scope %d: %d blocks, want %d", path, scope, len(list), n)
			}
		}
	}
	if _, list, at := carred(t, m, root, ExportOptions{}); len(list) != len(m.blocks) || at.String() != root || list[0] != at {
		t.Errorf("all: %d blocks of %d", len(list), len(m.blocks))
	}
	_, once, _ := carred(t, m, root, ExportOptions{})
	_, twice, _ := carred(t, m, root, ExportOptions{Duplicates: true}) // f and g are the same
	if len(twice) != len(once)+11+299 {
		t.Errorf("%d blocks, %d with duplicates", len(once), len(twice))
	}
	only, _, _ := carred(t, m, root+"/big", ExportOptions{Scope: ScopeEntity})
	f, err := New(only).Find(t.Context(), root+"/big")
	if err != nil {
		t.Fatal(err)
	}
	e, err := f.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if items, more, err := e.Items(t.Context(), 1000); len(items) != 300 || more || err != nil {
		t.Errorf("%d entries, %v", len(items), err)
	}
	if items, more, err := e.Items(t.Context(), 7); len(items) != 7 || !more || err != nil {
		t.Errorf("%d entries, %v, %v", len(items), more, err)
	}
	for name, want := range map[string]bool{"17": true, "301": false} {
		if has, err := e.Has(t.Context(), name); has != want || err != nil {
			t.Errorf("%s: %v %v", name, has, err)
		}
	}
}

// TestExportLimits: a small DAG that repeats itself does not become a CAR without end.
func TestExportLimits(t *testing.T) {
	m := newMemory(t)
	at := m.keep(cid.Raw, []byte("leaf"))
	for range 30 {
		at = m.keep(cid.DagProtobuf, inner([]uint64{0, 0}, at, at))
	}
	f, err := New(m).Find(t.Context(), at.String())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []ExportOptions{{Duplicates: true, Limits: Limits{Blocks: 1000}}, {Limits: Limits{Blocks: 10}}} {
		e, err := f.Export(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Write(t.Context(), io.Discard); nodegate.AsError(err).Code != nodegate.TooLarge {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestFind tells what is no path from what is not there.
func TestFind(t *testing.T) {
	m, out := added(t, "wrap-with-directory=true", file("a/b", "x"))
	root := out.Roots[0].CID.String()
	for path, want := range map[string]nodegate.Code{
		"/ipfs/": nodegate.InvalidInput, "/ipfs/nope": nodegate.InvalidInput, "/ipns/example.com": nodegate.InvalidInput,
		root + "/none": nodegate.NotFound, root + "/a/b/c": nodegate.NotFound,
	} {
		if _, err := New(m).Find(t.Context(), path); nodegate.AsError(err).Code != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	f, err := New(m).Find(t.Context(), "/ipfs/"+root+"/a/b")
	if err != nil || len(f.Roots) != 3 || f.Roots[0].String() != root || f.Roots[2] != f.CID {
		t.Errorf("%+v %v", f, err)
	}
}

// TestBelow does not read leaves, and goes on past a block that is gone.
func TestBelow(t *testing.T) {
	m, out := added(t, "cid-version=1&chunker=size-100&wrap-with-directory=true", file("a", noise(1000)), file("b", noise(2000)[1000:]))
	root := out.Roots[0].CID
	list := func() (seen []cid.Cid, lost int) {
		m.gets = 0
		err := New(m).Below(Limits{}, func(c cid.Cid) error { seen = append(seen, c); return nil }, func(cid.Cid, error) { lost++ }).Root(t.Context(), root)
		if err != nil {
			t.Error(err)
		}
		return seen, lost
	}
	if seen, lost := list(); len(seen) != len(m.blocks)-1 || lost != 0 || m.gets != 3 {
		t.Errorf("%d of %d blocks, %d lost, %d read", len(seen), len(m.blocks), lost, m.gets)
	}
	delete(m.blocks, string(out.Events[0].cid(t).Hash()))
	if seen, lost := list(); len(seen) != 12 || lost != 1 {
		t.Errorf("%d blocks, %d lost", len(seen), lost)
	}
}

func (e Event) cid(t *testing.T) cid.Cid {
	t.Helper()
	c, err := cid.Decode(e.Hash)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
