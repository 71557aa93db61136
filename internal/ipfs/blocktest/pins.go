package blocktest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
)

func pins(t *testing.T, f *Fixture) {
	var want []string
	var total int64
	var roots []block
	b := f.Begin("a", 0)
	for i := range 70 {
		root, all := tree(fmt.Sprint("pins ", i))
		put(t, b, all...)
		b.Pin(pinFor(root, all))
		want, roots, total = append(want, root.cid.String()), append(roots, root), total+size(all)
	}
	commit(t, b)
	slices.Sort(want)
	same(t, "pins by CID", f.pinned(t, "a"), fmt.Sprint(want))
	f.stores(t, "a", total)
	seen := 0
	if err := f.Pins(t.Context(), "a", func(nodegate.Pin) bool { seen++; return seen < 3 }); err != nil || seen != 3 {
		t.Errorf("%d pins until enough, %v", seen, err)
	}
	p, err := f.PinOf(t.Context(), "a", roots[0].cid.String())
	if err != nil || !p.Recursive || p.AccountID != "a" || p.Size == 0 || !p.Unpinned.IsZero() {
		t.Errorf("a pin: %+v, %v", p, err)
	}
}

func pinNames(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "named")
	for _, step := range []struct{ give, want string }{{"first", "first"}, {"", "first"}, {"second", "second"}} {
		p := pinFor(root, all)
		p.Name = step.give
		b := f.Begin("a", 0)
		b.Pin(p)
		commit(t, b)
		got, err := f.PinOf(t.Context(), "a", root.cid.String())
		if err != nil || got.Name != step.want {
			t.Errorf("named %q: %q, %v, want %q", step.give, got.Name, err, step.want)
		}
	}
	f.stores(t, "a", size(all))
}

// A new name changes nothing else, and only for a pin that holds.
func renamed(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "renamed")
	cid := root.cid.String()
	before, err := f.PinOf(t.Context(), "a", cid)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"first", "second", ""} {
		if err := f.Rename(t.Context(), "a", cid, name); err != nil {
			t.Fatalf("to %q: %v", name, err)
		}
		before.Name = name
		if got, err := f.PinOf(t.Context(), "a", cid); err != nil || got != before {
			t.Errorf("to %q: %+v, %v, want %+v", name, got, err, before)
		}
	}
	f.stores(t, "a", size(all))
	is(t, "somebody else's pin", f.Rename(t.Context(), "b", cid, "mine"), nodegate.NotFound)
	f.unpin(t, "a", root)
	is(t, "a pin that was taken off", f.Rename(t.Context(), "a", cid, "gone"), nodegate.NotFound)
	if err := f.Undo(t.Context(), "a", cid); err != nil {
		t.Fatal(err)
	}
	if got, err := f.PinOf(t.Context(), "a", cid); err != nil || got.Name != "" {
		t.Errorf("back: %+v, %v", got, err)
	}
}

// A pin of one block keeps that one and nothing below it.
func directPins(t *testing.T, f *Fixture) {
	root, all := tree("direct")
	b := f.Begin("a", 0)
	put(t, b, all...)
	b.Pin(nodegate.Pin{CID: root.cid.String(), Size: int64(len(root.data))})
	commit(t, b)
	f.stores(t, "a", nodegate.MinPinCharge)
	f.Advance(2 * Undo)
	f.collect(t)
	f.reads(t, root)
	f.gone(t, all[0], all[1])
	b = f.Begin("a", 0)
	put(t, b, all[0], all[1])
	b.Pin(pinFor(root, all)) // becomes a recursive one
	commit(t, b)
	f.Advance(2 * Undo)
	f.collect(t)
	f.reads(t, all...)
	p, err := f.PinOf(t.Context(), "a", root.cid.String())
	if err != nil || !p.Recursive {
		t.Errorf("%+v, %v", p, err)
	}
}

func allOrNothing(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "before")
	next, more := tree("after")
	b := f.Begin("a", 0)
	put(t, b, more...)
	b.Pin(pinFor(next, more))
	b.Unpin(root.cid.String())
	b.Unpin(leaf("never pinned").cid.String())
	is(t, "a commit that can't be done", b.Commit(t.Context()), nodegate.NotFound)
	same(t, "pins", f.pinned(t, "a"), "["+root.cid.String()+"]")
	f.stores(t, "a", size(all))

	b = f.Begin("a", 0)
	put(t, b, more...)
	b.Pin(pinFor(next, more))
	b.Unpin(root.cid.String())
	commit(t, b)
	same(t, "pins", f.pinned(t, "a"), "["+next.cid.String()+"]")
	same(t, "unpinned", f.unpinned(t, "a"), "["+root.cid.String()+"]")
	f.reads(t, more...)
	b = f.Begin("a", 0)
	b.Unpin(next.cid.String())
	b.Unpin(next.cid.String())
	is(t, "unpinned twice", b.Commit(t.Context()), nodegate.NotFound)
	same(t, "pins", f.pinned(t, "a"), "["+next.cid.String()+"]")
}

