package goipfsapi

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	shell "github.com/ipfs/go-ipfs-api"
	"github.com/ipfs/go-ipfs-api/options"
)

func TestBlocks(t *testing.T) {
	s := connect(t)
	for name, c := range map[string]struct{ format, hash, want string }{
		"as it was once": {"v0", "sha2-256", "QmYDdfAgzy6Bk5YekpVLQxogjrL83NWX6HK3tMq5SqsTaw"},
		"raw":            {"raw", "sha2-256", "bafkreieszcozqu5c6vyw2krdmm7ina227ks5iijvqdn64cce6u3wpuutza"},
		"another hash":   {"raw", "sha3-256", ""},
	} {
		t.Run(name, func(t *testing.T) {
			id, err := s.BlockPut([]byte("a block"), c.format, c.hash, -1)
			must(t, err)
			if c.want != "" && id != c.want {
				t.Errorf("%s, want %s", id, c.want)
			}
			if key, size, err := s.BlockStat(id); err != nil || key != id || size != 7 {
				t.Errorf("stat %s, %d, %v", key, size, err)
			}
			if got, err := s.BlockGet(id); err != nil || string(got) != "a block" {
				t.Errorf("content %q, %v", got, err)
			}
		})
	}
}

func TestValues(t *testing.T) {
	s := connect(t)
	const value = `{"a":[1,{"b":"c"}],"link":{"/":"` + hello + `"}}`
	add(t, s, "hello")
	id, err := s.DagPut(value, "dag-json", "dag-cbor")
	must(t, err)
	var got struct {
		A    []any
		Link struct {
			Target string `json:"/"`
		}
	}
	must(t, s.DagGet(id, &got))
	if len(got.A) != 2 || got.Link.Target != hello {
		t.Errorf("%+v", got)
	}
	var part string
	if err := s.DagGet(id+"/a/1/b", &part); err != nil || part != "c" {
		t.Errorf("a part is %q, %v", part, err)
	}
	pinned, err := s.DagPutWithOpts(value, options.Dag.InputCodec("dag-json"), options.Dag.StoreCodec("dag-json"), options.Dag.Pin("true"), options.Dag.Hash("sha2-256"))
	must(t, err)
	if how := pins(t, s)[pinned].Type; how != string(shell.RecursivePin) {
		t.Errorf("the pinned value is %q", how)
	}
}

func TestArchives(t *testing.T) {
	s, content := connect(t), data(1<<20, 3)
	id, err := s.Add(bytes.NewReader(content))
	must(t, err)
	res, err := s.Request("dag/export", id).Send(context.Background())
	must(t, err)
	if res.Error != nil {
		t.Fatal(res.Error)
	}
	car, err := io.ReadAll(res.Output)
	must(t, err)
	must(t, res.Close())
	imported, err := s.DagImport(car, false, true)
	must(t, ignoreEOF(err)) // the client returns the end of the answer as an error where it has no counts
	if len(imported.Roots) != 1 || imported.Roots[0].Root.Cid.Value != id {
		t.Errorf("roots %+v", imported.Roots)
	}
	if imported.Stats == nil || imported.Stats.BlockCount != 5 || imported.Stats.BlockBytesCount < 1<<20 {
		t.Errorf("counts %+v", imported.Stats)
	}
	_, err = s.DagImport([]byte("no archive"), false, false)
	refused(t, err, "unexpected EOF")
}

func ignoreEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func TestRefs(t *testing.T) {
	s := connect(t)
	id, err := s.AddDir(folder(t))
	must(t, err)
	for recursive, want := range map[bool]int{false: 3, true: 9} {
		refs, err := s.Refs(id, recursive)
		must(t, err)
		var got []string
		for r := range refs {
			got = append(got, r)
		}
		if len(got) != want || !slices.Contains(got, add(t, s, "a")) {
			t.Errorf("recursive %v: %d refs %q, want %d", recursive, len(got), got, want)
		}
	}
}

func pins(t *testing.T, s *shell.Shell) map[string]shell.PinInfo {
	t.Helper()
	list, err := s.Pins()
	must(t, err)
	return list
}

func TestPins(t *testing.T) {
	s := connect(t)
	id := add(t, s, "to be pinned", shell.Pin(false))
	if _, is := pins(t, s)[id]; is {
		t.Error("it is pinned before it is")
	}
	must(t, s.Pin(id))
	if how := pins(t, s)[id].Type; how != "recursive" {
		t.Errorf("it is pinned as %q", how)
	}
	of, err := s.PinsOfType(t.Context(), shell.RecursivePin)
	if err != nil || of[id].Type != "recursive" {
		t.Errorf("of its type: %q, %v", of[id].Type, err)
	}
	if of, err = s.PinsOfType(t.Context(), shell.DirectPin); err != nil || of[id].Type != "" {
		t.Errorf("of another type: %q, %v", of[id].Type, err)
	}
	stream, err := s.PinsStream(t.Context())
	must(t, err)
	var found bool
	for p := range stream {
		found = found || p.Cid == id && p.Type == "recursive"
	}
	if !found {
		t.Error("the stream of pins doesn't have it")
	}
	must(t, s.Unpin(id))
	refused(t, s.Unpin(id), "not pinned or pinned indirectly")
}
