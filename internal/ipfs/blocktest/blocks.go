package blocktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"

	"github.com/nodegate/nodegate"
)

func blocksComeBack(t *testing.T, f *Fixture) {
	list := []block{leaf("hello"), leaf(""), filler(1, 300_000), parent(leaf("hello"))}
	for _, function := range []uint64{multihash.SHA2_512, multihash.BLAKE3, multihash.BLAKE2B_MIN + 31, multihash.SHA1} {
		list = append(list, newBlock(cid.Raw, function, fmt.Append(nil, "hash ", function)))
	}
	for _, codec := range []uint64{cid.GitRaw, cid.DagJSON, 0x300000} {
		list = append(list, newBlock(codec, multihash.SHA2_256, fmt.Append(nil, `"codec `, codec, `"`)))
	}
	b := f.Begin("a", 0)
	put(t, b, list...)
	put(t, b, list...) // twice is once
	commit(t, b)
	f.reads(t, list...)
	for _, x := range list {
		if has, err := f.Has(t.Context(), x.cid); err != nil || !has {
			t.Errorf("has %s: %v, %v", x.cid, has, err)
		}
	}
	other := block{cid.NewCidV1(cid.DagProtobuf, list[0].cid.Hash()), list[0].data}
	f.reads(t, other) // another CID of the same bytes
	f.reads(t, newBlock(cid.Raw, multihash.IDENTITY, []byte("carried along")))
	f.stores(t, "a", size(list))
}

func notThere(t *testing.T, f *Fixture) {
	missing := leaf("never put")
	_, err := f.Get(t.Context(), missing.cid)
	is(t, "get", err, nodegate.NotFound)
	if has, err := f.Has(t.Context(), missing.cid); has || err != nil {
		t.Errorf("has: %v, %v", has, err)
	}
	b := f.Begin("a", 0)
	defer b.Abort()
	_, err = b.Get(t.Context(), missing.cid)
	is(t, "a batch's get", err, nodegate.NotFound)
	_, err = f.PinOf(t.Context(), "a", missing.cid.String())
	is(t, "a pin", err, nodegate.NotFound)
	same(t, "pins", f.pinned(t, "a"), "[]")
	is(t, "undo", f.Undo(t.Context(), "a", missing.cid.String()), nodegate.NotFound)
	md5 := newBlock(cid.Raw, multihash.MD5, []byte("x"))
	is(t, "an unsafe hash", b.Put(t.Context(), md5.cid, md5.data), nodegate.InvalidInput)
	_, err = f.Get(t.Context(), md5.cid)
	is(t, "an unsafe hash", err, nodegate.InvalidInput)
}

func ownBlocks(t *testing.T, f *Fixture) {
	root, all := tree("own")
	b := f.Begin("a", 0)
	put(t, b, all...)
	for _, x := range all {
		if data, err := b.Get(t.Context(), x.cid); err != nil || !bytes.Equal(data, x.data) {
			t.Errorf("a batch's own block: %q, %v", data, err)
		}
	}
	if _, err := f.Get(t.Context(), root.cid); !errors.Is(err, nodegate.NotFound) && !f.Early {
		t.Errorf("before the commit: %v, want NotFound", err)
	}
	same(t, "pins before the commit", f.pinned(t, "a"), "[]")
	put(t, b, leaf("after a get"))
	b.Pin(pinFor(root, all))
	commit(t, b)
	f.reads(t, append(all, leaf("after a get"))...)
}

// A small block is the one that Get returns, or not ok.
func smallBlocks(t *testing.T, f *Fixture) {
	_, all := f.add(t, "a", "small")
	b := f.Begin("b", 0)
	defer b.Abort()
	for _, x := range all {
		if data, ok := b.Small(t.Context(), x.cid, len(x.data)); ok && !bytes.Equal(data, x.data) {
			t.Errorf("%q, want %q", data, x.data)
		}
		if data, ok := b.Small(t.Context(), x.cid, len(x.data)-1); ok {
			t.Errorf("%d bytes, want none of more than %d", len(data), len(x.data)-1)
		}
	}
	if data, ok := b.Small(t.Context(), leaf("never put").cid, 1<<20); ok {
		t.Errorf("%q although it is not there", data)
	}
}

