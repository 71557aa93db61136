package ledger

import (
	"bytes"
	"compress/flate"
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate/test/full"
)

// board is a Shared in memory, which may be of little use.
type board struct {
	mu     sync.Mutex
	values map[[32]byte][]byte
	leases map[[32]byte]time.Time
	puts   int
	// change changes what is taken, if it is set.
	change func(value []byte, wait bool) ([]byte, bool)
}

func newBoard() *board {
	return &board{values: map[[32]byte][]byte{}, leases: map[[32]byte]time.Time{}}
}

func (b *board) Take(_ context.Context, _ string, _ uint64, hash [32]byte) (value []byte, wait bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if value = b.values[hash]; value == nil {
		if wait = time.Now().Before(b.leases[hash]); !wait {
			b.leases[hash] = time.Now().Add(ShareLease)
		}
	}
	if b.change != nil {
		return b.change(value, wait)
	}
	return value, wait
}

func (b *board) Put(_ context.Context, _ string, _ uint64, hash [32]byte, value []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.values[hash] = value
	b.puts++
}

func (b *board) Drop(_ context.Context, _ string, hash [32]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.leases, hash)
}

func (b *board) set(change func(value []byte, wait bool) ([]byte, bool)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change = change
}

// hash is that of one of the newest blocks, as nodes report it.
func (c *chain) hash(number uint64) (hash [32]byte, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number > c.head.Number || number+128 <= c.head.Number {
		return hash, false
	}
	return c.blocks[number].Hash(), true
}

// newServer is one of several that share what they fetch.
func newServer(t *testing.T, c *chain, with Shared) *rig {
	r := newRig(t, c, t.TempDir(), 10_000)
	r.cfg.Network, r.cfg.Shared, r.cfg.SharedWait, r.cfg.Hash = "main", with, ShareWait, c.hash
	return r
}

// TestSharedBackfill: servers that start together fetch each block once, the first ones, those
// that come, those of a reorg and the older ones. Each proves all of them.
func TestSharedBackfill(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(300)
	c.set(func(c *chain) { c.delay = 10 * time.Millisecond })
	synctest.Test(t, func(t *testing.T) {
		shared := newBoard()
		var servers []*rig
		for range 3 {
			r := newServer(t, c, shared)
			r.cfg.Backfill = 20
			r.Start()
			defer r.Close()
			servers = append(servers, r)
		}
		for _, r := range servers {
			r.settle()
			r.first(0)
		}
		c.grow(1)
		for _, r := range servers {
			r.settle()
		}
		c.reorg(7, 8, 1)
		taken := uint64(0)
		for _, r := range servers {
			r.settle()
			r.check(c.at(302), true)
			r.check(c.at(3), true)
			s := r.Status()
			if taken += s.Taken; s.Fetched+s.Taken != 310 || s.Refused != 0 {
				t.Errorf("of 310 blocks %d are from nodes and %d from other servers", s.Fetched, s.Taken)
			}
			if report, err := r.Verify(t.Context()); err != nil || report.Damaged != 0 || report.Blocks != 303 {
				t.Errorf("the verification says %+v, %v", report, err)
			}
		}
		// And a few calls to find out which chain it is, and after the reorg.
		if all, by := c.called(); taken < 2*310-20 || all > 2*310 {
			t.Errorf("310 blocks of 3 servers took %v, and %d were from other servers", by, taken)
		}
	})
}

// TestSharedDeath: a server that was to fetch a block and is gone holds the others up once, and
// not for long.
func TestSharedDeath(t *testing.T) {
	c := newChain()
	c.grow(100)
	synctest.Test(t, func(t *testing.T) {
		shared := newBoard()
		r := newServer(t, c, shared)
		r.Start()
		defer r.Close()
		r.settle()
		for range 3 {
			c.grow(1)
			hash, _ := c.hash(c.head.Number)
			if _, wait := shared.Take(t.Context(), "main", c.head.Number, hash); wait {
				break // the server was first
			}
			start := time.Now() // the clock of the bubble
			r.settle()
			if took := time.Since(start); took > ShareLease+3*lookEvery {
				t.Errorf("a block that a dead server was to fetch took %s", took)
			}
		}
		// One that dies for every block that it can get hold of.
		shared.set(func(value []byte, _ bool) ([]byte, bool) { return value, value == nil })
		start := time.Now()
		const blocks = 10
		for range blocks {
			c.grow(1)
			r.settle()
		}
		if took := time.Since(start); took > ShareWait+(blocks+1)*2*lookEvery {
			t.Errorf("%d blocks took %s", blocks, took)
		}
		r.check(c.at(c.head.Number), true)
	})
}

