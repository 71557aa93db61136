package blockstore

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/ipfs/go-cid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// holdStore is a store with a clock, where loose content stays an hour.
func holdStore(t *testing.T) (*Store, *testClock) {
	clock := newClock()
	cfg := testConfig(t)
	cfg.now, cfg.Undo = clock.Now, time.Hour
	return open(t, cfg), clock
}

// putLoose stores a block without a pin.
func putLoose(t *testing.T, s *Store, account string, data []byte) cid.Cid {
	t.Helper()
	b := s.Begin(account, 0)
	c := rawCID(t, data)
	must(t, b.Put(t.Context(), c, data))
	must(t, b.Commit(t.Context()))
	return c
}

func wantGone(t *testing.T, s *Store, c cid.Cid) {
	t.Helper()
	wantCode(t, errOf(s.Get(t.Context(), c)), nodegate.NotFound)
}

// Loose content that a batch writes or reads again lives no longer when the batch fails:
// nobody would pay for it.
func TestFailedBatchRenewsNothing(t *testing.T) {
	for name, end := range map[string]func(*Batch){
		"aborted": (*Batch).Abort,
		"refused": func(b *Batch) {
			b.Unpin("bafkqaaa")
			wantCode(t, b.Commit(t.Context()), nodegate.NotFound)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, clock := holdStore(t)
			one, two := putLoose(t, s, "acc", content(1, 1000)), putLoose(t, s, "acc", content(2, 1000))
			clock.Advance(50 * time.Minute)
			b := s.Begin("acc", 0)
			must(t, b.Put(t.Context(), one, content(1, 1000)))
			must(t, errOf(b.Get(t.Context(), two)))
			end(b)
			clock.Advance(11 * time.Minute)
			if r := mustCollect(t, s); r.Blocks != 2 {
				t.Errorf("%+v", r)
			}
			wantGone(t, s, one)
			wantGone(t, s, two)
		})
	}
}

// What a batch reads and does not pin lives no longer when the batch commits. An import
// reads below roots that it can't pin.
func TestReadRenewsNothing(t *testing.T) {
	s, clock := holdStore(t)
	read := putLoose(t, s, "acc", content(1, 1000))
	clock.Advance(50 * time.Minute)
	b := s.Begin("acc", 0)
	must(t, errOf(b.Get(t.Context(), read)))
	must(t, b.Put(t.Context(), rawCID(t, content(2, 10)), content(2, 10)))
	must(t, b.Commit(t.Context()))
	clock.Advance(11 * time.Minute)
	mustCollect(t, s)
	wantGone(t, s, read)
	if n := s.Stored("acc"); n != nodegate.MinBlockCharge {
		t.Errorf("%d bytes stored", n)
	}
}

// An upload that is kept open keeps nothing but what it put or read itself.
func TestOpenBatchKeepsNothingElse(t *testing.T) {
	s, clock := holdStore(t)
	b := s.Begin("acc", 0)
	defer b.Abort()
	must(t, b.Put(t.Context(), rawCID(t, content(1, 10)), content(1, 10)))
	clock.Advance(time.Minute)
	other := putLoose(t, s, "acc", content(2, 1000))
	clock.Advance(time.Hour)
	mustCollect(t, s)
	wantGone(t, s, other)
}

// What only an open batch keeps counts for its account until the batch ends.
func TestOpenBatchPays(t *testing.T) {
	s, clock := holdStore(t)
	c := putLoose(t, s, "other", content(1, 5000))
	b := s.Begin("acc", 6000)
	must(t, b.Put(t.Context(), c, content(1, 5000)))
	clock.Advance(2 * time.Hour)
	for range 2 { // it pays once
		mustCollect(t, s)
		wantBlock(t, s, c, content(1, 5000))
	}
	wantCode(t, s.quotas.reserve("acc", 1001, 6000), nodegate.QuotaReached)
	must(t, s.quotas.reserve("acc", 1000, 6000))
	s.quotas.unreserve("acc", 1000)
	must(t, b.Commit(t.Context()))
	if n := s.Stored("acc"); n != 5000 || len(s.quotas.reserved) > 0 {
		t.Errorf("%d bytes stored, reserved %v", n, s.quotas.reserved)
	}
}

