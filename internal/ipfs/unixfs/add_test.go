package unixfs

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

const boundary = "------------------------boundary"

// upload is one part of a test's body.
type upload struct {
	name    string // "-" is none
	content string
	media   string
	field   string
}

// bodyOf writes a multipart body by hand, so that it can be wrong in any way.
func bodyOf(parts ...upload) []byte {
	var b bytes.Buffer
	for _, p := range parts {
		field := p.field
		if field == "" {
			field = "file"
		}
		fmt.Fprintf(&b, "--%s\r\nContent-Disposition: form-data; name=%q", boundary, field)
		if p.name != "-" {
			fmt.Fprintf(&b, "; filename=%q", p.name)
		}
		if p.media != "" {
			fmt.Fprintf(&b, "\r\nContent-Type: %s", p.media)
		}
		fmt.Fprintf(&b, "\r\n\r\n%s\r\n", p.content)
	}
	fmt.Fprintf(&b, "--%s--\r\n", boundary)
	return b.Bytes()
}

func file(name, content string) upload { return upload{name: name, content: content} }
func directory(name string) upload     { return upload{name: name, media: typeDirectory} }
func symlink(name, to string) upload   { return upload{name: name, content: to, media: typeSymlink} }

// noise is content of a certain size that never repeats.
func noise(size int) string {
	b := make([]byte, size)
	r := rand.NewChaCha8([32]byte{1})
	_, _ = r.Read(b)
	return string(b)
}

func optionsOf(t testing.TB, query string) *Options {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ParseAdd(NewQuery(values), Limits{})
	if err != nil {
		t.Fatalf("options %s: %v", query, err)
	}
	return o
}

// added is a store with an upload in it.
func added(t testing.TB, query string, parts ...upload) (*memory, *Added) {
	t.Helper()
	m := newMemory(t)
	batch := m.Begin("account", -1)
	out, err := New(m).Add(t.Context(), batch, bytes.NewReader(bodyOf(parts...)), boundary, optionsOf(t, query), func(Event) {})
	if err != nil {
		t.Fatalf("add %s: %v", query, err)
	}
	if len(m.blocks) > 0 {
		t.Fatal("blocks are visible before the commit")
	}
	if err := batch.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m, out
}

