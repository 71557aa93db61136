package goipfsapi

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	shell "github.com/ipfs/go-ipfs-api"
)

func TestVersionAndIdentity(t *testing.T) {
	s := connect(t)
	if version, _, err := s.Version(); err != nil || version == "" {
		t.Errorf("%q, %v", version, err)
	}
	if !s.IsUp() {
		t.Error("it is not up")
	}
	id, err := s.ID()
	if err != nil || id.ID == "" || id.PublicKey == "" {
		t.Errorf("%+v, %v", id, err)
	}
	if again, err := s.ID(id.ID); err != nil || again.ID != id.ID {
		t.Errorf("by its own ID: %+v, %v", again, err)
	}
}

func TestAddOptions(t *testing.T) {
	s := connect(t)
	const v1 = "bafkreibm6jg3ux5qumhcn2b3flc3tyu6dmlb4xa7u5bf44yegnrjhc4yeq"
	for name, c := range map[string]struct {
		opts []shell.AddOpts
		want string
	}{
		"defaults":    {nil, hello},
		"CIDv1":       {[]shell.AddOpts{shell.CidVersion(1)}, v1},
		"raw leaves":  {[]shell.AddOpts{shell.RawLeaves(true)}, v1},
		"hash":        {[]shell.AddOpts{shell.Hash("sha2-512")}, "bafkrgqe3ohjcjplc6n4f3fwunlj6upltggn7xqujbsvnvyw764srszz4u4rshq6ztos4chl4plgg4ffyyxnayrtdi5oc4xb2332g645433aeg"},
		"only hash":   {[]shell.AddOpts{shell.OnlyHash(true)}, hello},
		"without pin": {[]shell.AddOpts{shell.Pin(false)}, hello},
	} {
		t.Run(name, func(t *testing.T) {
			if got := add(t, s, "hello", c.opts...); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
	if got, err := s.AddNoPin(bytes.NewReader([]byte("hello"))); err != nil || got != hello {
		t.Errorf("AddNoPin: %s, %v", got, err)
	}
	if got, err := s.AddWithOpts(bytes.NewReader([]byte("hello")), false, true); err != nil || got != v1 {
		t.Errorf("AddWithOpts: %s, %v", got, err)
	}
}

func cat(t *testing.T, s *shell.Shell, path string) []byte {
	t.Helper()
	body, err := s.Cat(path)
	must(t, err)
	defer body.Close()
	content, err := io.ReadAll(body)
	must(t, err)
	return content
}

func TestCat(t *testing.T) {
	s, content := connect(t), data(5<<20+17, 1)
	id, err := s.Add(bytes.NewReader(content))
	must(t, err)
	for _, path := range []string{id, "/ipfs/" + id} {
		if got := cat(t, s, path); !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, want %d", path, len(got), len(content))
		}
	}
}

// folder is a folder on disk with files, a folder and a symlink.
func folder(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	must(t, os.MkdirAll(filepath.Join(dir, "sub", "empty"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a"), 0o644))
	must(t, os.WriteFile(filepath.Join(dir, "sub", "b c.txt"), data(1<<20, 2), 0o644))
	must(t, os.Symlink("a.txt", filepath.Join(dir, "link")))
	return dir
}

func TestDirectory(t *testing.T) {
	s, dir := connect(t), folder(t)
	id, err := s.AddDir(dir)
	must(t, err)
	out := filepath.Join(t.TempDir(), "out")
	must(t, s.Get(id, out))
	for _, name := range []string{"a.txt", "sub/b c.txt"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s has %d bytes (%v), want %d", name, len(got), err, len(want))
		}
	}
	if target, err := os.Readlink(filepath.Join(out, "link")); err != nil || target != "a.txt" {
		t.Errorf("the symlink leads to %q, %v", target, err)
	}
	if info, err := os.Stat(filepath.Join(out, "sub", "empty")); err != nil || !info.IsDir() {
		t.Errorf("the empty folder: %v", err)
	}
	if got := cat(t, s, id+"/a.txt"); string(got) != "a" {
		t.Errorf("a file by its path is %q", got)
	}
}

// Names that have to be escaped somewhere between a client and a folder.
func TestNames(t *testing.T) {
	s, dir := connect(t), t.TempDir()
	names := []string{"100%.txt", "%41", "a+b", "a b", `a"b`, "a;b&c=d", "a\\b", "a#b?c", "ü日本", "'", "a:b", "<x>"}
	for _, name := range names {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("content of "+name), 0o644))
	}
	id, err := s.AddDir(dir)
	must(t, err)
	list, err := s.List(id)
	must(t, err)
	var got []string
	for _, l := range list {
		got = append(got, l.Name)
	}
	if slices.Sort(names); !slices.Equal(got, names) {
		t.Errorf("names %q, want %q", got, names)
	}
	for _, name := range names {
		if content := cat(t, s, id+"/"+name); string(content) != "content of "+name {
			t.Errorf("%q has %q", name, content)
		}
	}
}

func TestGetFile(t *testing.T) {
	s, out := connect(t), filepath.Join(t.TempDir(), "file")
	must(t, s.Get(add(t, s, "hello"), out))
	if got, err := os.ReadFile(out); err != nil || string(got) != "hello" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestList(t *testing.T) {
	s := connect(t)
	id, err := s.AddDir(folder(t))
	must(t, err)
	list, err := s.List(id)
	must(t, err)
	var got []string
	for _, l := range list {
		got = append(got, fmt.Sprint(l.Name, " ", l.Type, " ", l.Size))
	}
	want := []string{fmt.Sprint("a.txt ", shell.TFile, " 1"), fmt.Sprint("link ", shell.TSymlink, " 5"), fmt.Sprint("sub ", shell.TDirectory, " 0")}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAddLink(t *testing.T) {
	s := connect(t)
	id, err := s.AddLink("some/where")
	must(t, err)
	if got := cat(t, s, id); string(got) != "some/where" {
		t.Errorf("the target is %q", got)
	}
}

func TestFilesStat(t *testing.T) {
	s := connect(t)
	dir, err := s.AddDir(folder(t))
	must(t, err)
	for path, want := range map[string]struct {
		kind string
		size uint64
	}{
		"/ipfs/" + dir: {"directory", 0}, "/ipfs/" + dir + "/sub/b c.txt": {"file", 1 << 20}, "/ipfs/" + add(t, s, "hello"): {"file", 5},
	} {
		stat, err := s.FilesStat(t.Context(), path, shell.FilesStat.WithLocal(true))
		if err != nil || stat.Type != want.kind || stat.Size != want.size || !stat.Local || stat.Hash == "" {
			t.Errorf("%s: %+v, %v", path, stat, err)
		}
	}
}

func TestResolvePath(t *testing.T) {
	s := connect(t)
	dir, err := s.AddDir(folder(t))
	must(t, err)
	if got, err := s.ResolvePath("/ipfs/" + dir + "/a.txt"); err != nil || got != add(t, s, "a") {
		t.Errorf("%s, %v", got, err)
	}
}
