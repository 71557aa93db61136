package unixfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ipfs/go-cid"
	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// whole reads all of some content.
func whole(t testing.TB, o *Objects, span Span, paths ...string) (string, error) {
	t.Helper()
	c, err := o.Cat(t.Context(), paths, span)
	if err != nil {
		return "", err
	}
	defer c.Close()
	var b bytes.Buffer
	_, err = c.WriteTo(&b)
	if err == nil && int64(b.Len()) != c.Size() {
		t.Errorf("%d bytes, announced were %d", b.Len(), c.Size())
	}
	return b.String(), err
}

func messageOf(err error) string {
	if err == nil {
		return ""
	}
	return nodegate.AsError(err).Msg
}

// TestCatPaths has every form of an argument.
func TestCatPaths(t *testing.T) {
	parts := []upload{file("d/a.txt", "content of a"), file("d/e/b", "content of b"), symlink("d/s", "a.txt"), file("d/none", "")}
	for i := range 300 {
		parts = append(parts, file(fmt.Sprintf("d/big/%0900d", i), fmt.Sprint("number ", i)))
	}
	m, out := added(t, "", parts...)
	root := out.Roots[0].CID
	o := New(m)
	v1 := cid.NewCidV1(root.Type(), root.Hash()).String()
	for _, c := range []struct{ path, want, message string }{
		{root.String() + "/a.txt", "content of a", ""},
		{"/ipfs/" + root.String() + "/a.txt", "content of a", ""},
		{"/ipfs/" + root.String() + "//e/../a.txt/", "content of a", ""},
		{"ipfs://" + root.String() + "/e/b", "content of b", ""},
		{"ipfs:" + root.String() + "/e/b", "content of b", ""},
		{v1 + "/e/b", "content of b", ""},
		{root.String() + "/none", "", ""},
		{root.String() + "/s", "a.txt", ""},
		{fmt.Sprintf("%s/big/%0900d", root, 7), "number 7", ""},
		{root.String() + "/big/nope", "", fmt.Sprintf("no link named %q under %s", "nope", shardOf(t, out))},
		{root.String() + "/nope", "", fmt.Sprintf("no link named %q under %s", "nope", root)},
		{root.String() + "/a.txt/x", "", "no link named \"x\" under " + hashOfEvent(t, out, "d/a.txt")},
		{root.String(), "", "this dag node is a directory"},
		{root.String() + "/big", "", "this dag node is a directory"},
		{"notacid", "", `invalid path "notacid": path does not have enough components`},
		{"", "", `invalid path "": path does not have enough components`},
		{"/ipns/example.org", "", "unsupported path namespace: ipns: names are not resolved here, use a CID"},
		{"QmbFMke1KXqnYyBBWxB74N4c5SBn", "", `invalid path "QmbFMke1KXqnYyBBWxB74N4c5SBn": path does not have enough components`},
		{"QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX", "", "block was not found locally (offline): ipld: could not find QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX"},
		{root.String() + strings.Repeat("/x", 2000), "", "invalid path: more than 1024 names"},
	} {
		got, err := whole(t, o, Span{ToEnd: true}, c.path)
		if got != c.want || c.message != "" && messageOf(err) != c.message || c.message == "" && err != nil {
			t.Errorf("cat %.100q: %q, %v, want %q, %q", c.path, got, err, c.want, c.message)
		}
	}
}

func shardOf(t *testing.T, out *Added) string { return hashOfEvent(t, out, "d/big") }

func hashOfEvent(t *testing.T, out *Added, name string) string {
	t.Helper()
	for _, e := range out.Events {
		if e.Name == name {
			return e.Hash
		}
	}
	t.Fatalf("no line for %s", name)
	return ""
}

// TestCatSpans reads any part of any sequence of files.
func TestCatSpans(t *testing.T) {
	contents := []string{noise(2500), "", "short", noise(777)}
	for _, query := range []string{"chunker=size-10&max-file-links=3", "chunker=size-10&max-file-links=3&trickle=true", "cid-version=1&chunker=size-64", ""} {
		var parts []upload
		for i, content := range contents {
			parts = append(parts, file(fmt.Sprint(i), content))
		}
		m, out := added(t, query, parts...)
		o := New(m)
		rapid.Check(t, func(r *rapid.T) {
			var paths []string
			all := ""
			for _, i := range rapid.SliceOfN(rapid.IntRange(0, 3), 0, 4).Draw(r, "files") {
				paths = append(paths, out.Roots[i].CID.String())
				all += contents[i]
			}
			span := Span{Offset: int64(rapid.IntRange(0, 6000).Draw(r, "offset")), Length: int64(rapid.IntRange(0, 6000).Draw(r, "length")), ToEnd: rapid.Bool().Draw(r, "to end")}
			want := all[min(int(span.Offset), len(all)):]
			if !span.ToEnd {
				want = want[:min(int(span.Length), len(want))]
			}
			got, err := whole(t, o, span, paths...)
			if err != nil || got != want {
				r.Fatalf("%+v: %d bytes, %v, want %d", span, len(got), err, len(want))
			}
		})
	}
	for span, want := range map[Span]string{{Offset: -1}: "cannot specify negative offset", {Length: -1}: "cannot specify negative length"} {
		if _, err := New(newMemory(t)).Cat(t.Context(), []string{"x"}, span); messageOf(err) != want {
			t.Errorf("%+v: %v", span, err)
		}
	}
}