// A batch whose account can't pay for what only the batch keeps loses it, and fails.
func TestOpenBatchCannotPay(t *testing.T) {
	s, clock := holdStore(t)
	c := putLoose(t, s, "other", content(1, 5000))
	poor, aborted := s.Begin("acc", 4000), s.Begin("rich", 0)
	must(t, poor.Put(t.Context(), c, content(1, 5000)))
	must(t, errOf(aborted.Get(t.Context(), c)))
	clock.Advance(2 * time.Hour)
	mustCollect(t, s)
	wantBlock(t, s, c, content(1, 5000)) // the other one pays
	aborted.Abort()
	if _, err := s.Collect(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	wantBlock(t, s, c, content(1, 5000))
	mustCollect(t, s)
	wantGone(t, s, c)
	wantCode(t, errOf(poor.Get(t.Context(), c)), nodegate.QuotaReached)
	wantCode(t, poor.Commit(t.Context()), nodegate.QuotaReached)
	if len(s.quotas.reserved) > 0 || len(s.holds.open) > 0 {
		t.Errorf("reserved %v, %d batches hold blocks", s.quotas.reserved, len(s.holds.open))
	}
}

// A batch puts more stored blocks again than it keeps in memory. Loose, all of them live
// as long as they are charged, also after the index was lost.
func TestManyBlocksAgain(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("has to be large, and nothing in it runs at the same time")
	}
	s, clock := holdStore(t)
	const n = pendingInMemory + 100
	put := func() {
		b := s.Begin("acc", 0)
		for i := range n {
			data := content(i, 16)
			must(t, b.Put(t.Context(), rawCID(t, data), data))
		}
		must(t, b.Commit(t.Context()))
	}
	put()
	clock.Advance(50 * time.Minute)
	put()
	clock.Advance(50 * time.Minute)
	for _, store := range []func(testing.TB, *Store) *Store{reopen, loseIndex} {
		s = store(t, s)
		if r := mustCollect(t, s); r.Blocks != 0 || s.Stored("acc") != n*nodegate.MinBlockCharge {
			t.Errorf("%+v, %d bytes stored", r, s.Stored("acc"))
		}
	}
	clock.Advance(10 * time.Minute)
	if r := mustCollect(t, s); r.Blocks != n || s.Stored("acc") != 0 {
		t.Errorf("%+v, %d bytes stored", r, s.Stored("acc"))
	}
}

// A pin that becomes smaller leaves blocks behind: they count until they can be collected.
func TestSmallerPin(t *testing.T) {
	s, clock := holdStore(t)
	root, nodes := tree("shrunk")
	must(t, errOf(addTree(s, "acc", "shrunk")))
	unpin(t, s, "acc", root)
	before := s.Stored("acc")
	b := s.Begin("acc", before)
	must(t, errOf(b.Get(t.Context(), root)))
	b.Pin(nodegate.Pin{CID: root.String(), Size: int64(len(nodes[root]))})
	must(t, b.Commit(t.Context()))
	if n := s.Stored("acc"); n != before {
		t.Errorf("%d bytes stored, want %d", n, before)
	}
	s = loseIndex(t, s)
	clock.Advance(time.Hour)
	mustCollect(t, s)
	if n := s.Stored("acc"); n != nodegate.MinPinCharge {
		t.Errorf("%d bytes stored after the collection, want %d", n, nodegate.MinPinCharge)
	}
}

// A batch reads loose content and pins it while a collection runs that has listed the
// pins already.
func TestPinnedDuringCollection(t *testing.T) {
	cfg := testConfig(t)
	cfg.Undo = -1
	meanwhile := func() {}
	cfg.Links = func(c cid.Cid, data []byte) ([]cid.Cid, error) {
		meanwhile()
		return links(c, data)
	}
	s := open(t, cfg)
	must(t, errOf(addTree(s, "acc", "pinned"))) // the collection reads its root
	read, again := putLoose(t, s, "acc", content(1, 1000)), putLoose(t, s, "acc", content(2, 1000))
	b := s.Begin("acc", 0)
	must(t, errOf(b.Get(t.Context(), read)))
	must(t, b.Put(t.Context(), again, content(2, 1000)))
	var once sync.Once
	meanwhile = func() {
		once.Do(func() {
			b.Pin(nodegate.Pin{CID: read.String(), Size: 1000})
			b.Pin(nodegate.Pin{CID: again.String(), Size: 1000})
			must(t, b.Commit(context.Background()))
		})
	}
	for range 2 {
		mustCollect(t, s)
		wantBlock(t, s, read, content(1, 1000))
		wantBlock(t, s, again, content(2, 1000))
	}
	wantPinned(t, s, read, again)
}

