package kuborpc

import (
	"testing"

	"github.com/ipfs/boxo/files"
	"github.com/ipfs/boxo/path"
	"github.com/ipfs/kubo/client/rpc"
	iface "github.com/ipfs/kubo/core/coreiface"
	"github.com/ipfs/kubo/core/coreiface/options"
)

// pins lists the account's pins: type and name by path.
func pins(t *testing.T, api *rpc.HttpApi, opts ...options.PinLsOption) map[string][2]string {
	t.Helper()
	out, failed := make(chan iface.Pin), make(chan error, 1)
	go func() { failed <- api.Pin().Ls(deadline(t), out, opts...) }()
	list := map[string][2]string{}
	for p := range out {
		list[p.Path().String()] = [2]string{p.Type(), p.Name()}
	}
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	return list
}

func TestPins(t *testing.T) {
	api := connect(t)
	root := add(t, api, files.NewMapDirectory(map[string]files.Node{"x": fileOf("pinned below")}), options.Unixfs.Pin(false, ""))
	other := add(t, api, fileOf("pinned directly"), options.Unixfs.Pin(false, ""))
	found, _, err := api.ResolvePath(deadline(t), join(t, root, "x"))
	must(t, err)
	below := path.FromCid(found.RootCid())
	if how := pinned(t, api, root); how != "not pinned" {
		t.Errorf("before a pin it is %s", how)
	}
	must(t, api.Pin().Add(deadline(t), root, options.Pin.Name("my tree")))
	must(t, api.Pin().Add(deadline(t), other, options.Pin.Recursive(false)))
	for p, want := range map[path.ImmutablePath]string{root: "recursive", other: "direct", below: "indirect through " + root.RootCid().String()} {
		if how := pinned(t, api, p); how != want {
			t.Errorf("%s is %s, want %s", p, how, want)
		}
	}
	t.Run("lists", func(t *testing.T) { listPins(t, api, root, other, below) })
	must(t, api.Pin().Rm(deadline(t), root))
	refused(t, api.Pin().Rm(deadline(t), root), "not pinned or pinned indirectly")
	must(t, api.Pin().Rm(deadline(t), other, options.Pin.RmRecursive(false)))
	if how := pinned(t, api, below); how != "not pinned" {
		t.Errorf("after the pin it is %s", how)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listPins(t *testing.T, api *rpc.HttpApi, root, other, below path.Path) {
	l := options.Pin.Ls
	for name, c := range map[string]struct {
		opts []options.PinLsOption
		has  map[path.Path][2]string
		not  []path.Path
	}{
		"all":       {[]options.PinLsOption{l.Detailed(true)}, map[path.Path][2]string{root: {"recursive", "my tree"}, other: {"direct", ""}, below: {"indirect", ""}}, nil},
		"no names":  {nil, map[path.Path][2]string{root: {"recursive", ""}}, nil},
		"recursive": {[]options.PinLsOption{l.Recursive()}, map[path.Path][2]string{root: {"recursive", ""}}, []path.Path{other, below}},
		"direct":    {[]options.PinLsOption{l.Direct()}, map[path.Path][2]string{other: {"direct", ""}}, []path.Path{root, below}},
		"indirect":  {[]options.PinLsOption{l.Indirect()}, map[path.Path][2]string{below: {"indirect", ""}}, []path.Path{root, other}},
	} {
		list := pins(t, api, c.opts...)
		for p, want := range c.has {
			if got := list[p.String()]; got != want {
				t.Errorf("%s: %s is %q, want %q", name, p, got, want)
			}
		}
		for _, p := range c.not {
			if _, is := list[p.String()]; is {
				t.Errorf("%s has %s", name, p)
			}
		}
	}
}

func TestPinUpdate(t *testing.T) {
	api := connect(t)
	first := add(t, api, fileOf("first version"), options.Unixfs.Pin(true, "")) // the client does not pin by itself
	second := add(t, api, fileOf("second version"), options.Unixfs.Pin(false, ""))
	must(t, api.Pin().Update(deadline(t), first, second))
	if was, is := pinned(t, api, first), pinned(t, api, second); was != "not pinned" || is != "recursive" {
		t.Errorf("the first is %s, the second %s", was, is)
	}
	must(t, api.Pin().Update(deadline(t), second, first, options.Pin.Unpin(false)))
	if was, is := pinned(t, api, second), pinned(t, api, first); was != "recursive" || is != "recursive" {
		t.Errorf("without unpinning: the second is %s, the first %s", was, is)
	}
}

func TestPinVerify(t *testing.T) {
	api := connect(t)
	add(t, api, tree(), options.Unixfs.Pin(true, ""))
	found, err := api.Pin().Verify(deadline(t))
	must(t, err)
	var count int
	for s := range found {
		if count++; !s.Ok() || s.Err() != nil || len(s.BadNodes()) > 0 {
			t.Errorf("ok %v, %v, %v", s.Ok(), s.Err(), s.BadNodes())
		}
	}
	if count == 0 {
		t.Error("no pin was checked")
	}
}