// TestGolden has CIDs that are known from Kubo itself.
func TestGolden(t *testing.T) {
	for _, c := range []struct{ name, query, content, hash, size string }{
		{"hello", "", "hello", "QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX", "13"},
		{"hello newline", "", "hello world\n", "QmT78zSuBmuS4z925WZfrqQ1qHaJ56DQaTfyMUF7F8ff5o", "20"},
		{"empty", "", "", "QmbFMke1KXqnYyBBWxB74N4c5SBnJMVAiMNRcGu6x1AwQH", "6"},
		{"v1", "cid-version=1", "hello", "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq", "5"},
		{"raw leaves", "raw-leaves=true", "hello", "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq", "5"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, out := added(t, c.query, file("f.txt", c.content))
			want := []Event{{Name: "f.txt", Hash: c.hash, Size: c.size}}
			if diff := cmp.Diff(want, out.Events); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// treeCases are uploads whose answers must be Kubo's.
var treeCases = []struct {
	name  string
	parts []upload
}{
	{"file", []upload{file("a.txt", "a")}},
	{"two files", []upload{file("a.txt", "a"), file("b.txt", "b")}},
	{"no name", []upload{{name: "-", content: "anonymous"}}},
	{"escaped", []upload{file("dir%2Fa%20b.txt", "x")}},
	{"traversal", []upload{file("../../etc/x", "x")}},
	{"implied directories", []upload{file("d/e/1", "1"), file("d/e/2", "2"), file("d/f", "3")}},
	{"explicit directories", []upload{directory("d"), file("d/a", "1"), directory("d/e"), file("d/e/x", "2")}},
	{"empty directory", []upload{directory("d"), directory("d/none"), file("d/a", "1")}},
	{"only an empty directory", []upload{directory("d")}},
	{"out of order", []upload{file("a/1", "1"), file("b", "2"), file("a/2", "3")}},
	{"symlinks", []upload{symlink("s", "../target"), symlink("d/s", "x"), file("d/x", "y")}},
	{"empty symlink", []upload{symlink("s", "")}},
	{"below a file", []upload{file("a", "1"), file("a/b", "2"), file("c", "3")}},
	{"directory without name", []upload{directory("-"), file("x", "1"), file("y/z", "2")}},
	{"long and short", []upload{file("l", noise(700_000)), file("s", "s"), file("e", "")}},
	{"modes", []upload{
		{name: "m", content: "x", field: "file?mode=0644&mtime=1700000000&mtime-nsecs=7"},
		{name: "d", media: typeDirectory, field: "file?mode=0755&mtime=1600000000"},
		{name: "d/x", content: "x", field: "file?mode=0600"},
		{name: "s", content: "to", media: typeSymlink, field: "file?mtime=1500000000"},
		{name: "n", content: "neg", field: "file?mtime=-5"},
		{name: "q", content: "neg", field: "file?mtime=zz&mode=9"},
	}},
}

// queryCases are all options that have an effect on what is stored.
var queryCases = []string{
	"", "cid-version=1", "raw-leaves=true", "raw-leaves", "cid-version=1&raw-leaves=false", "hash=blake3", "hash=blake2b-256",
	"hash=sha1", "hash=sha2-512&raw-leaves=false", "chunker=size-1000", "chunker=size-262144", "chunker=rabin", "chunker=rabin-64-128-256",
	"chunker=rabin-1024", "chunker=buzhash", "trickle=true", "trickle=true&cid-version=1&chunker=size-100", "inline=true", "inline=true&inline-limit=100",
	"inline=true&cid-version=1", "wrap-with-directory=true", "w&cid-version=1&hash=blake3", "preserve-mode=true", "preserve-mtime=true",
	"preserve-mode=true&preserve-mtime=true&wrap-with-directory", "mode=0644", "mtime=1700000000&mtime-nsecs=5", "mode=0755&mtime=-1&wrap-with-directory=true",
	"max-file-links=2&chunker=size-50000", "max-file-links=3&trickle=true&chunker=size-10000", "max-directory-links=1", "max-directory-links=1&max-hamt-fanout=8&w=true",
	"empty-dirs=false", "silent=true", "silent=true&wrap-with-directory=true", "only-hash=true", "hash=identity&chunker=size-64&raw-leaves=true&max-file-links=2",
}

// TestAddAsKubo compares every upload with every option to the oracle.
func TestAddAsKubo(t *testing.T) {
	for _, query := range queryCases {
		for _, c := range treeCases {
			t.Run(c.name+" "+query, func(t *testing.T) { compare(t, query, c.parts) })
		}
	}
}

func compare(t *testing.T, query string, parts []upload) {
	t.Helper()
	opts := optionsOf(t, query)
	body := bodyOf(parts...)
	want, roots, wantErr := oracleAdd(t, body, boundary, opts)
	m := newMemory(t)
	batch := m.Begin("account", -1)
	got, err := New(m).Add(t.Context(), batch, bytes.NewReader(body), boundary, opts, func(Event) {})
	if wantErr != nil {
		if err == nil || nodegate.AsError(err).Msg != wantErr.Error() {
			t.Fatalf("error %v, want %v", err, wantErr)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Events); diff != "" {
		t.Error(diff)
	}
	for i, r := range got.Roots {
		if r.CID != roots[i] {
			t.Errorf("root %d is %s, want %s", i, r.CID, roots[i])
		}
	}
	if len(roots) != len(got.Roots) {
		t.Errorf("%d roots, want %d", len(got.Roots), len(roots))
	}
}

// TestAddSizes walks the borders of chunks and of branches.
func TestAddSizes(t *testing.T) {
	full.Slow(t)
	for _, links := range []int{2, 3, 5} {
		for n := range 60 {
			content := noise(n * 10)
			if n%3 == 1 {
				content += "x"
			}
			for _, layout := range []string{"", "&trickle=true", "&cid-version=1", "&trickle=true&cid-version=1", "&mode=0644"} {
				query := fmt.Sprintf("chunker=size-10&max-file-links=%d%s", links, layout)
				compare(t, query, []upload{file("f", content)})
			}
		}
	}
}

func TestAddLarge(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("reads 50 MB")
	}
	content := noise(174*DefaultChunk + 5) // one chunk more than a branch holds
	for _, query := range []string{"", "cid-version=1&chunker=size-1048576", "chunker=buzhash", "trickle=true"} {
		compare(t, query, []upload{file("f", content)})
	}
	compare(t, "", []upload{file("zeros", strings.Repeat("\x00", 3<<20))})
}

// TestAddSharded crosses the border where a directory becomes a HAMT: with names of
// 900 bytes it holds 280 entries in one block.
func TestAddSharded(t *testing.T) {
	var parts []upload
	for i := range 300 {
		parts = append(parts, file(fmt.Sprintf("dir/%0900d/x", i), "x"))
	}
	for _, n := range []int{280, 281, 300} {
		compare(t, "", parts[:n])
	}
	compare(t, "cid-version=1&max-hamt-fanout=16&mtime=5", parts)
	compare(t, "w=1&hash=blake3", parts)
}

func TestAddProgress(t *testing.T) {
	for _, c := range []struct {
		size int
		want []int64
	}{{0, []int64{0}}, {5, []int64{5}}, {262144, []int64{262144, 262144}}, {600_000, []int64{262144, 524288, 600_000}}} {
		m := newMemory(t)
		var got []int64
		_, err := New(m).Add(t.Context(), m.Begin("a", -1), bytes.NewReader(bodyOf(file("z.bin", noise(c.size)))), boundary, optionsOf(t, "progress=true"), func(e Event) {
			if e.Name != "z.bin" || e.Hash != "" {
				t.Errorf("progress line %+v", e)
			}
			got = append(got, e.Bytes)
		})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%d bytes: %s", c.size, diff)
		}
	}
}

func TestAddPins(t *testing.T) {
	m, out := added(t, "pin-name=mine", file("a", noise(600_000)), file("b", strings.Repeat("x", 1<<20)))
	for _, r := range out.Roots {
		p, ok := m.pins[r.CID.String()]
		if !ok || !p.Recursive || p.Name != "mine" || p.AccountID != "account" {
			t.Errorf("pin of %s: %+v", r.CID, p)
		}
		if p.Size != r.Stored {
			t.Errorf("pin of %s costs %d, stored are %d", r.CID, p.Size, r.Stored)
		}
	}
	if r := out.Roots[1]; r.Stored > 300_000 || r.Size < 1<<20 {
		t.Errorf("four equal chunks: stored %d of %d", r.Stored, r.Size)
	}
	for _, query := range []string{"pin=false", "only-hash=true"} {
		m, _ := added(t, query, file("a", "a"))
		if len(m.pins) != 0 {
			t.Errorf("%s pins", query)
		}
		if stored := len(m.blocks) > 0; stored != (query == "pin=false") {
			t.Errorf("%s stores: %v", query, stored)
		}
	}
}

func TestAddRefused(t *testing.T) {
	many := make([]upload, 12)
	for i := range many {
		many[i] = file(fmt.Sprint("f", i), "x")
	}
	whole := string(bodyOf(file("a", noise(5000)), file("b", "b")))
	long := string(bodyOf(file("a", noise(3<<20))))
	for _, c := range []struct {
		name, body, query string
		code              nodegate.Code
	}{
		{"no parts", "--" + boundary + "--\r\n", "", nodegate.ExecutionFailed},
		{"nothing", "", "", nodegate.InvalidInput},
		{"other boundary", "--other\r\n\r\nx\r\n--other--", "", nodegate.InvalidInput},
		{"no closing boundary", strings.TrimSuffix(whole, "--\r\n"), "", nodegate.InvalidInput},
		{"cut in the content", whole[:1000], "", nodegate.InvalidInput},
		{"cut in long content", long[:2<<20], "", nodegate.InvalidInput},
		{"cut in long content at a chunk", long[:strings.Index(long, "\r\n\r\n")+4+DefaultChunk], "", nodegate.InvalidInput},
		{"cut in a header", whole[:40], "", nodegate.InvalidInput},
		{"cut before a header", strings.TrimSuffix(whole, "--\r\n") + "\r\n", "", nodegate.InvalidInput},
		{"cut in the second header", whole[:strings.LastIndex(whole, "filename")], "", nodegate.InvalidInput},
		{"cut after the second header", whole[:strings.LastIndex(whole, "\r\n\r\n")+2], "", nodegate.InvalidInput},
		{"a part without disposition", whole[:len(whole)-len("--\r\n")] + "\r\n\r\nx\r\n--" + boundary + "--\r\n", "", nodegate.InvalidInput},
		{"too many parts", string(bodyOf(many...)), "", nodegate.TooLarge},
		{"long name", string(bodyOf(file(strings.Repeat("n", 1025), "x"))), "", nodegate.InvalidInput},
		{"deep name", string(bodyOf(file(strings.Repeat("d/", 65)+"f", "x"))), "", nodegate.InvalidInput},
		{"long target", string(bodyOf(symlink("s", strings.Repeat("t", 5000)))), "", nodegate.InvalidInput},
		{"large file", string(bodyOf(file("f", noise(4<<20)))), "", nodegate.TooLarge},
		{"many blocks", string(bodyOf(file("f", noise(1000)))), "chunker=size-1", nodegate.TooLarge},
		{"duplicate", string(bodyOf(file("d/x", "1"), file("d/x", "2"))), "", nodegate.ExecutionFailed},
		{"bad media type", string(bodyOf(upload{name: "x", media: "a/b/c"})), "", nodegate.InvalidInput},
		{"unexpected", string(bodyOf(file("x", "1"))), "expect-cid=QmWfVY9y3xjsixTgbd9AorQxH7VtMpzfx2HaWtsoUYecaX", nodegate.Mismatch},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(t)
			opts := optionsOf(t, c.query)
			opts.Limits = Limits{Parts: 10, FileBytes: 3 << 20, Blocks: 100}
			out, err := New(m).Add(t.Context(), m.Begin("a", -1), strings.NewReader(c.body), boundary, opts, func(Event) {})
			if !errors.Is(err, c.code) {
				t.Errorf("%+v, %v, want %v", out, err, c.code)
			}
		})
	}
	for _, body := range []string{strings.TrimSuffix(whole, "\r\n"), whole + "and an epilogue"} {
		m := newMemory(t)
		if out, err := New(m).Add(t.Context(), m.Begin("a", -1), strings.NewReader(body), boundary, optionsOf(t, ""), nil); err != nil || len(out.Roots) != 2 {
			t.Errorf("a body that ends with %q: %v", body[len(body)-20:], err)
		}
	}
	_, out := added(t, "expect-cid=bafybeid3weurg3gvyoi7nisadzolomlvoxoppe2sesktnpvdve3256n5tq", file("f", "hello"))
	if len(out.Roots) != 1 {
		t.Error("the expected CID in its other form is refused")
	}
}
