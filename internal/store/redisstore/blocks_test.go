package redisstore

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/nodegate/nodegate/test/full"
)

// blockBounds are bounds that a busy machine stays within.
func blockBounds() BlockBounds {
	return BlockBounds{Within: time.Minute, Lease: time.Minute, Life: time.Hour, Slots: 4, Bytes: 1 << 10}
}

// TestBlocks: one server is to fetch a block, the others wait until it put it, or gave up.
func TestBlocks(t *testing.T) {
	r := startRedis(t)
	s := r.open()
	one, other := s.Blocks(blockBounds()), r.open().Blocks(blockBounds())
	ctx, hash := t.Context(), [32]byte{1}
	expect := func(what string, b *Blocks, number uint64, hash [32]byte, value string, wait bool) {
		t.Helper()
		if got, waits := b.Take(ctx, "main", number, hash); string(got) != value || waits != wait {
			t.Errorf("%s: %q, %v, want %q, %v", what, got, waits, value, wait)
		}
	}
	expect("the first", one, 5, hash, "", false)
	expect("the second", other, 5, hash, "", true)
	other.Drop(ctx, "main", hash)
	expect("after somebody else gave up", other, 5, hash, "", true)
	one.Drop(ctx, "main", hash)
	expect("after it gave up", other, 5, hash, "", false)
	other.Put(ctx, "main", 5, hash, []byte("block"))
	expect("when it is there", one, 5, hash, "block", false)
	expect("another branch", one, 5, [32]byte{2}, "", false)
	if _, wait := one.Take(ctx, "side", 5, hash); wait {
		t.Error("another network has to wait")
	}
	one.Put(ctx, "main", 9, [32]byte{9}, []byte("later"))
	expect("in the place of an older one", other, 9, [32]byte{9}, "later", false)
	expect("the older one", other, 5, hash, "", true)
	one.Put(ctx, "main", 6, [32]byte{6}, bytes.Repeat([]byte("x"), 1<<10+1))
	expect("a large one", other, 6, [32]byte{6}, "", false)

	c := redis(t, s)
	names, err := c.Do(ctx, c.B().Keys().Pattern("*").Build()).AsStrSlice()
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		ttl, err := c.Do(ctx, c.B().Pttl().Key(name).Build()).AsInt64()
		if err != nil || ttl <= 0 || !strings.HasPrefix(name, prefix+"block:") {
			t.Errorf("%s expires in %d ms, %v", name, ttl, err)
		}
	}
}

// TestBlockLease: a server that is gone holds the others up for no longer than the lease.
func TestBlockLease(t *testing.T) {
	r := startRedis(t)
	bounds := blockBounds()
	bounds.Lease = 50 * time.Millisecond
	one, other := r.open().Blocks(bounds), r.open().Blocks(bounds)
	one.Take(t.Context(), "main", 5, [32]byte{1})
	soon(t, "another server is to fetch the block", func() bool {
		value, wait := other.Take(t.Context(), "main", 5, [32]byte{1})
		return value == nil && !wait
	})
}

// TestDamagedBlocks: whatever else is in Redis under the names is a block to fetch.
func TestDamagedBlocks(t *testing.T) {
	s := startRedis(t).open()
	b, ctx, hash := s.Blocks(blockBounds()), t.Context(), [32]byte{1}
	c := redis(t, s)
	do := func(cmd rueidis.Completed) {
		t.Helper()
		if err := c.Do(ctx, cmd).Error(); err != nil {
			t.Fatal(err)
		}
	}
	good := pack(blockKey("main", hash), []byte("block"))
	for i, value := range [][]byte{nil, []byte("x"), good[:len(good)-1], append(bytes.Clone(good), 0), packed(blockKey("main", hash)),
		pack(blockKey("main", [32]byte{2}), []byte("block")), pack(blockKey("main", hash), bytes.Repeat([]byte("x"), 1<<20))} {
		do(c.B().Set().Key(b.slot("main", 5)).Value(rueidis.BinaryString(value)).Build())
		do(c.B().Del().Key(leaseName("main", hash)).Build())
		if got, wait := b.Take(ctx, "main", 5, hash); got != nil || wait {
			t.Errorf("value %d: %.20q, %v", i, got, wait)
		}
	}
	do(c.B().Del().Key(b.slot("main", 5), leaseName("main", hash)).Build())
	do(c.B().Lpush().Key(b.slot("main", 5)).Element("x").Build())
	do(c.B().Lpush().Key(leaseName("main", [32]byte{7})).Element("x").Build())
	if got, wait := b.Take(ctx, "main", 5, hash); got != nil || wait {
		t.Errorf("a list: %.20q, %v", got, wait)
	}
	b.Drop(ctx, "main", [32]byte{7})
	b.Put(ctx, "main", 5, hash, []byte("block"))
	if got, _ := b.Take(ctx, "main", 5, hash); string(got) != "block" {
		t.Errorf("a list is in the way: %q", got)
	}
	if b.resume.Load() != 0 {
		t.Error("a Redis that answers was left alone")
	}
}

// TestHungBlocks: a Redis that hangs is left alone after two calls, and nobody waits.
func TestHungBlocks(t *testing.T) {
	full.Slow(t)
	r := startRedis(t)
	bounds := blockBounds()
	bounds.Within = 50 * time.Millisecond
	b, hash := r.open().Blocks(bounds), [32]byte{1}
	r.Pause()
	for range blockFaults {
		if got, wait := b.Take(t.Context(), "main", 5, hash); got != nil || wait {
			t.Errorf("a Redis that hangs: %q, %v", got, wait)
		}
	}
	if b.resume.Load() == 0 {
		t.Error("a Redis that hangs is not left alone")
	}
	r.Resume()
	soon(t, "Redis is used again", func() bool {
		b.Put(t.Context(), "main", 5, hash, []byte("block"))
		got, _ := b.Take(t.Context(), "main", 5, hash)
		return string(got) == "block"
	})
}
