package blockstore

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-cid"
	"github.com/multiformats/go-multihash"
	"github.com/nodegate/nodegate"
)

// diskBytes is what the segments take of the disk.
func diskBytes(t *testing.T, s *Store) (n int64) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(s.cfg.Dir, "segments"))
	must(t, err)
	for _, e := range entries {
		info, err := e.Info()
		must(t, err)
		n += info.Size()
	}
	return n
}

// What is unpinned can be undone for a while; then it goes, and the disk's space
// with it. A dry run says the same and changes nothing.
func TestUndoWindow(t *testing.T) {
	clock := newClock()
	cfg := testConfig(t)
	cfg.now, cfg.Undo = clock.Now, time.Hour
	s := open(t, cfg)
	var list []cid.Cid
	for i := range 100 {
		list = append(list, mustAdd(t, s, content(i, 50_000)))
	}
	clock.Advance(2 * time.Hour)
	for _, c := range list[:80] {
		unpin(t, s, "acc", c)
	}
	clock.Advance(time.Hour - 1)
	if r := mustCollect(t, s); r.Blocks != 0 || r.Pins != 0 {
		t.Fatalf("collected before its time: %+v", r)
	}
	must(t, s.Undo(t.Context(), "acc", list[0].String()))
	clock.Advance(1)
	full := diskBytes(t, s)
	dry, err := s.Collect(t.Context(), true)
	must(t, err)
	if dry.Blocks != 79 || dry.Bytes != 79*50_000 || dry.Pins != 79 || dry.Segments != 0 {
		t.Errorf("dry run: %+v", dry)
	}
	if s.Stored("acc") != 100*50_000 || diskBytes(t, s) != full {
		t.Error("the dry run changed something")
	}
	r := mustCollect(t, s)
	if r.Blocks != dry.Blocks || r.Bytes != dry.Bytes || r.Pins != dry.Pins {
		t.Errorf("%+v, but the dry run said %+v", r, dry)
	}
	if now := diskBytes(t, s); now > 21*50_000*5/4 || abs(full-now-r.Freed) > 1000 {
		t.Errorf("%d bytes on the disk, %d before, %d freed", now, full, r.Freed)
	}
	if s.Stored("acc") != 21*50_000 {
		t.Errorf("stored %d", s.Stored("acc"))
	}
	checkCollected(t, s, list)
	s = reopen(t, s)
	checkCollected(t, s, list)
	s = loseIndex(t, s)
	checkCollected(t, s, list)
}

func abs(n int64) int64 { return max(n, -n) }

func checkCollected(t *testing.T, s *Store, list []cid.Cid) {
	t.Helper()
	for i, c := range list {
		if i == 0 || i >= 80 {
			wantBlock(t, s, c, content(i, 50_000))
			continue
		}
		if _, err := s.PinOf(t.Context(), "acc", c.String()); err == nil {
			t.Errorf("pin %d is back", i)
		}
	}
	if s.Stored("acc") != 21*50_000 {
		t.Errorf("stored %d", s.Stored("acc"))
	}
}

// What is stored without a pin stays as long, counts as long, and stays longer when
// it is put again.
func TestLoose(t *testing.T) {
	clock := newClock()
	cfg := testConfig(t)
	cfg.now, cfg.Undo = clock.Now, time.Hour
	s := open(t, cfg)
	put := func(i int) cid.Cid {
		b := s.Begin("acc", 0)
		c := rawCID(t, content(i, 1000))
		must(t, b.Put(t.Context(), c, content(i, 1000)))
		must(t, b.Commit(t.Context()))
		return c
	}
	one, two := put(1), put(2)
	clock.Advance(40 * time.Minute)
	put(2)
	if s.Stored("acc") != 3000 {
		t.Errorf("stored %d", s.Stored("acc"))
	}
	s = loseIndex(t, s)
	clock.Advance(20 * time.Minute)
	if r := mustCollect(t, s); r.Blocks != 1 || r.Loose != 2 {
		t.Errorf("%+v", r)
	}
	_, err := s.Get(t.Context(), one)
	wantCode(t, err, nodegate.NotFound)
	wantBlock(t, s, two, content(2, 1000))
	if s.Stored("acc") != 1000 {
		t.Errorf("stored %d", s.Stored("acc"))
	}
	clock.Advance(40 * time.Minute)
	mustCollect(t, s)
	_, err = s.Get(t.Context(), two)
	wantCode(t, err, nodegate.NotFound)
	if s.Stored("acc") != 0 {
		t.Errorf("stored %d", s.Stored("acc"))
	}
}

