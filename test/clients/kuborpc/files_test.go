package kuborpc

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/boxo/path"
	"github.com/ipfs/kubo/client/rpc"
	iface "github.com/ipfs/kubo/core/coreiface"
	"github.com/ipfs/kubo/core/coreiface/options"
	"github.com/multiformats/go-multihash"
)

// The options of Unixfs().Add, by Kubo's answers to the same 5 bytes.
func TestAddOptions(t *testing.T) {
	api := connect(t)
	o := options.Unixfs
	for name, c := range map[string]struct {
		opts []options.UnixfsAddOption
		want string
	}{
		"defaults":    {nil, hello},
		"CIDv1":       {[]options.UnixfsAddOption{o.CidVersion(1)}, "/ipfs/bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"},
		"raw leaves":  {[]options.UnixfsAddOption{o.RawLeaves(true)}, "/ipfs/bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"},
		"no leaves":   {[]options.UnixfsAddOption{o.CidVersion(1), o.RawLeaves(false)}, "/ipfs/bafybeid3weurg3gvyoi7nisadzolomlvoxoppe2sesktnpvdve3256n5tq"},
		"BLAKE3":      {[]options.UnixfsAddOption{o.Hash(multihash.BLAKE3)}, ""},
		"inline":      {[]options.UnixfsAddOption{o.Inline(true), o.CidVersion(1)}, "/ipfs/bafkqablimvwgy3y"},
		"trickle":     {[]options.UnixfsAddOption{o.Layout(options.TrickleLayout)}, "/ipfs/QmSYVhw7DFAQTznBx6ZMvX71VKuyfecVBgt8E2iruC7sCC"},
		"chunker":     {[]options.UnixfsAddOption{o.Chunker("size-2")}, ""},
		"hash only":   {[]options.UnixfsAddOption{o.HashOnly(true)}, hello},
		"without pin": {[]options.UnixfsAddOption{o.Pin(false, "")}, hello},
		"named pin":   {[]options.UnixfsAddOption{o.Pin(true, "a name")}, hello},
	} {
		t.Run(name, func(t *testing.T) {
			got := add(t, api, fileOf("hello"), c.opts...)
			if c.want != "" && got.String() != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			if content := read(t, api, got); c.want != hello && string(content) != "hello" {
				t.Errorf("content %q", content)
			}
		})
	}
}