// A batch of several megabytes, whose early blocks are read while it grows.
func largeBatch(t *testing.T, f *Fixture) {
	const count, each = 48, 200_000
	b := f.Begin("a", 0)
	var list []block
	for i := range count {
		x := filler(i+100, each)
		list = append(list, x)
		put(t, b, x)
		if i%20 == 19 {
			early := list[i/2]
			if data, err := b.Get(t.Context(), early.cid); err != nil || !bytes.Equal(data, early.data) {
				t.Fatalf("block %d of %d: %d bytes, %v", i/2, i, len(data), err)
			}
		}
	}
	var parents []block
	for i := 0; i < count; i += 16 {
		parents = append(parents, parent(list[i:i+16]...))
	}
	root := parent(parents...)
	list = append(append(list, parents...), root)
	put(t, b, append(parents, root)...)
	b.Pin(pinFor(root, list))
	commit(t, b)
	f.reads(t, list...)
	f.stores(t, "a", size(list))
	f.Advance(2 * Undo)
	f.collect(t)
	f.reads(t, list...)
}

func manyPut(t *testing.T, f *Fixture) {
	b := f.Begin("a", 0)
	var wait sync.WaitGroup
	var mu sync.Mutex
	var list []block
	for i := range 8 {
		wait.Go(func() {
			for j := range 10 {
				x := filler(i*10+j+1000, 100_000)
				if err := b.Put(t.Context(), x.cid, x.data); err != nil {
					t.Error(err)
				}
				clear(x.data) // the caller may use its memory again
				mu.Lock()
				list = append(list, filler(i*10+j+1000, 100_000))
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	commit(t, b)
	f.reads(t, list...)
	f.stores(t, "a", size(list))
}

func aborted(t *testing.T, f *Fixture) {
	root, all := tree("aborted")
	for range 2 {
		b := f.Begin("a", 2000)
		put(t, b, all...)
		put(t, b, filler(5, 500))
		b.Pin(pinFor(root, all))
		b.Abort()
		b.Abort() // again does nothing
		is(t, "a put after the end", b.Put(t.Context(), root.cid, root.data), nodegate.Internal)
		is(t, "a commit after the end", b.Commit(t.Context()), nodegate.Internal)
	}
	big := f.Begin("a", 0)
	for i := range 30 {
		put(t, big, filler(i+2000, 250_000))
	}
	big.Abort()
	same(t, "pins", f.pinned(t, "a"), "[]")
	f.stores(t, "a", 0)
	f.add(t, "a", "after it")
	empty := f.Begin("a", 0)
	commit(t, empty)
	empty.Abort()
}

func cancelled(t *testing.T, f *Fixture) {
	root, all := f.add(t, "a", "stays")
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Get(gone, root.cid); !errors.Is(err, context.Canceled) {
		t.Errorf("get: %v", err)
	}
	next, more := tree("never")
	b := f.Begin("a", 0)
	put(t, b, more...)
	b.Pin(pinFor(next, more))
	b.Unpin(root.cid.String())
	if err := b.Commit(gone); !errors.Is(err, context.Canceled) {
		t.Errorf("commit: %v", err)
	}
	b.Abort()
	same(t, "pins", f.pinned(t, "a"), "["+root.cid.String()+"]")
	f.stores(t, "a", size(all))
}

func largeBlocks(t *testing.T, f *Fixture) {
	largest, over := filler(1, 2<<20), filler(2, 3<<20)
	b := f.Begin("a", 0)
	put(t, b, largest)
	is(t, "a block that is too large", b.Put(t.Context(), over.cid, over.data), nodegate.InvalidInput)
	commit(t, b)
	f.reads(t, largest)
}