// TestSharedLies: whatever is found for a block, nothing false is stored, and the block is
// fetched from a node at once.
func TestSharedLies(t *testing.T) {
	full.Slow(t)
	c := newChain()
	blocks := rounds(full.Rounds(100, 40), 20)
	c.grow(blocks)
	bomb := bombOf(maxShared + 5)
	other := packBlock(rawBlock{[]byte(`{"hash":"0x00"}`), []byte("[]")})
	lies := map[string]func(value []byte) []byte{
		"noise":              func([]byte) []byte { return []byte("garbage") },
		"another value":      func([]byte) []byte { return other },
		"no block":           func([]byte) []byte { return packBlock(rawBlock{[]byte("null"), []byte("null")}) },
		"cut":                func(v []byte) []byte { return v[:len(v)/2] },
		"a state root":       edit("block", `"stateRoot":"0x0000`, `"stateRoot":"0x0100`),
		"a transaction":      edit("block", `"value":"0x0"`, `"value":"0x1"`),
		"a second hash":      edit("block", `{`, `{"hash":"0x1",`),
		"a log":              edit("receipts", `"data":"0x64617461"`, `"data":"0x64617462"`),
		"a status":           edit("receipts", `"status":"0x1"`, `"status":"0x0"`),
		"no receipts":        func(v []byte) []byte { raw, _ := unpackBlock(v); raw.receipts = nil; return packBlock(raw) },
		"receipts in a list": func(v []byte) []byte { raw, _ := unpackBlock(v); raw.receipts = []byte(`[[[[`); return packBlock(raw) },
		"larger than it may": func([]byte) []byte { return bomb },
	}
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				shared := newBoard()
				r, truth := newServer(t, c, shared), newServer(t, c, shared)
				truth.Start()
				defer truth.Close()
				truth.settle()
				shared.set(func(v []byte, wait bool) ([]byte, bool) {
					if v != nil {
						v = lie(v)
					}
					return v, wait
				})
				c.called()
				r.Start()
				defer r.Close()
				start := time.Now()
				r.settle()
				if took := time.Since(start); took > time.Second {
					t.Errorf("the copy took %s", took)
				}
				for n := 1; n <= blocks; n += 3 {
					r.check(c.at(uint64(n)), true)
				}
				all, by := c.called()
				if s := r.Status(); int(s.Fetched) < blocks*9/10 || all > 2*blocks+10 {
					t.Errorf("%d blocks were fetched and %d taken, with %v", s.Fetched, s.Taken, by)
				}
				if report, err := r.Verify(t.Context()); err != nil || report.Damaged != 0 || report.Blocks != blocks+1 {
					t.Errorf("the verification says %+v, %v", report, err)
				}
			})
		})
	}
}

// bombOf is a small value that becomes a large one.
func bombOf(size int) []byte {
	var out bytes.Buffer
	w, err := flate.NewWriter(&out, flate.BestSpeed)
	if err == nil {
		_, err = w.Write(make([]byte, size))
	}
	if err != nil || w.Close() != nil {
		panic(err)
	}
	return out.Bytes()
}

// edit changes a text in what a node said, where it is.
func edit(part, from, to string) func([]byte) []byte {
	return func(v []byte) []byte {
		raw, ok := unpackBlock(v)
		if !ok {
			panic("what was put can't be read")
		}
		if part == "block" {
			raw.block = bytes.Replace(raw.block, []byte(from), []byte(to), 1)
		} else {
			raw.receipts = bytes.Replace(raw.receipts, []byte(from), []byte(to), 1)
		}
		return packBlock(raw)
	}
}

// TestSharedForks: a server whose nodes are on another fork doesn't give its blocks to the
// others, nor take theirs.
func TestSharedForks(t *testing.T) {
	one, other := newChain(), newChain()
	for i, c := range []*chain{one, other} {
		c.grow(100)
		c.reorg(3, 3, int64(i))
	}
	synctest.Test(t, func(t *testing.T) {
		shared := newBoard()
		for _, c := range []*chain{one, other} {
			r := newServer(t, c, shared)
			r.Start()
			defer r.Close()
			r.settle()
			for n := uint64(95); n <= 100; n++ {
				r.check(c.at(n), true)
			}
			if s := r.Status(); c == other && (s.Taken < 90 || s.Fetched != 3) {
				t.Errorf("%d blocks were fetched and %d taken", s.Fetched, s.Taken)
			}
		}
	})
}

// FuzzUnpackBlock: nothing that is found in Redis does harm, and what is put is found.
func FuzzUnpackBlock(f *testing.F) {
	f.Add(packBlock(rawBlock{[]byte(`{"a":1}`), []byte("[]")}))
	f.Add([]byte("garbage"))
	f.Fuzz(func(t *testing.T, value []byte) {
		raw, ok := unpackBlock(value)
		if !ok {
			return
		}
		again, ok := unpackBlock(packBlock(raw))
		if !ok || !bytes.Equal(again.block, raw.block) || !bytes.Equal(again.receipts, raw.receipts) {
			t.Errorf("%q became %q", raw, again)
		}
	})
}