// TestCatRead reads in small pieces, and after an error never anything again.
func TestCatRead(t *testing.T) {
	content := noise(5000)
	m, out := added(t, "chunker=size-100&max-file-links=4", file("f", content))
	o := New(m)
	root := out.Roots[0].CID.String()
	c, err := o.Cat(t.Context(), []string{root}, Span{ToEnd: true})
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(io.MultiReader(io.LimitReader(c, 33), c))
	if err != nil || string(got) != content {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	for at := 0; at < len(content); at += 700 {
		broken := New(without(m, content[at-at%100:at-at%100+100]))
		c, err := broken.Cat(t.Context(), []string{root}, Span{ToEnd: true})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		_, err = c.WriteTo(&b)
		if !errors.Is(err, nodegate.NotFound) || b.String() != content[:at-at%100] {
			t.Errorf("leaf at %d missing: %d bytes, %v", at, b.Len(), err)
		}
		if n, err := c.Read(make([]byte, 10)); n != 0 || !errors.Is(err, nodegate.NotFound) {
			t.Errorf("after the error: %d, %v", n, err)
		}
		c.Close()
	}
}

// without is a copy of a store that lacks the leaf with some content.
func without(m *memory, content string) *memory {
	next := newMemory(m.t)
	for k, data := range m.blocks {
		if !bytes.Contains(data, []byte(content)) {
			next.blocks[k] = data
		}
	}
	return next
}

// TestCatAhead sees that a short read does not fetch a long file.
func TestCatAhead(t *testing.T) {
	m, out := added(t, "chunker=size-1000", file("f", noise(170_000)))
	m.gets = 0
	if got, err := whole(t, New(m), Span{Offset: 50_500, Length: 1000}, out.Roots[0].CID.String()); len(got) != 1000 || err != nil {
		t.Fatal(len(got), err)
	}
	if m.gets > 4 {
		t.Errorf("two leaves took %d reads", m.gets)
	}
}

func TestLs(t *testing.T) {
	m, out := added(t, "", file("d/b", noise(600_000)), file("d/a", "x"), symlink("d/s", "to"), directory("d/empty"), upload{name: "d/e/x", content: "1"})
	o := New(m)
	enc := ParseEncoder(NewQuery(nil))
	list, err := lsOf(t.Context(), o, out.Roots[0].CID.String(), true, enc)
	if err != nil {
		t.Fatal(err)
	}
	want := []Entry{
		{Name: "a", Hash: hashOfEvent(t, out, "d/a"), Size: 1, Type: 2},
		{Name: "b", Hash: hashOfEvent(t, out, "d/b"), Size: 600_000, Type: 2},
		{Name: "e", Hash: hashOfEvent(t, out, "d/e"), Type: 1},
		{Name: "empty", Hash: hashOfEvent(t, out, "d/empty"), Type: 1},
		{Name: "s", Hash: hashOfEvent(t, out, "d/s"), Size: 2, Type: 4, Target: "to"},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	list, err = lsOf(t.Context(), o, out.Roots[0].CID.String()+"/b", true, enc)
	if err != nil || len(list) != 3 || list[0].Size != 262144 || list[0].Type != 2 || list[0].Name != "" {
		t.Errorf("blocks of a file: %+v, %v", list, err)
	}
	list, err = lsOf(t.Context(), o, out.Roots[0].CID.String(), false, enc)
	if err != nil || list[0].Type != 0 || list[0].Size != 0 {
		t.Errorf("without looking: %+v, %v", list, err)
	}
}

// TestSharedAhead: readers that stop reading hold little together, and what they
// held is given back.
func TestSharedAhead(t *testing.T) {
	m, out := added(t, "chunker=size-1000", file("f", noise(30_000)))
	o := New(m)
	var open []*Content
	for range 60 {
		c, err := o.Cat(t.Context(), []string{out.Roots[0].CID.String()}, Span{ToEnd: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1001)); err != nil { // into the second leaf: now it reads ahead
			t.Fatal(err)
		}
		open = append(open, c)
	}
	if n := o.ahead.Load(); n < sharedAhead || n > sharedAhead+16+60 {
		t.Errorf("%d blocks are fetched ahead", n)
	}
	for _, c := range open {
		_ = c.Close()
	}
	if n := o.ahead.Load(); n != 0 {
		t.Errorf("%d blocks are still counted", n)
	}
}
