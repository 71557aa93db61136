package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

func TestAppend(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	if _, _, ok := s.Tip(); ok {
		t.Error("an empty store has a tip")
	}
	a := testBlock(5, [32]byte{9}, 1, [][32]byte{testHash("tx", 1)})
	b := testBlock(6, a.Hash, 2, [][32]byte{testHash("tx", 2)})
	must(t, s.Append(a))
	must(t, s.Append(a)) // a second time, as after an error whose write arrived
	must(t, s.Append(b))
	for name, bad := range map[string]*Block{
		"gap":    testBlock(8, b.Hash, 3, nil),
		"parent": testBlock(7, a.Hash, 3, nil),
		"below":  testBlock(5, b.Hash, 3, nil),
		"again":  a,
	} {
		if err := s.Append(bad); !errors.Is(err, nodegate.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*Block){
		"hashes":   func(b *Block) { b.Hashes = nil },
		"senders":  func(b *Block) { b.Senders = b.Senders[1:] },
		"receipts": func(b *Block) { b.Receipts = append(b.Receipts, Receipt{}) },
		"height":   func(b *Block) { b.Number = 1<<64 - 1 },
	} {
		bad := testBlock(7, b.Hash, 4, [][32]byte{testHash("tx", 4)})
		change(bad)
		wantCode(t, s.Append(bad), nodegate.InvalidInput)
		wantCode(t, s.Put(bad), nodegate.InvalidInput)
		if _, ok, _ := s.ByHash(bad.Hash); ok {
			t.Errorf("%s: stored", name)
		}
	}
	first, tip, ok := s.Tip()
	if !ok || first.Hash != a.Hash || tip.Hash != b.Hash {
		t.Errorf("from %v to %v, %v", first, tip, ok)
	}
}

// TestPrepend: blocks are added before the first one, each the parent of the next.
func TestPrepend(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	below := testBlock(5, [32]byte{9}, 1, [][32]byte{testHash("tx", 1)})
	wantCode(t, s.Prepend(below), nodegate.Conflict)
	first := testBlock(6, below.Hash, 2, [][32]byte{testHash("tx", 2)})
	must(t, s.Append(first))
	for name, bad := range map[string]*Block{"height": testBlock(4, [32]byte{9}, 1, nil), "hash": testBlock(5, [32]byte{9}, 3, nil), "above": testBlock(7, first.Hash, 4, nil)} {
		if err := s.Prepend(bad); !errors.Is(err, nodegate.Conflict) {
			t.Errorf("%s: %v", name, err)
		}
	}
	must(t, s.Prepend(below))
	must(t, s.Prepend(below)) // a second time, as after an error whose write arrived
	at, tip, _ := s.Tip()
	if at.Hash != below.Hash || tip.Hash != first.Hash {
		t.Errorf("from %v to %v", at, tip)
	}
	if m, ok, err := s.Canonical(5); err != nil || !ok || m.Hash != below.Hash {
		t.Errorf("block 5 is %v, %v, %v", m, ok, err)
	}
	if at, _, ok, err := s.Find(testHash("tx", 1)); err != nil || !ok || at.Number != 5 {
		t.Errorf("its transaction is in %v, %v, %v", at, ok, err)
	}
}

func TestMoveRefused(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	var chain []*Block
	parent := [32]byte{}
	for n := range uint64(10) {
		chain = append(chain, testBlock(n, parent, n+1, nil))
		parent = chain[n].Hash
		must(t, s.Append(chain[n]))
	}
	a := testBlock(5, chain[4].Hash, 100, nil)
	b := testBlock(6, a.Hash, 101, nil)
	c := testBlock(7, b.Hash, 102, nil)
	for _, side := range []*Block{a, b, c, a} {
		must(t, s.Put(side))
	}
	place := func(b *Block) Place { p, _, _ := s.ByHash(b.Hash); return p }
	_, before, _ := s.Tip()
	for name, bad := range map[string][]Place{
		"nothing":  {},
		"gap":      {place(a), place(c)},
		"order":    {place(b), place(a)},
		"no root":  {place(b), place(c)},
		"missing":  {{5, 9, [32]byte{1}}},
		"mistaken": {{5, 0, a.Hash}},
	} {
		if err := s.Move(bad); err == nil {
			t.Errorf("%s: moved", name)
		}
		if _, now, _ := s.Tip(); now != before {
			t.Fatalf("%s: the tip is %v", name, now)
		}
	}
	must(t, s.Move([]Place{place(a), place(b), place(c)}))
	wantCode(t, s.SetMark(Mark{Place: place(chain[6])}), nodegate.Conflict)
	wantCode(t, s.Replace(testBlock(3, [32]byte{}, 999, nil)), nodegate.NotFound)
	if _, tip, _ := s.Tip(); tip.Hash != c.Hash {
		t.Errorf("the tip is %v", tip)
	}
	for n, want := range map[uint64]*Block{4: chain[4], 5: a, 6: b, 7: c} {
		if m, ok, err := s.Canonical(n); !ok || err != nil || m.Hash != want.Hash {
			t.Errorf("canonical %d is %v, %v, %v", n, m, ok, err)
		}
	}
	if _, ok, _ := s.Canonical(8); ok {
		t.Error("a block above the tip is canonical")
	}
	must(t, checkBlock(s, chain[9])) // still there, by its hash
}

// Many branches of one height find their place, until there are too many.
func TestBranches(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	for i := range uint64(256) {
		must(t, s.Put(testBlock(3, [32]byte{}, i, [][32]byte{testHash("tx", i)})))
	}
	wantCode(t, s.Put(testBlock(3, [32]byte{}, 256, nil)), nodegate.Conflict)
	for i := range uint64(256) {
		must(t, checkBlock(s, testBlock(3, [32]byte{}, i, [][32]byte{testHash("tx", i)})))
	}
	if n, err := s.PruneSides(4); n != 256 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	must(t, s.Put(testBlock(3, [32]byte{}, 256, nil)))
}

// Heights without blocks cost nothing to prune.
func TestPruneGap(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	defer s.Close()
	low, high := testBlock(5, [32]byte{}, 1, nil), testBlock(20_000_000, [32]byte{7}, 2, nil)
	must(t, s.Append(low))
	must(t, s.Put(high))
	at, _, err := s.ByHash(high.Hash)
	must(t, err)
	must(t, s.Move([]Place{at}))
	if n, err := s.Prune(1 << 60); n != 1 || err != nil {
		t.Errorf("removed %d, %v", n, err)
	}
	if first, tip, _ := s.Tip(); first != at || tip != at {
		t.Errorf("from %v to %v", first, tip)
	}
	must(t, checkBlock(s, high))
}

// Readers beside a writer that appends, reorganizes and prunes see whole blocks of one
// chain: what Canonical and Find lead to is there with the hash they say, or is gone.
func TestReadersBesideWriter(t *testing.T) {
	s := openStore(t, testConfig(vfs.NewMem()))
	var known sync.Map // hash -> *Block
	var stop atomic.Bool
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			for i := uint64(r); !stop.Load(); i++ {
				if err := readOne(s, &known, i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	seed, parent := uint64(0), [32]byte{}
	block := func(n uint64, parent [32]byte) *Block {
		seed++
		b := testBlock(n, parent, seed, [][32]byte{testHash("tx", seed), testHash("tx", seed+1<<32)})
		known.Store(b.Hash, b)
		return b
	}
	for n := range uint64(300) {
		b := block(n, parent)
		must(t, s.Append(b))
		parent = b.Hash
		if n%10 == 9 {
			m, _, err := s.Canonical(n - 3)
			must(t, err)
			var branch []Place
			for k, above := n-2, m.Hash; k <= n; k++ {
				side := block(k, above)
				must(t, s.Put(side))
				at, _, err := s.ByHash(side.Hash)
				must(t, err)
				branch, above, parent = append(branch, at), side.Hash, side.Hash
			}
			must(t, s.Move(branch))
		}
		if n%50 == 49 {
			_, err := s.Prune(n - 40)
			must(t, err)
			_, err = s.PruneSides(n - 10)
			must(t, err)
			must(t, s.db.pebble.Flush())
		}
	}
	must(t, s.Close()) // readers get an error from now on
	stop.Store(true)
	readers.Wait()
}

func readOne(s *Store, known *sync.Map, i uint64) error {
	first, tip, ok := s.Tip()
	if !ok {
		return nil
	}
	m, ok, err := s.Canonical(first.Number + i%(tip.Number-first.Number+1))
	if !ok || err != nil {
		return gone(err)
	}
	want, _ := known.Load(m.Hash)
	b := want.(*Block)
	if err := checkBlock(s, b); err != nil {
		if at, ok, _ := s.ByHash(m.Hash); ok && !errors.Is(err, nodegate.NotFound) {
			return fmt.Errorf("block at %v: %w", at, gone(err))
		}
		return nil // pruned meanwhile
	}
	at, index, ok, err := s.Find(b.Hashes[1])
	if ok && err == nil && (at.Hash != b.Hash || index != 1) {
		return fmt.Errorf("transaction of %v found at %v, %d", m, at, index)
	}
	return gone(err)
}

// gone forgives what happens to readers when a store is closed or pruned.
func gone(err error) error {
	if errors.Is(err, errClosed) || errors.Is(err, nodegate.NotFound) || errors.Is(err, nodegate.Damaged) {
		return nil
	}
	return err
}

// Bytes counts the files, and pruning gives the disk space back.
func TestBytes(t *testing.T) {
	cfg := testConfig(nil)
	cfg.Dir = t.TempDir()
	c := &chain{s: openStore(t, cfg)}
	rng := rand.NewChaCha8([32]byte{})
	for range 200 {
		b := c.next()
		b.Header = make([]byte, 100_000)
		_, _ = rng.Read(b.Header) // never fails
		must(t, c.s.Append(b))
	}
	must(t, c.s.db.pebble.Flush())
	must(t, c.s.db.pebble.Compact(t.Context(), []byte{0}, []byte{255}, false))
	data, index := c.s.Bytes()
	if data <= 0 || index <= 0 || index > data {
		t.Errorf("data %d, index %d", data, index)
	}
	_, err := c.s.Prune(190)
	must(t, err)
	must(t, c.s.db.pebble.Flush())
	must(t, c.s.db.pebble.Compact(t.Context(), []byte{0}, []byte{255}, false))
	// Tables that are not needed any more are removed in the background.
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		less, _ := c.s.Bytes()
		if less < data-10<<20 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%d bytes before pruning, %d after it", data, less)
		}
	}
	must(t, c.s.Close())
	if data, index := c.s.Bytes(); data != 0 || index != 0 {
		t.Errorf("closed: %d, %d", data, index)
	}
}

// TestDiscard: a folder that was discarded is empty when it is opened again, also if it was
// still being read when it was closed.
func TestDiscard(t *testing.T) {
	full.Slow(t)
	cfg := testConfig(nil)
	cfg.Dir = t.TempDir()
	c := &chain{s: openStore(t, cfg)}
	c.grow(t, 20)
	v, err := c.s.Snapshot()
	must(t, err)
	c.s.Discard()
	c.check(t)
	if c.s.Close() == nil {
		t.Error("a database that is being read was closed")
	}
	if _, err := Open(cfg); err == nil {
		t.Error("it was opened twice")
	}
	must(t, v.Close())
	var s *Store
	for end := time.Now().Add(time.Minute); s == nil && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		s, err = Open(cfg)
	}
	must(t, err)
	if _, _, ok := s.Tip(); ok {
		t.Error("the blocks are still there")
	}
	must(t, s.Close())
}