func wantPinned(t *testing.T, s *Store, list ...cid.Cid) {
	t.Helper()
	for _, c := range list {
		must(t, errOf(s.PinOf(t.Context(), "acc", c.String())))
	}
}

// Batches that rely on loose content stay open for a while beside collections that would
// take it at once. What commits is there; what aborts leaves nothing.
func TestCollectBesideOpenBatches(t *testing.T) {
	full.Slow(t)
	cfg := testConfig(t)
	cfg.SegmentBytes, cfg.Undo = 64<<10, -1
	s := open(t, cfg)
	ctx, stop := context.WithCancel(t.Context())
	var collector, workers sync.WaitGroup
	collector.Go(func() {
		for ctx.Err() == nil {
			if _, err := s.Collect(ctx, false); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		}
	})
	for w := range 4 {
		workers.Go(func() { relyOnLoose(t, s, w, 100) })
	}
	workers.Wait()
	stop()
	collector.Wait()
	mustCollect(t, s)
	blocks := 0
	must(t, s.index.scan([]byte{keyBlock}, func(_, _ []byte) (bool, error) { blocks++; return true, nil }))
	if blocks != 0 || len(s.quotas.reserved) > 0 || len(s.holds.open) > 0 {
		t.Errorf("%d blocks are left, reserved %v, %d batches hold blocks", blocks, s.quotas.reserved, len(s.holds.open))
	}
}

// relyOnLoose pins trees of which a part is stored already, or gives up half way.
func relyOnLoose(t *testing.T, s *Store, w, count int) {
	r := rand.New(rand.NewPCG(uint64(w), 3))
	account := fmt.Sprint("acc", w)
	for range count {
		name := fmt.Sprint("loose", r.IntN(6))
		if r.IntN(3) == 0 {
			putTreeLoose(t, s, account, name)
		}
		root, ok := pinSlowly(t, s, account, name, r)
		if !ok {
			continue
		}
		if !readAndUnpin(t, s, account, name, root) {
			return
		}
	}
}

func putTreeLoose(t *testing.T, s *Store, account, name string) {
	b := s.Begin(account, 0)
	defer b.Abort()
	_, nodes := tree(name)
	for c, data := range nodes {
		if err := b.Put(context.Background(), c, data); err != nil {
			t.Error(err)
		}
	}
	if err := b.Commit(context.Background()); err != nil {
		t.Error(err)
	}
}

// pinSlowly reads or puts each block of a tree, with time for collections between, and
// tells whether it pinned the tree.
func pinSlowly(t *testing.T, s *Store, account, name string, r *rand.Rand) (cid.Cid, bool) {
	root, nodes := tree(name)
	b := s.Begin(account, 0)
	defer b.Abort()
	for c, data := range nodes {
		if _, err := b.Get(context.Background(), c); err != nil || r.IntN(2) == 0 {
			if err := b.Put(context.Background(), c, data); err != nil {
				t.Error(err)
				return root, false
			}
		}
		time.Sleep(time.Duration(r.IntN(3)) * time.Millisecond)
	}
	if r.IntN(4) == 0 {
		return root, false
	}
	b.Pin(nodegate.Pin{CID: root.String(), Recursive: true, Size: 1})
	if err := b.Commit(context.Background()); err != nil {
		t.Error(err)
		return root, false
	}
	return root, true
}

// A pin comes back by undo at the last moment, when the collection has seen it as over.
func TestUndoneDuringCollection(t *testing.T) {
	s, clock := holdStore(t)
	root, _ := tree("undone")
	must(t, errOf(addTree(s, "acc", "undone")))
	unpin(t, s, "acc", root)
	clock.Advance(time.Hour - 1)
	over, err := s.index.pin(pinKey("acc", root.String()))
	must(t, err)
	must(t, s.Undo(t.Context(), "acc", root.String()))
	clock.Advance(1)
	c := &collector{s: s, pace: pace{rate: 1 << 40}}
	c.now, c.floor = s.uploads.floor()
	must(t, c.expirePins(t.Context(), []*pinState{over}))
	must(t, c.sweep(t.Context()))
	checkTree(t, s, "acc", "undone")
}