// read returns the content of a file.
func read(t *testing.T, api *rpc.HttpApi, p path.Path) []byte {
	t.Helper()
	node, err := api.Unixfs().Get(deadline(t), p)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	content, err := io.ReadAll(files.ToFile(node))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestAddReportsProgress(t *testing.T) {
	api, content := connect(t), data(3<<20, 1)
	events := make(chan any, 1000)
	root := add(t, api, files.NewBytesFile(content), options.Unixfs.Events(events), options.Unixfs.Progress(true))
	close(events)
	var last *iface.AddEvent
	var lines int
	for e := range events {
		if last = e.(*iface.AddEvent); last.Bytes > 0 {
			lines++
		}
	}
	if lines < 10 || last.Path.String() != root.String() || last.Size == "" {
		t.Errorf("%d lines of progress, the last one %+v", lines, last)
	}
}

// A file can be read from anywhere: the client asks again with an offset.
func TestReadFile(t *testing.T) {
	api, content := connect(t), data(5<<20+17, 2)
	node, err := api.Unixfs().Get(deadline(t), add(t, api, files.NewBytesFile(content)))
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	if size, err := node.Size(); err != nil || size != int64(len(content)) {
		t.Errorf("size %d, %v", size, err)
	}
	file := node.(interface {
		files.File
		io.ReaderAt
		io.Seeker
	})
	got, err := io.ReadAll(file)
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	for _, at := range []int64{0, 262_000, int64(len(content)) - 10} {
		if _, err := file.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		part := make([]byte, 10)
		if _, err := io.ReadFull(file, part); err != nil || !bytes.Equal(part, content[at:at+10]) {
			t.Errorf("at %d after a seek: %x, %v", at, part, err)
		}
		if n, err := file.ReadAt(part, at); err != nil || !bytes.Equal(part, content[at:at+10]) {
			t.Errorf("at %d: %d bytes, %v", at, n, err)
		}
	}
	if n, err := file.ReadAt(make([]byte, 10), int64(len(content))-3); n != 3 || err != io.EOF {
		t.Errorf("at the end: %d bytes, %v", n, err)
	}
}

// tree is a folder with all that a folder can have.
func tree() files.Directory {
	return files.NewMapDirectory(map[string]files.Node{
		"a.txt": fileOf("a"),
		"empty": files.NewMapDirectory(nil),
		"link":  files.NewLinkFile("a.txt", nil),
		"sub":   files.NewMapDirectory(map[string]files.Node{"b c.txt": fileOf("b"), "ä.bin": files.NewBytesFile(data(1<<20, 3))}),
	})
}

// contents are the files of a folder by their paths; a folder has a slash.
func contents(t *testing.T, node files.Node) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := files.Walk(node, func(name string, node files.Node) error {
		switch n := node.(type) {
		case *files.Symlink:
			found[name] = "-> " + n.Target
		case files.Directory:
			found[name+"/"] = ""
		case files.File:
			content, err := io.ReadAll(n)
			if err != nil {
				return err
			}
			found[name] = string(content)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDirectory(t *testing.T) {
	api := connect(t)
	root := add(t, api, tree())
	node, err := api.Unixfs().Get(deadline(t), root)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := contents(t, node), contents(t, tree()); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
	}
	if got := read(t, api, join(t, root, "sub", "b c.txt")); string(got) != "b" {
		t.Errorf("a file by its path is %q", got)
	}
}

// strange are names that have to be escaped somewhere between a client and a folder.
var strange = []string{"100%.txt", "%41", "a+b", "a b", `a"b`, "a;b&c=d", "a\\b", "a#b?c", "ü日本", "'", ".hidden", "a:b", "<x>"}

func TestNames(t *testing.T) {
	api, all := connect(t), map[string]files.Node{}
	for _, name := range strange {
		all[name] = fileOf("content of " + name)
	}
	root := add(t, api, files.NewMapDirectory(all))
	var names []string
	for _, e := range ls(t, api, root) {
		names = append(names, e.Name)
	}
	if want := slices.Sorted(slices.Values(strange)); !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	for _, name := range strange {
		if got := read(t, api, join(t, root, name)); string(got) != "content of "+name {
			t.Errorf("%q has %q", name, got)
		}
	}
}

// A folder of the disk, with what the disk knows about its files.
func TestFolderOfTheDisk(t *testing.T) {
	api, dir := connect(t), t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "sub"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o640))
	must(t, os.WriteFile(filepath.Join(dir, "sub", ".hidden"), []byte("h"), 0o644))
	must(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
	stat, err := os.Stat(dir)
	must(t, err)
	folder, err := files.NewSerialFile(dir, true, stat)
	must(t, err)
	node, err := api.Unixfs().Get(deadline(t), add(t, api, folder))
	must(t, err)
	want := map[string]string{"/": "", "a.txt": "a", "link": "-> a.txt", "sub/": "", "sub/.hidden": "h"}
	if got := contents(t, node); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// ls lists a folder.
func ls(t *testing.T, api *rpc.HttpApi, p path.Path, opts ...options.UnixfsLsOption) (list []iface.DirEntry) {
	t.Helper()
	out, failed := make(chan iface.DirEntry), make(chan error, 1)
	go func() { failed <- api.Unixfs().Ls(deadline(t), p, out, opts...) }()
	for e := range out {
		list = append(list, e)
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return list
}

func TestLs(t *testing.T) {
	api := connect(t)
	root := add(t, api, tree())
	t.Run("with types and sizes", func(t *testing.T) {
		var got []string
		for _, e := range ls(t, api, root) {
			got = append(got, fmt.Sprintf("%s %s %d %s", e.Name, e.Type, e.Size, e.Target))
		}
		want := []string{"a.txt file 1 ", "empty directory 0 ", "link symlink 5 a.txt", "sub directory 0 "}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
	t.Run("without", func(t *testing.T) {
		for _, e := range ls(t, api, root, options.Unixfs.ResolveChildren(false)) {
			if e.Size != 0 || !e.Cid.Defined() {
				t.Errorf("%+v", e)
			}
		}
	})
	t.Run("an empty folder", func(t *testing.T) {
		if list := ls(t, api, join(t, root, "empty")); len(list) != 0 {
			t.Errorf("%+v", list)
		}
	})
	t.Run("a sharded folder", func(t *testing.T) {
		many := map[string]files.Node{}
		for i := range 4000 {
			many[fmt.Sprintf("%s%04d", strings.Repeat("n", 60), i)] = fileOf(fmt.Sprint(i))
		}
		big := add(t, api, files.NewMapDirectory(many), options.Unixfs.Pin(false, ""))
		if list := ls(t, api, big); len(list) != len(many) {
			t.Errorf("%d entries, want %d", len(list), len(many))
		}
		if got := read(t, api, join(t, big, strings.Repeat("n", 60)+"1234")); string(got) != "1234" {
			t.Errorf("a file of it is %q", got)
		}
	})
}
