package blockstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/fairshare"
	"github.com/nodegate/nodegate/test/full"
)

// testClock is a clock that stands still until it is moved.
type testClock struct {
	mu  sync.Mutex
	now time.Time
}

func newClock() *testClock { return &testClock{now: time.Unix(1_700_000_000, 0)} }

func (c *testClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *testClock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// links reads the nodes of these tests: a CID in each line.
func links(_ cid.Cid, data []byte) (list []cid.Cid, err error) {
	for line := range strings.Lines(string(data)) {
		c, err := cid.Decode(strings.TrimSpace(line))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func testConfig(t testing.TB) Config {
	t.Helper()
	return Config{Dir: t.TempDir(), SegmentBytes: 1 << 20, Links: links, ScrubRate: -1, CollectRate: 1 << 40, Log: slog.New(slog.DiscardHandler)}
}

func open(t testing.TB, c Config) *Store {
	t.Helper()
	s, err := Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // again does nothing
	return s
}

func reopen(t testing.TB, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, s.cfg)
}

func cidOf(t testing.TB, codec, function uint64, data []byte) cid.Cid {
	t.Helper()
	hash, err := multihash.Sum(data, function, -1)
	if err != nil {
		t.Fatal(err)
	}
	return cid.NewCidV1(codec, hash)
}

func rawCID(t testing.TB, data []byte) cid.Cid {
	t.Helper()
	return cidOf(t, cid.Raw, multihash.SHA2_256, data)
}

// content makes the bytes of block i.
func content(i, size int) []byte {
	return bytes.Repeat([]byte(fmt.Sprintf("%08d", i)), size/8+1)[:size]
}

// add stores a leaf and pins it.
func add(s *Store, account string, c cid.Cid, data []byte) error {
	b := s.Begin(account, 0)
	defer b.Abort()
	if err := b.Put(context.Background(), c, data); err != nil {
		return err
	}
	b.Pin(nodegate.Pin{CID: c.String(), Size: int64(len(data)), Recursive: true, Created: time.Unix(5, 0).UTC()})
	return b.Commit(context.Background())
}

func mustAdd(t testing.TB, s *Store, data []byte) cid.Cid {
	t.Helper()
	c := rawCID(t, data)
	if err := add(s, "acc", c, data); err != nil {
		t.Fatal(err)
	}
	return c
}

func unpin(t testing.TB, s *Store, account string, c cid.Cid) {
	t.Helper()
	b := s.Begin(account, 0)
	b.Unpin(c.String())
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func mustCollect(t testing.TB, s *Store) CollectReport {
	t.Helper()
	r, err := s.Collect(context.Background(), false)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantBlock(t testing.TB, s *Store, c cid.Cid, data []byte) {
	t.Helper()
	got, err := s.Get(context.Background(), c)
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%v: %d bytes, %v", c, len(got), err)
	}
}

func wantCode(t testing.TB, err error, code nodegate.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v, want %v", err, code)
	}
}

func TestPutAndGet(t *testing.T) {
	s := open(t, testConfig(t))
	for _, function := range []uint64{multihash.SHA2_256, multihash.SHA1, multihash.BLAKE2B_MIN + 31, multihash.BLAKE3, multihash.SHA3_256, multihash.SHA2_512, multihash.KECCAK_256, multihash.DBL_SHA2_256} {
		for _, size := range []int{0, 1, 4096, 100_000, 2 << 20} {
			data := content(int(function), size)
			c := cidOf(t, cid.Raw, function, data)
			b := s.Begin("acc", 0)
			if err := b.Put(t.Context(), c, data); err != nil {
				t.Fatal(err)
			}
			if has, err := s.Has(t.Context(), c); has && size > 0 || err != nil {
				t.Errorf("others see a block before its commit: %v", err)
			}
			if got, err := b.Get(t.Context(), c); err != nil || !bytes.Equal(got, data) {
				t.Errorf("the batch does not see its own block: %v", err)
			}
			if err := b.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
			wantBlock(t, s, c, data)
			if n, err := s.Size(t.Context(), c); n != size || err != nil {
				t.Errorf("size %d, %v", n, err)
			}
		}
	}
	if err := s.Scrub(t.Context(), func(d Damage) { t.Errorf("damaged: %v", d) }); err != nil {
		t.Error(err)
	}
}

func TestVersionsShareABlock(t *testing.T) {
	s := open(t, testConfig(t))
	data := []byte("one block")
	v1 := mustAdd(t, s, data)
	v0 := cid.NewCidV0(v1.Hash())
	wantBlock(t, s, v0, data)
	before, _ := s.Report(t.Context())
	if err := add(s, "other", v0, data); err != nil {
		t.Fatal(err)
	}
	after, _ := s.Report(t.Context())
	if grown := after.DiskBytes - before.DiskBytes; grown > 250 {
		t.Errorf("the block is stored twice: %d bytes more", grown)
	}
}

func TestRefusedBlocks(t *testing.T) {
	s := open(t, testConfig(t))
	b := s.Begin("acc", 0)
	defer b.Abort()
	data := []byte("x")
	short, err := multihash.Sum(data, multihash.SHA2_256, 19)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]cid.Cid{
		"md5":       cidOf(t, cid.Raw, multihash.MD5, data),
		"murmur":    cidOf(t, cid.Raw, multihash.MURMUR3X64_64, data),
		"cut short": cid.NewCidV1(cid.Raw, short),
		"undefined": {},
	} {
		t.Run(name, func(t *testing.T) {
			wantCode(t, b.Put(t.Context(), c, data), nodegate.InvalidInput)
			_, err := s.Get(t.Context(), c)
			wantCode(t, err, nodegate.InvalidInput)
		})
	}
	large := make([]byte, MaxBlock+1)
	wantCode(t, b.Put(t.Context(), rawCID(t, large), large), nodegate.InvalidInput)
	wantCode(t, Check(rawCID(t, data), []byte("y")), nodegate.InvalidInput)
	if err := Check(rawCID(t, data), data); err != nil {
		t.Error(err)
	}
}

func TestIdentity(t *testing.T) {
	s := open(t, testConfig(t))
	data := []byte("carried by the CID")
	c := mustAdd2(t, s, cidOf(t, cid.Raw, multihash.IDENTITY, data), data)
	wantBlock(t, s, c, data)
	if r, _ := s.Report(t.Context()); r.DiskBytes > 300 {
		t.Errorf("%d bytes on the disk", r.DiskBytes)
	}
	if r := mustCollect(t, s); len(r.Unknown) > 0 {
		t.Error(r.Unknown)
	}
}

func mustAdd2(t testing.TB, s *Store, c cid.Cid, data []byte) cid.Cid {
	t.Helper()
	if err := add(s, "acc", c, data); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestAbort(t *testing.T) {
	s := open(t, testConfig(t))
	data := content(1, 1000)
	c := rawCID(t, data)
	b := s.Begin("acc", 0)
	if err := b.Put(t.Context(), c, data); err != nil {
		t.Fatal(err)
	}
	b.Pin(nodegate.Pin{CID: c.String(), Size: 1000})
	b.Abort()
	b.Abort()
	s = loseIndex(t, s)
	_, err := s.Get(t.Context(), c)
	wantCode(t, err, nodegate.NotFound)
	_, err = s.PinOf(t.Context(), "acc", c.String())
	wantCode(t, err, nodegate.NotFound)
	if n := s.Stored("acc"); n != 0 {
		t.Errorf("%d bytes stored", n)
	}
	wantCode(t, b.Commit(t.Context()), nodegate.Busy) // its store is closed
}

// TestPinsTurns: reading pins takes a turn for each, which ends before the caller has it: it
// may send it to a client.
func TestPinsTurns(t *testing.T) {
	s := open(t, testConfig(t))
	for i := range 5 {
		mustAdd(t, s, content(i, 100))
	}
	pool, rests, pins := fairshare.New(1, 1), 0, 0
	ctx := fairshare.With(t.Context(), pool, "acc")
	fairshare.TakeTurns(ctx)
	err := s.Pins(fairshare.Alone(ctx, func() {}, func() { rests++ }), "acc", func(nodegate.Pin) bool {
		if pins++; pool.Used() != 0 {
			t.Error("the turn goes on")
		}
		return true
	})
	if err != nil || pins != 5 || rests != pins {
		t.Errorf("%d pins, %d turns, %v", pins, rests, err)
	}
}

func TestPins(t *testing.T) {
	clock := newClock()
	cfg := testConfig(t)
	cfg.now = clock.Now
	s := open(t, cfg)
	a, b := mustAdd(t, s, content(1, 100)), mustAdd(t, s, content(2, 200))
	if err := add(s, "other", a, content(1, 100)); err != nil {
		t.Fatal(err)
	}
	if s.Stored("acc") != 2*nodegate.MinPinCharge || s.Stored("other") != nodegate.MinPinCharge || s.Stored("nobody") != 0 {
		t.Errorf("stored: %d, %d", s.Stored("acc"), s.Stored("other"))
	}
	both := s.Begin("acc", 0)
	both.Unpin(a.String())
	both.Unpin("bafkqaaa") // not pinned: nothing happens
	wantCode(t, both.Commit(t.Context()), nodegate.NotFound)
	wantPins(t, s, "acc", a, b)

	unpin(t, s, "acc", a)
	wantPins(t, s, "acc", b)
	wantPins(t, s, "other", a)
	if s.Stored("acc") != 2*nodegate.MinPinCharge {
		t.Errorf("what can be undone counts: %d", s.Stored("acc"))
	}
	s = reopen(t, s)
	if err := s.Undo(t.Context(), "acc", a.String()); err != nil {
		t.Fatal(err)
	}
	wantCode(t, s.Undo(t.Context(), "acc", a.String()), nodegate.NotFound)
	p, err := s.PinOf(t.Context(), "acc", a.String())
	want := nodegate.Pin{AccountID: "acc", CID: a.String(), Size: nodegate.MinPinCharge, Recursive: true, Created: time.Unix(5, 0).UTC()}
	if err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	unpin(t, s, "acc", a)
	clock.Advance(DefaultUndo)
	wantCode(t, s.Undo(t.Context(), "acc", a.String()), nodegate.NotFound)
	_ = s.Unpinned(t.Context(), "acc", func(p nodegate.Pin) bool { t.Errorf("%v can be undone", p.CID); return true })
	mustCollect(t, s)
	if s.Stored("acc") != nodegate.MinPinCharge {
		t.Errorf("stored %d", s.Stored("acc"))
	}
	wantBlock(t, s, a, content(1, 100)) // the other account's
}

func wantPins(t testing.TB, s *Store, account string, want ...cid.Cid) {
	t.Helper()
	got := map[string]bool{}
	err := s.Pins(context.Background(), account, func(p nodegate.Pin) bool { got[p.CID] = true; return true })
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d pins, want %d (%v)", len(got), len(want), err)
	}
	for _, c := range want {
		if !got[c.String()] {
			t.Errorf("%v is not pinned", c)
		}
	}
}

func TestManyBlocksInABatch(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("has to be large, and nothing in it runs at the same time")
	}
	s := open(t, testConfig(t))
	const n = 2*pendingInMemory + 100
	b := s.Begin("acc", 0)
	var list []cid.Cid
	for i := range n {
		data := content(i, 16)
		list = append(list, rawCID(t, data))
		if err := b.Put(t.Context(), list[i], data); err != nil {
			t.Fatal(err)
		}
	}
	if len(b.blocks.memory) > pendingInMemory {
		t.Errorf("%d in memory", len(b.blocks.memory))
	}
	if got, err := b.Get(t.Context(), list[7]); err != nil || !bytes.Equal(got, content(7, 16)) {
		t.Errorf("the batch does not see a block that left memory: %v", err)
	}
	if err := b.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	s = loseIndex(t, s)
	for i, c := range list {
		wantBlock(t, s, c, content(i, 16))
	}
	if s.Stored("acc") != n*nodegate.MinBlockCharge {
		t.Errorf("stored %d", s.Stored("acc"))
	}
}

// loseIndex opens a store again without its index.
func loseIndex(t testing.TB, s *Store) *Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.cfg.index.RemoveAll(s.files.indexDir()); err != nil {
		t.Fatal(err)
	}
	return open(t, s.cfg)
}

func TestOneProcessOnly(t *testing.T) {
	s := open(t, testConfig(t))
	_, err := Open(t.Context(), s.cfg)
	wantCode(t, err, nodegate.BadConfig)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(t.Context(), Config{Dir: file})
	wantCode(t, err, nodegate.BadConfig)
}

func TestClosed(t *testing.T) {
	s := open(t, testConfig(t))
	c := mustAdd(t, s, []byte("x"))
	b := s.Begin("acc", 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	_, err := s.Get(t.Context(), c)
	wantCode(t, err, nodegate.Busy)
	wantCode(t, b.Put(t.Context(), c, []byte("x")), nodegate.Busy)
	wantCode(t, b.Commit(t.Context()), nodegate.Busy)
}
