package ledger

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestVerify: all blocks of a copy can be proven again, and the figures are those of the
// chain.
func TestVerify(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		report, err := r.Verify(r.t.Context())
		if err != nil || report.First != 0 || report.Last != 100 || report.Blocks != 101 || report.Damaged != 0 || report.Missing != 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		txs := 0
		for n := range uint64(101) {
			txs += len(c.at(n).Transactions())
		}
		if report.Transactions != txs || report.Receipts != txs {
			t.Errorf("%d transactions and %d receipts, want %d", report.Transactions, report.Receipts, txs)
		}
		s := r.Status()
		if s.First != 0 || s.Last != 100 || s.Blocks != 101 || s.Data == 0 {
			t.Errorf("the status is %+v", s)
		}
	})
}

// TestVerifyEmpty: without a copy there is nothing to verify.
func TestVerifyEmpty(t *testing.T) {
	c := newChain()
	c.set(func(c *chain) { c.away = true })
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, c, dir, 1000)
		defer r.Close()
		if _, err := r.Verify(t.Context()); err == nil || nodegate.AsError(err).Code != nodegate.NotFound {
			t.Errorf("got %v", err)
		}
	})
}

// TestVerifyFindsChanges: a block whose rows are whole and say something else than was proven
// is found, and replaced by what the nodes have.
func TestVerifyFindsChanges(t *testing.T) {
	c := newChain()
	c.grow(60)
	run(t, c, 1000, func(r *rig) {
		m := c.at(51) // it has transactions
		b, err := newFollower(r.Node).fetch.byHash(r.t.Context(), m.Hash())
		if err != nil || len(b.Txs) == 0 {
			t.Fatalf("%v, %d transactions", err, len(b.Txs))
		}
		b.Senders = bytes.Repeat([]byte{7}, len(b.Senders))
		if err := r.store.Replace(b.Block); err != nil {
			t.Fatal(err)
		}
		report, err := r.Verify(r.t.Context())
		if err != nil || report.Damaged != 1 || len(report.Damages) != 1 || report.Damages[0].Number != 51 || !strings.Contains(report.Damages[0].Why, "sender") {
			t.Fatalf("%+v, %v", report, err)
		}
		r.mended()
		r.check(m, true)
		if report, err = r.Verify(r.t.Context()); err != nil || report.Damaged != 0 || r.Status().Repaired != 1 {
			t.Errorf("after the repair: %+v, %v", report, err)
		}
	})
}

// mended waits until no block has to be fetched again.
func (r *rig) mended() {
	r.t.Helper()
	for range 100 {
		time.Sleep(lookEvery)
		synctest.Wait()
		if _, ok, lost := r.repairs.next(); !ok && !lost {
			return
		}
	}
	r.t.Fatal("damaged blocks are not fetched")
}

// flip changes bytes in the tables of a folder, and tells how many tables there are.
func flip(t *testing.T, dir string, random *rand.Rand, times int) (tables int) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.sst"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for range times {
			data[random.IntN(len(data)*3/4)] ^= 0x55 // the index and the footer are at the end
		}
		if err := os.WriteFile(name, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return len(names)
}

// TestDamagedTables: bytes in the files of a copy change while nobody uses it. No answer is
// false, and in the end all blocks are in the copy, and proven. It runs in real time: the
// database works at damaged tables in the background, and synctest would wait for that.
func TestDamagedTables(t *testing.T) {
	full.Slow(t)
	for seed := range uint64(rounds(3, 1)) {
		c := newChain()
		c.grow(100)
		dir := t.TempDir()
		visit := func(do func(r *rig)) {
			r := newRig(t, c, dir, 1000)
			r.cfg.Release = func() { _ = r.store.Close() } // it reports the damage
			r.Start()
			defer r.Close()
			do(r)
		}
		visit((*rig).reachHead)
		visit((*rig).reachHead) // what was in the log is in tables then
		if flip(t, dir, rand.New(rand.NewPCG(seed, 1)), int(1+seed)) == 0 {
			t.Fatal("there are no tables to damage")
		}
		visit(func(r *rig) {
			for n := range uint64(101) {
				r.probeBlock(c.at(n))
			}
			r.reachHead()
			for n := range uint64(101) {
				r.check(c.at(n), true)
			}
		})
	}
}

// reachHead waits until the copy has the whole chain, and all of it is proven.
func (r *rig) reachHead() {
	r.t.Helper()
	var report Report
	var err error
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if v := r.view.Load(); v == nil || v.last != 100 {
			continue
		}
		if report, err = r.Verify(r.t.Context()); err == nil && report.Damaged == 0 && report.Blocks == 101 {
			return
		}
	}
	r.t.Fatalf("the copy stays damaged: %+v, %v", report, err)
}

// probeBlock asks for a block in some ways. What the ledger answers must be right.
func (r *rig) probeBlock(m *made) {
	r.t.Helper()
	for _, full := range []bool{true, false} {
		if got, ours := r.ask("eth_getBlockByHash", m.Hash().Hex(), full); ours && !strings.Contains(got, m.Hash().Hex()) {
			r.t.Errorf("block %d: %s", m.NumberU64(), got)
		}
	}
	for i, tx := range m.Transactions() {
		if got, ours := r.ask("eth_getTransactionReceipt", tx.Hash().Hex()); ours && !strings.Contains(got, tx.Hash().Hex()) {
			r.t.Errorf("receipt %d of block %d: %s", i, m.NumberU64(), got)
		}
	}
}

// TestMissingReceipts: receipts that nodes did not give are asked for again, and a node that
// still doesn't give them is not asked all the time.
func TestMissingReceipts(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.set(func(c *chain) { c.failReceipts = &nodegate.Error{Code: nodegate.MethodNotFound} })
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		if report, err := r.Verify(r.t.Context()); err != nil || report.Damaged != 0 || report.Missing == 0 {
			t.Fatalf("%+v, %v", report, err)
		}
		c.called()
		time.Sleep(time.Hour)
		if all, by := c.called(); all == 0 || all > 20 {
			t.Errorf("within an hour the nodes were asked %d times: %v", all, by)
		}
		c.set(func(c *chain) { c.failReceipts = nil })
		time.Sleep(holesEvery + time.Minute)
		if report, err := r.Verify(r.t.Context()); err != nil || report.Damaged != 0 || report.Missing != 0 {
			t.Errorf("%+v, %v", report, err)
		}
		for n := uint64(0); n <= 100; n += uint64(rounds(1, 10)) {
			r.check(c.at(n), true)
		}
		r.checkLogs(&logFilter{from: 0, to: 100})
	})
}

// TestRebuild: a copy that is rebuilt has all blocks again.
func TestRebuild(t *testing.T) {
	c := newChain()
	c.grow(100)
	run(t, c, 1000, func(r *rig) {
		c.called()
		r.Rebuild()
		r.mended()
		r.settle()
		if all, _ := c.called(); all < 150 {
			t.Errorf("only %d calls were made", all)
		}
		for n := range uint64(101) {
			r.check(c.at(n), true)
		}
	})
}

// rounds is how often a test repeats itself, or how far its steps are apart: fewer of them
// where the race detector is to be quick, since it looks at the same code each time.
func rounds(whole, raced int) int {
	if underRace && testing.Short() {
		return raced
	}
	return whole
}
