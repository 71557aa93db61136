package unixfs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
)

// onDisk makes the store on disk what this package wants: only the type of Begin's
// result differs.
type onDisk struct{ *blockstore.Store }

func (s onDisk) Begin(accountID string, quota int64) Batch { return s.Store.Begin(accountID, quota) }

func openDisk(t testing.TB, dir string) onDisk {
	t.Helper()
	s, err := blockstore.Open(t.Context(), blockstore.Config{Dir: dir, Links: Links, ScrubRate: -1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return onDisk{s}
}

// TestDisk adds, reads, pins and exports over the real store, and again after it was
// closed and opened.
func TestDisk(t *testing.T) {
	dir := t.TempDir()
	s := openDisk(t, dir)
	content := noise(3 << 20)
	parts := []upload{file("d/a", content), file("d/e/b", "b"), symlink("d/s", "a")}
	for i := range 300 {
		parts = append(parts, file(fmt.Sprintf("d/big/%0900d", i), fmt.Sprint(i)))
	}
	batch := s.Begin("account", 0)
	out, err := New(s).Add(t.Context(), batch, bytes.NewReader(bodyOf(parts...)), boundary, optionsOf(t, "pin-name=x"), nil)
	if err != nil {
		t.Fatal(err)
	}
	root := out.Roots[0].CID.String()
	if _, err := New(s).Cat(t.Context(), []string{root + "/a"}, Span{ToEnd: true}); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("before the commit: %v", err)
	}
	if err := batch.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		o := New(s)
		for path, want := range map[string]string{"/a": content, "/e/b": "b", fmt.Sprintf("/big/%0900d", 9): "9"} {
			if got, err := whole(t, o, Span{ToEnd: true}, root+path); err != nil || got != want {
				t.Errorf("%.20s: %d bytes, %v", path, len(got), err)
			}
		}
		reader := s.Begin("other", 0)
		w, err := o.Walk(t.Context(), reader, out.Roots[0].CID, Limits{}, func(Walked) {})
		if err != nil || w.Charge != out.Roots[0].Stored {
			t.Errorf("walk: %+v, %v, want %d bytes", w, err, out.Roots[0].Stored)
		}
		reader.Abort()
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openDisk(t, dir)
	}
}

// TestDamage flips a bit of a leaf on disk: what was sent before it is right, and
// then comes an error, never wrong bytes.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := openDisk(t, dir)
	content := noise(1 << 20)
	batch := s.Begin("account", 0)
	out, err := New(s).Add(t.Context(), batch, bytes.NewReader(bodyOf(file("f", content))), boundary, optionsOf(t, "chunker=size-10000"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := batch.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	flip(t, filepath.Join(dir, "segments"), content[500_000:500_100])
	c, err := New(openDisk(t, dir)).Cat(t.Context(), []string{out.Roots[0].CID.String()}, Span{ToEnd: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var b bytes.Buffer
	_, err = io.Copy(&b, c)
	if !errors.Is(err, nodegate.Damaged) || b.String() != content[:500_000] {
		t.Errorf("%d bytes, %v", b.Len(), err)
	}
}

// flip changes one bit of a text in one of a folder's files.
func flip(t *testing.T, dir, text string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if at := bytes.Index(data, []byte(text)); at >= 0 {
			data[at] ^= 1
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("the text is in no file")
}