func accountsApart(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "shared")
	f.add(t, "b", "shared")
	f.stores(t, "b", size(all))
	f.unpin(t, "a", root)
	_, err := f.PinOf(t.Context(), "a", root.cid.String())
	is(t, "the pin that was taken off", err, nodegate.NotFound)
	f.Advance(2 * Undo)
	f.collect(t)
	f.reads(t, all...)
	same(t, "the other's pins", f.pinned(t, "b"), "["+root.cid.String()+"]")
	f.stores(t, "a", 0)
	f.stores(t, "b", size(all))
	b := f.Begin("c", 0)
	b.Unpin(root.cid.String())
	is(t, "a stranger's unpin", b.Commit(t.Context()), nodegate.NotFound)
	is(t, "a stranger's undo", f.Undo(t.Context(), "c", root.cid.String()), nodegate.NotFound)
	f.unpin(t, "b", root)
	f.Advance(2 * Undo)
	f.collect(t)
	f.gone(t, all...)
}

func comesBack(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "back")
	text := root.cid.String()
	is(t, "undo of a pin that holds", f.Undo(t.Context(), "a", text), nodegate.NotFound)
	f.unpin(t, "a", root)
	same(t, "unpinned", f.unpinned(t, "a"), "["+text+"]")
	f.stores(t, "a", size(all)) // until it is collected
	f.Advance(Undo / 2)
	f.collect(t)
	f.reads(t, all...)
	if err := f.Undo(t.Context(), "a", text); err != nil {
		t.Fatal(err)
	}
	same(t, "pins", f.pinned(t, "a"), "["+text+"]")
	f.Advance(2 * Undo)
	f.collect(t)
	f.reads(t, all...)
	f.unpin(t, "a", root)
	f.Advance(Undo)
	same(t, "unpinned long ago", f.unpinned(t, "a"), "[]")
	is(t, "undo after its time", f.Undo(t.Context(), "a", text), nodegate.NotFound)
}

func letGo(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "let go")
	kept, keptAll := f.add(t, "a", "kept")
	f.unpin(t, "a", root)
	f.Advance(Undo)
	f.collect(t)
	f.gone(t, all...)
	f.reads(t, keptAll...)
	f.stores(t, "a", size(keptAll))
	same(t, "pins", f.pinned(t, "a"), "["+kept.cid.String()+"]")
	same(t, "unpinned", f.unpinned(t, "a"), "[]")
	f.add(t, "a", "let go") // it can be added again
	f.reads(t, all...)
	f.Advance(2 * Undo)
	f.collect(t)
	f.reads(t, all...)
}

func loose(t *testing.T, f *Fixture) {
	b := f.Begin("a", 0)
	put(t, b, leaf("loose"))
	commit(t, b)
	f.stores(t, "a", nodegate.MinBlockCharge)
	f.collect(t)
	f.reads(t, leaf("loose"))
	f.stores(t, "a", nodegate.MinBlockCharge)
	f.Advance(Undo + time.Second)
	f.collect(t)
	f.gone(t, leaf("loose"))
	f.stores(t, "a", 0)
}

// What a batch says no pin of it keeps counts beside the pin, until it is collected.
func looseBesidePin(t *testing.T, f *Fixture) {
	root, all := tree("beside")
	other := filler(7000, 400)
	add := func(limit int64) error {
		b := f.Begin("a", limit)
		defer b.Abort()
		for _, x := range append(all, other) {
			if err := b.Put(t.Context(), x.cid, x.data); err != nil {
				return err
			}
		}
		b.Pin(pinFor(root, all))
		b.Loose(nodegate.BlockCharge(len(other.data)))
		return b.Commit(t.Context())
	}
	both := size(all) + nodegate.BlockCharge(len(other.data))
	is(t, "more than the quota", add(both-1), nodegate.QuotaReached)
	f.stores(t, "a", 0)
	if err := add(both); err != nil {
		t.Fatalf("just the quota: %v", err)
	}
	f.stores(t, "a", both)
	f.Advance(Undo + time.Second)
	f.collect(t)
	f.gone(t, other)
	f.reads(t, all...)
	f.stores(t, "a", size(all))
}

func quota(t *testing.T, f *Fixture) {
	one, oneAll := newTree(1, 400)
	add := func(limit int64, root block, all []block, pin bool) error {
		b := f.Begin("a", limit)
		defer b.Abort()
		for _, x := range all {
			if err := b.Put(t.Context(), x.cid, x.data); err != nil {
				return err
			}
		}
		if pin {
			b.Pin(pinFor(root, all))
		}
		return b.Commit(t.Context())
	}
	used := size(oneAll)
	if err := add(used, one, oneAll, true); err != nil {
		t.Fatalf("just the quota: %v", err)
	}
	two, twoAll := newTree(2, 400)
	is(t, "more than the quota", add(2*used-1, two, twoAll, true), nodegate.QuotaReached)
	is(t, "loose bytes beyond it", add(2*used-1, two, twoAll, false), nodegate.QuotaReached)
	f.stores(t, "a", used)
	same(t, "pins", f.pinned(t, "a"), "["+one.cid.String()+"]")
	if err := add(used, one, oneAll, true); err != nil {
		t.Errorf("what is paid for already: %v", err)
	}
	if err := add(2*used, two, twoAll, true); err != nil {
		t.Errorf("just the quota: %v", err)
	}
	f.stores(t, "a", 2*used)
	f.unpin(t, "a", one)
	three, threeAll := newTree(3, 400)
	is(t, "while what was unpinned counts", add(2*used, three, threeAll, true), nodegate.QuotaReached)
	f.Advance(Undo)
	f.collect(t)
	if err := add(2*used, three, threeAll, true); err != nil {
		t.Errorf("after it was collected: %v", err)
	}
}

