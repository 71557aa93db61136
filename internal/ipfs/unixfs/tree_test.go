package unixfs

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ipfs/boxo/files"
	dag "github.com/ipfs/boxo/ipld/merkledag"
	dagtest "github.com/ipfs/boxo/ipld/merkledag/test"
	unixfile "github.com/ipfs/boxo/ipld/unixfs/file"
	blocks "github.com/ipfs/go-block-format"
	"github.com/ipfs/go-cid"
)

// archived is what a tar says of one entry.
type archived struct {
	Name, Link, Content string
	Type                byte
	Mode                int64
	Mtime               int64
}

func readTar(t *testing.T, r io.Reader) []archived {
	t.Helper()
	var list []archived
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		a := archived{Name: h.Name, Link: h.Linkname, Content: string(content), Type: h.Typeflag, Mode: h.Mode}
		if h.ModTime.Unix() < 1_700_000_001 { // others are the time of the call
			a.Mtime = h.ModTime.UnixNano()
		}
		list = append(list, a)
	}
}

// TestTarAsKubo compares the archive with the one that boxo writes, as Kubo does.
func TestTarAsKubo(t *testing.T) {
	parts := []upload{
		{name: "d", media: typeDirectory, field: "file?mode=0750&mtime=1600000000"},
		{name: "d/a", content: noise(700_000), field: "file?mode=0644&mtime=1700000000&mtime-nsecs=7"},
		{name: "d/s", content: "../x", media: typeSymlink},
		directory("d/empty"), file("d/none", ""), file("d/e/b", "b"),
	}
	for i := range 300 {
		parts = append(parts, file(fmt.Sprintf("d/big/%0800d", i), fmt.Sprint(i)))
	}
	for _, query := range []string{"", "preserve-mode=true&preserve-mtime=true", "cid-version=1"} {
		m, out := added(t, query, parts...)
		root := out.Roots[0].CID
		service := dagtest.Mock()
		err := inOrder(t.Context(), New(m).get, root, Limits{}, func(c cid.Cid, data []byte) error {
			b, err := blocks.NewBlockWithCid(data, c)
			if err != nil {
				return err
			}
			decode := dag.DecodeProtobufBlock
			if c.Type() == cid.Raw {
				decode = dag.DecodeRawBlock
			}
			nd, err := decode(b)
			if err != nil {
				return err
			}
			return service.Add(t.Context(), nd)
		})
		if err != nil {
			t.Fatal(err)
		}
		nd, err := service.Get(t.Context(), root)
		if err != nil {
			t.Fatal(err)
		}
		for _, plain := range []bool{true, false} {
			fn, err := unixfile.NewUnixfsFile(t.Context(), service, nd)
			if err != nil {
				t.Fatal(err)
			}
			var want, got bytes.Buffer
			w, _ := files.NewTarWriter(&want)
			if !plain {
				w.SetFormat(tar.FormatPAX)
			}
			if err := w.WriteFile(fn, root.String()); err != nil {
				t.Fatal(err)
			}
			w.Close()
			tree, err := New(m).Get(t.Context(), "/ipfs/"+root.String())
			if err != nil {
				t.Fatal(err)
			}
			if size, _ := fn.Size(); size != tree.Size() {
				t.Errorf("size %d, want %d", tree.Size(), size)
			}
			if err := tree.WriteTar(t.Context(), &got, plain); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(readTar(t, &want), readTar(t, &got)); diff != "" {
				t.Errorf("%s plain %v: %.2000s", query, plain, diff)
			}
		}
	}
}
