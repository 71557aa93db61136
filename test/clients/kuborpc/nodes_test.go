package kuborpc

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/boxo/ipld/merkledag"
	"github.com/ipfs/boxo/path"
	"github.com/ipfs/go-cid"
	ipld "github.com/ipfs/go-ipld-format"
	iface "github.com/ipfs/kubo/core/coreiface"
	"github.com/ipfs/kubo/core/coreiface/options"
	"github.com/multiformats/go-multihash"
)

func TestBlock(t *testing.T) {
	api := connect(t)
	o := options.Block
	for name, c := range map[string]struct {
		opts []options.BlockPutOption
		want string
	}{
		"raw":      {nil, "/ipfs/bafkreieszcozqu5c6vyw2krdmm7ina227ks5iijvqdn64cce6u3wpuutza"},
		"SHA3-256": {[]options.BlockPutOption{o.Hash(multihash.SHA3_256, -1)}, ""},
		"pinned":   {[]options.BlockPutOption{o.Pin(true)}, "/ipfs/bafkreieszcozqu5c6vyw2krdmm7ina227ks5iijvqdn64cce6u3wpuutza"},
	} {
		t.Run(name, func(t *testing.T) {
			put, err := api.Block().Put(deadline(t), bytes.NewReader([]byte("a block")), c.opts...)
			if err != nil {
				t.Fatal(err)
			}
			if c.want != "" && put.Path().String() != c.want {
				t.Errorf("%s, want %s", put.Path(), c.want)
			}
			stat, err := api.Block().Stat(deadline(t), put.Path())
			if err != nil || stat.Size() != 7 || stat.Path().String() != put.Path().String() {
				t.Errorf("stat %+v, %v", stat, err)
			}
			got, err := api.Block().Get(deadline(t), put.Path())
			if err != nil {
				t.Fatal(err)
			}
			if content, err := io.ReadAll(got); err != nil || string(content) != "a block" {
				t.Errorf("content %q, %v", content, err)
			}
		})
	}
}

// pinned tells how a path is pinned.
func pinned(t *testing.T, api iface.CoreAPI, p path.Path) string {
	t.Helper()
	how, is, err := api.Pin().IsPinned(deadline(t), p)
	if err != nil {
		t.Fatal(err)
	}
	if !is {
		return "not pinned"
	}
	return how
}

// The client's DAG service builds trees block by block.
func TestDag(t *testing.T) {
	api := connect(t)
	leaf := merkledag.NewRawNode(data(1000, 4))
	root := merkledag.NodeWithData(data(10, 4))
	if err := root.AddNodeLink("leaf", leaf); err != nil {
		t.Fatal(err)
	}
	if err := api.Dag().AddMany(deadline(t), []ipld.Node{leaf, root}); err != nil {
		t.Fatal(err)
	}
	if root.Cid().Version() != 0 {
		t.Fatalf("%s is no CIDv0", root.Cid())
	}
	got, err := api.Dag().Get(deadline(t), root.Cid())
	if err != nil {
		t.Fatal(err)
	}
	if links := got.Links(); len(links) != 1 || links[0].Name != "leaf" || !links[0].Cid.Equals(leaf.Cid()) {
		t.Errorf("links %v", links)
	}
	many := api.Dag().GetMany(deadline(t), []cid.Cid{leaf.Cid(), root.Cid()})
	for range 2 {
		if n := <-many; n.Err != nil {
			t.Error(n.Err)
		}
	}
	if err := api.Dag().Pinning().Add(deadline(t), root); err != nil {
		t.Fatal(err)
	}
	if how := pinned(t, api, path.FromCid(root.Cid())); how != "recursive" {
		t.Errorf("the root is %s", how)
	}
}

func TestResolvePath(t *testing.T) {
	api := connect(t)
	root := add(t, api, tree())
	found, rest, err := api.ResolvePath(deadline(t), join(t, root, "a.txt"))
	if err != nil || len(rest) != 0 {
		t.Fatalf("%v, rest %q", err, rest)
	}
	if want := add(t, api, fileOf("a")); !found.RootCid().Equals(want.RootCid()) {
		t.Errorf("%s, want %s", found, want)
	}
	node, err := api.ResolveNode(deadline(t), join(t, root, "sub"))
	if err != nil || len(node.Links()) != 2 {
		t.Errorf("%v, %v", node, err)
	}
	_, _, err = api.ResolvePath(deadline(t), join(t, root, "none"))
	refused(t, err, `no link named "none" under`)
}

// A path into a value ends in its block.
func TestResolveValue(t *testing.T) {
	api := connect(t)
	var put struct{ Cid cid.Cid }
	request := api.Request("dag/put").Option("store-codec", "dag-cbor").Option("input-codec", "dag-json")
	if err := request.FileBody(bytes.NewReader([]byte(`{"a":[1,{"b":"c"}]}`))).Exec(deadline(t), &put); err != nil {
		t.Fatal(err)
	}
	found, rest, err := api.ResolvePath(deadline(t), join(t, path.FromCid(put.Cid), "a", "1", "b"))
	if err != nil || !found.RootCid().Equals(put.Cid) || !slices.Equal(rest, []string{"a", "1", "b"}) {
		t.Errorf("%s, rest %q, %v", found, rest, err)
	}
	node, err := api.Dag().Get(deadline(t), put.Cid)
	if err != nil {
		t.Fatal(err)
	}
	if value, _, err := node.Resolve([]string{"a", "1", "b"}); err != nil || fmt.Sprint(value) != "c" {
		t.Errorf("value %v, %v", value, err)
	}
}

func TestObjectDiff(t *testing.T) {
	api := connect(t)
	before := add(t, api, files.NewMapDirectory(map[string]files.Node{"a": fileOf("1"), "b": fileOf("2")}))
	after := add(t, api, files.NewMapDirectory(map[string]files.Node{"a": fileOf("3"), "c": fileOf("4")}))
	changes, err := api.Object().Diff(deadline(t), before, after)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range changes {
		got = append(got, fmt.Sprint(c.Type, " ", c.Path))
	}
	slices.Sort(got)
	want := []string{fmt.Sprint(iface.DiffAdd, " c"), fmt.Sprint(iface.DiffRemove, " b"), fmt.Sprint(iface.DiffMod, " a")}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