// Two pins share blocks, one of them as raw bytes: nothing that is reachable goes.
func TestReachable(t *testing.T) {
	cfg := testConfig(t)
	cfg.Undo = -1
	s := open(t, cfg)
	leaf := content(1, 3000)
	leafCID := rawCID(t, leaf)
	inner := fmt.Appendln(nil, leafCID)
	innerCID := cidOf(t, cid.DagProtobuf, multihash.SHA2_256, inner)
	carried := cidOf(t, cid.DagProtobuf, multihash.IDENTITY, fmt.Appendln(nil, innerCID))
	root := fmt.Appendln(nil, carried)
	rootCID := cidOf(t, cid.DagCBOR, multihash.SHA2_256, root)
	b := s.Begin("a", 0)
	for c, data := range map[cid.Cid][]byte{leafCID: leaf, innerCID: inner, rootCID: root} {
		must(t, b.Put(t.Context(), c, data))
	}
	b.Pin(nodegate.Pin{CID: rootCID.String(), Recursive: true})
	b.Pin(nodegate.Pin{CID: cid.NewCidV1(cid.Raw, innerCID.Hash()).String(), Recursive: true})
	must(t, b.Commit(t.Context()))
	for range 3 { // the second time it knows the leaves
		if r := mustCollect(t, s); r.Blocks != 0 || len(r.Unknown) > 0 {
			t.Fatalf("%+v", r)
		}
	}
	wantBlock(t, s, leafCID, leaf)
	unpin(t, s, "a", rootCID)
	if r := mustCollect(t, s); r.Blocks != 2 {
		t.Errorf("%+v", r)
	}
	wantBlock(t, s, innerCID, inner)
	wantCode(t, errOf(s.Get(t.Context(), leafCID)), nodegate.NotFound)
}

func errOf[T any](_ T, err error) error { return err }

// A pinned node can't be read. What it refers to is unknown, so nothing goes until
// it is added again.
func TestUnknownNodeKeepsAll(t *testing.T) {
	cfg := testConfig(t)
	cfg.Undo = -1
	s := open(t, cfg)
	root, err := addTree(s, "acc", "a")
	must(t, err)
	path, off := fileOf(t, s, root)
	flip(t, path, off)
	r := mustCollect(t, s)
	if len(r.Unknown) != 1 || r.Unknown[0] != root.String() || r.Blocks != 0 {
		t.Errorf("%+v", r)
	}
	errOf(addTree(s, "acc", "a"))
	if r := mustCollect(t, s); len(r.Unknown) > 0 || r.Blocks != 1 {
		t.Errorf("%+v", r)
	}
	checkTree(t, s, "acc", "a")
}

// An open batch keeps what it put or read, even if that is not pinned yet.
func TestOpenBatchKeeps(t *testing.T) {
	clock := newClock()
	cfg := testConfig(t)
	cfg.Undo, cfg.now = -1, clock.Now
	s := open(t, cfg)
	a, b, c := content(1, 2000), content(2, 2000), content(3, 2000)
	for _, data := range [][]byte{a, b, c} {
		loose := s.Begin("acc", 0)
		must(t, loose.Put(t.Context(), rawCID(t, data), data))
		must(t, loose.Commit(t.Context()))
	}
	clock.Advance(time.Minute)
	batch := s.Begin("acc", 0)
	must(t, batch.Put(t.Context(), rawCID(t, a), a))
	must(t, errOf(batch.Get(t.Context(), rawCID(t, b))))
	clock.Advance(time.Minute)
	if r := mustCollect(t, s); r.Blocks != 1 {
		t.Errorf("%+v", r)
	}
	batch.Pin(nodegate.Pin{CID: rawCID(t, a).String(), Size: 2000})
	batch.Pin(nodegate.Pin{CID: rawCID(t, b).String(), Size: 2000})
	must(t, batch.Commit(t.Context()))
	clock.Advance(time.Minute)
	mustCollect(t, s)
	wantBlock(t, s, rawCID(t, a), a)
	wantBlock(t, s, rawCID(t, b), b)
	wantCode(t, errOf(s.Get(t.Context(), rawCID(t, c))), nodegate.NotFound)
}

