package blocktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
)

// Engine is what a server needs of an engine beside what objects do.
type Engine interface {
	unixfs.Engine
	Unpinned(ctx context.Context, account string, each func(nodegate.Pin) bool) error
	Undo(ctx context.Context, account, cid string) error
	Rename(ctx context.Context, account, cid, name string) error
	Stored(account string) int64
}

// Fixture is an engine under test. Content that is unpinned or loose stays an hour.
type Fixture struct {
	Engine
	Collect func(context.Context) error
	Advance func(time.Duration) // moves the engine's clock
	Early   bool                // blocks may be seen before their batch is committed
	Keeps   bool                // blocks may stay after they were collected
}

// Undo is the time that unpinned and loose content must stay in a Fixture.
const Undo = time.Hour

// Run tests an engine. open returns an empty one for each test.
func Run(t *testing.T, open func(t *testing.T) *Fixture) {
	for _, c := range []struct {
		name string
		test func(*testing.T, *Fixture)
	}{
		{"blocks come back", blocksComeBack},
		{"what is not there", notThere},
		{"a batch sees its own blocks", ownBlocks},
		{"small blocks", smallBlocks},
		{"a large batch", largeBatch},
		{"many put at once", manyPut},
		{"an aborted batch leaves nothing", aborted},
		{"pins", pins},
		{"pins keep their names", pinNames},
		{"pins are renamed", renamed},
		{"pins of one block", directPins},
		{"all or nothing", allOrNothing},
		{"accounts are apart", accountsApart},
		{"unpinned content comes back", comesBack},
		{"what is let go is collected", letGo},
		{"what was never pinned is collected", loose},
		{"what is loose beside a pin", looseBesidePin},
		{"the quota", quota},
		{"the least that content costs", leastCost},
		{"the quota in parallel", quotaInParallel},
		{"pinned again while collected", pinnedWhileCollected},
		{"read and pinned while collected", readWhileCollected},
		{"callers who leave", cancelled},
		{"large blocks", largeBlocks},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

// block is content with its CID.
type block struct {
	cid  cid.Cid
	data []byte
}

func newBlock(codec, function uint64, data []byte) block {
	hash, err := multihash.Sum(data, function, -1)
	if err != nil {
		panic(err) // a test's own constants
	}
	return block{cid.NewCidV1(codec, hash), data}
}

// leaf is a small block of its own.
func leaf(text string) block { return newBlock(cid.Raw, multihash.SHA2_256, []byte(text)) }

// filler is a block of a size.
func filler(seed, size int) block {
	data := make([]byte, size)
	x := uint64(seed)*0x9e3779b97f4a7c15 + 1
	for i := range data {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		data[i] = byte(x >> 32)
	}
	return newBlock(cid.Raw, multihash.SHA2_256, data)
}

// parent is a dag-cbor list of links to at most 23 blocks.
func parent(children ...block) block {
	data := []byte{0x80 | byte(len(children))}
	for _, c := range children {
		link := append([]byte{0}, c.cid.Bytes()...)
		data = append(append(data, 0xd8, 0x2a, 0x58, byte(len(link))), link...)
	}
	return newBlock(cid.DagCBOR, multihash.SHA2_256, data)
}

// tree is a parent with two leaves of its own.
func tree(name string) (root block, all []block) {
	a, b := leaf(name+" one"), leaf(name+" two")
	root = parent(a, b)
	return root, []block{a, b, root}
}

// size is what blocks count toward a quota.
func size(list []block) (n int64) {
	for _, b := range list {
		n += nodegate.BlockCharge(len(b.data))
	}
	return n
}

// pinFor is a recursive pin of all these blocks under their root.
func pinFor(root block, all []block) nodegate.Pin {
	return nodegate.Pin{CID: root.cid.String(), Recursive: true, Size: size(all)}
}

func put(t *testing.T, b unixfs.Batch, list ...block) {
	t.Helper()
	for _, x := range list {
		if err := b.Put(t.Context(), x.cid, x.data); err != nil {
			t.Fatal(err)
		}
	}
}

func commit(t *testing.T, b unixfs.Batch) {
	t.Helper()
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// add stores and pins a tree for an account.
func (f *Fixture) add(t *testing.T, account, name string) (root block, all []block) {
	t.Helper()
	root, all = tree(name)
	b := f.Begin(account, 0)
	put(t, b, all...)
	b.Pin(pinFor(root, all))
	commit(t, b)
	return root, all
}

func (f *Fixture) unpin(t *testing.T, account string, root block) {
	t.Helper()
	b := f.Begin(account, 0)
	b.Unpin(root.cid.String())
	commit(t, b)
}

func (f *Fixture) collect(t *testing.T) {
	t.Helper()
	if err := f.Collect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// reads checks that all blocks are there as they were put.
func (f *Fixture) reads(t *testing.T, list ...block) {
	t.Helper()
	for _, b := range list {
		data, err := f.Get(t.Context(), b.cid)
		if err != nil || string(data) != string(b.data) {
			t.Errorf("%s: %d bytes, %v", b.cid, len(data), err)
		}
	}
}

// gone checks that blocks are not there any more.
func (f *Fixture) gone(t *testing.T, list ...block) {
	t.Helper()
	for _, b := range list {
		if _, err := f.Get(t.Context(), b.cid); !errors.Is(err, nodegate.NotFound) && !f.Keeps {
			t.Errorf("%s: %v, want NotFound", b.cid, err)
		}
	}
}

func (f *Fixture) stores(t *testing.T, account string, want int64) {
	t.Helper()
	if got := f.Stored(account); got != want {
		t.Errorf("%s has %d bytes stored, want %d", account, got, want)
	}
}

// pinned lists the CIDs of an account's pins.
func (f *Fixture) pinned(t *testing.T, account string) string {
	t.Helper()
	list := []string{}
	err := f.Pins(t.Context(), account, func(p nodegate.Pin) bool { list = append(list, p.CID); return true })
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list)
}

func (f *Fixture) unpinned(t *testing.T, account string) string {
	t.Helper()
	list := []string{}
	err := f.Unpinned(t.Context(), account, func(p nodegate.Pin) bool { list = append(list, p.CID); return true })
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(list)
}

// same compares two things by their print.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// is checks an error's code.
func is(t *testing.T, what string, err error, want nodegate.Code) {
	t.Helper()
	if !errors.Is(err, want) || nodegate.AsError(err).Msg == "" {
		t.Errorf("%s: %v, want %v with a text", what, err, want)
	}
}