// Blocks and pins cost something whatever their content: each of them takes an entry in an
// index. Without that, an account could have any number of them.
func leastCost(t *testing.T, f *Fixture) {
	identity := func(i int) nodegate.Pin {
		return nodegate.Pin{CID: newBlock(cid.Raw, multihash.IDENTITY, fmt.Append(nil, i)).cid.String(), Recursive: true}
	}
	pinMany := func(quota int64) error {
		b := f.Begin("a", quota)
		defer b.Abort()
		for i := range 10 {
			b.Pin(identity(i))
		}
		return b.Commit(t.Context())
	}
	is(t, "more pins of identity CIDs than fit", pinMany(10*nodegate.MinPinCharge-1), nodegate.QuotaReached)
	f.stores(t, "a", 0)
	if err := pinMany(10 * nodegate.MinPinCharge); err != nil {
		t.Fatal(err)
	}
	f.stores(t, "a", 10*nodegate.MinPinCharge)
	if p, err := f.PinOf(t.Context(), "a", identity(3).CID); err != nil || p.Size != nodegate.MinPinCharge {
		t.Errorf("%+v, %v", p, err)
	}
	putMany := func(quota int64) error {
		b := f.Begin("b", quota)
		defer b.Abort()
		for i := range 10 {
			x := leaf(fmt.Sprint("least ", i))
			if err := b.Put(t.Context(), x.cid, x.data); err != nil {
				return err
			}
		}
		return b.Commit(t.Context())
	}
	is(t, "more small blocks than fit", putMany(10*nodegate.MinBlockCharge-1), nodegate.QuotaReached)
	if err := putMany(10 * nodegate.MinBlockCharge); err != nil {
		t.Fatal(err)
	}
	f.stores(t, "b", 10*nodegate.MinBlockCharge)
}

// newTree is a root over two blocks of a size.
func newTree(seed, each int) (root block, all []block) {
	a, b := filler(2*seed+5000, each), filler(2*seed+5001, each)
	root = parent(a, b)
	return root, []block{a, b, root}
}

func quotaInParallel(t *testing.T, f *Fixture) {
	var wait sync.WaitGroup
	var mu sync.Mutex
	done := 0
	_, sample := newTree(100, 400)
	limit := 3 * size(sample)
	for i := range 12 {
		wait.Go(func() {
			root, all := newTree(100+i, 400)
			b := f.Begin("a", limit)
			defer b.Abort()
			var err error
			for _, x := range all {
				err = errors.Join(err, b.Put(t.Context(), x.cid, x.data))
			}
			b.Pin(pinFor(root, all))
			if err == nil {
				err = b.Commit(t.Context())
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				done++
			} else if !errors.Is(err, nodegate.QuotaReached) {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if got := f.Stored("a"); got > limit || int64(done)*size(sample) != got || done == 0 {
		t.Errorf("%d uploads passed, %d bytes of %d", done, got, limit)
	}
}

// What a batch has read as a small block is there when it is pinned.
func readWhileCollected(t *testing.T, f *Fixture) {
	x := leaf("read and pinned")
	for range 10 {
		first := f.Begin("first", 0)
		put(t, first, x)
		commit(t, first) // nothing keeps it
		f.Advance(2 * Undo)
		b := f.Begin("a", 0)
		if _, ok := b.Small(t.Context(), x.cid, len(x.data)); !ok {
			if _, err := b.Get(t.Context(), x.cid); err != nil {
				t.Fatal(err)
			}
		}
		f.collect(t)
		b.Pin(pinFor(x, []block{x}))
		commit(t, b)
		f.Advance(2 * Undo)
		f.collect(t)
		f.reads(t, x)
		f.unpin(t, "a", x)
		f.Advance(2 * Undo)
		f.collect(t)
	}
}

// Whatever the order of a collection and new pins of the same content: what is
// pinned in the end is there.
func pinnedWhileCollected(t *testing.T, f *Fixture) {
	root, all := tree("raced")
	for i := range 10 {
		account := fmt.Sprint("racer ", i)
		f.add(t, "first", "raced")
		f.unpin(t, "first", root)
		f.Advance(2 * Undo)
		var wait sync.WaitGroup
		wait.Go(func() {
			if err := f.Collect(t.Context()); err != nil {
				t.Error(err)
			}
		})
		wait.Go(func() { f.add(t, account, "raced") })
		wait.Wait()
		f.Advance(2 * Undo)
		f.collect(t)
		f.reads(t, all...)
		same(t, "pins", f.pinned(t, account), "["+root.cid.String()+"]")
		f.unpin(t, account, root)
	}
}