// Collections run without a pause while others add, read, unpin and add again what
// is about to go. Nobody ever misses what is pinned.
func TestCollectBesideWork(t *testing.T) {
	cfg := testConfig(t)
	cfg.SegmentBytes, cfg.Undo = 64<<10, -1
	s := open(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	var collector, workers sync.WaitGroup
	rounds := 0
	collector.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Collect(ctx, false); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			rounds++
		}
	})
	for w := range 4 {
		workers.Go(func() { addReadUnpin(t, s, w, 150) })
	}
	workers.Wait()
	stop()
	collector.Wait()
	if rounds < 2 {
		t.Errorf("only %d collections ran", rounds)
	}
	before := diskBytes(t, s)
	mustCollect(t, s)
	if r, _ := s.Report(t.Context()); r.LiveBytes > 4*12_000 || diskBytes(t, s) > before {
		t.Errorf("%+v", r)
	}
}

// addReadUnpin works on trees that all workers share, and leaves nothing pinned.
func addReadUnpin(t *testing.T, s *Store, w, count int) {
	r := rand.New(rand.NewPCG(uint64(w), 2))
	account := fmt.Sprint("acc", w)
	for range count {
		name := fmt.Sprint("shared", r.IntN(8))
		root, err := addTree(s, account, name)
		if err != nil {
			t.Error(err)
			return
		}
		if !readAndUnpin(t, s, account, name, root) {
			return
		}
	}
}

// Who reads a segment while it is compacted away reads on.
func TestReadsOfARemovedSegment(t *testing.T) {
	s := open(t, testConfig(t))
	c := mustAdd(t, s, content(1, 1000))
	e, _, err := s.index.block(c.Hash())
	must(t, err)
	seg, err := s.log.segs.take(e.segment)
	must(t, err)
	must(t, s.log.segs.remove(e.segment))
	buf := make([]byte, 1000)
	must(t, readFull(seg.f, buf, e.off+recordHeader+int64(len(c.Hash()))))
	if string(buf) != string(content(1, 1000)) {
		t.Error("other bytes")
	}
	s.log.segs.give(seg)
	if _, err := s.log.segs.take(e.segment); !errors.Is(err, errGone) {
		t.Errorf("taken: %v", err)
	}
}

func TestOneCollectionAtATime(t *testing.T) {
	s := open(t, testConfig(t))
	s.collecting <- struct{}{}
	wantCode(t, errOf(s.Collect(t.Context(), false)), nodegate.Conflict)
	<-s.collecting
	mustCollect(t, s)
}

func TestMarks(t *testing.T) {
	var m marks[uint64]
	r := rand.New(rand.NewPCG(1, 1))
	want := map[uint64]bool{}
	for range 100_000 {
		n := markKey(position{r.Uint32N(50) + 1, int64(r.IntN(5000)) * alignment}, uint8(r.IntN(4))+1)
		if m.has(n) != want[n] || m.add(n) == want[n] {
			t.Fatal(n)
		}
		want[n] = true
	}
	if m.count != len(want) || len(m.table)*8 > len(want)*48 {
		t.Errorf("%d marks in %d places, want %d", m.count, len(m.table), len(want))
	}
}

// readAndUnpin sees that a pinned tree is whole, and unpins it.
func readAndUnpin(t *testing.T, s *Store, account, name string, root cid.Cid) bool {
	t.Helper()
	_, nodes := tree(name)
	for c, data := range nodes {
		if got, err := s.Get(context.Background(), c); err != nil || string(got) != string(data) {
			t.Errorf("%s of %s: %v", name, account, err)
			return false
		}
	}
	b := s.Begin(account, 0)
	b.Unpin(root.String())
	if err := b.Commit(context.Background()); err != nil {
		t.Error(err)
		return false
	}
	return true
}
