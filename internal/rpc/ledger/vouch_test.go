package ledger

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// claims are what two nodes say.
type claims struct {
	mu   sync.Mutex
	list []Claim
}

func (c *claims) get() []Claim {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Claim(nil), c.list...)
}

// set changes what they say, and lets the follower look.
func (c *claims) set(list ...Claim) {
	c.mu.Lock()
	c.list = list
	c.mu.Unlock()
	time.Sleep(3 * lookEvery)
	synctest.Wait()
}

// says is a node's claim of a block.
func says(node string, m *made) Claim {
	return Claim{Node: node, Number: m.NumberU64(), Hash: m.Hash(), Parent: m.ParentHash(), Fresh: true}
}

// agreed is how many nodes gave the block that a call is answered from; 0 if it is passed on.
func (r *rig) agreed(name string, params ...any) int {
	r.t.Helper()
	raw, err := json.Marshal(params)
	if err != nil {
		r.t.Fatal(err)
	}
	trace := &nodegate.Trace{}
	if _, err := r.Call(nodegate.WithTrace(r.t.Context(), trace), name, raw); err != nil {
		r.t.Fatal(err)
	}
	return trace.Agreed
}

// wantAgreed checks a block in every way that it can be asked for.
func (r *rig) wantAgreed(what string, m *made, want int) {
	r.t.Helper()
	number := fmt.Sprintf("%#x", m.NumberU64())
	for name, got := range map[string]int{
		"by number":      r.agreed("eth_getBlockByNumber", number, true),
		"by hash":        r.agreed("eth_getBlockByHash", m.Hash(), true),
		"logs":           r.agreed("eth_getLogs", map[string]any{"fromBlock": "0x1", "toBlock": number}),
		"logs of a hash": r.agreed("eth_getLogs", map[string]any{"blockHash": m.Hash()}),
	} {
		if got != want {
			r.t.Errorf("%s: block %d %s is agreed by %d, want %d", what, m.NumberU64(), name, got, want)
		}
	}
	if got, _ := r.Vouched(m.NumberU64(), m.Hash()); got != max(want, 1) {
		r.t.Errorf("%s: block %d has %d vouchers, want %d", what, m.NumberU64(), got, want)
	}
	if got, _ := r.Vouched(m.NumberU64(), [32]byte{1}); got != 1 {
		r.t.Errorf("%s: another block %d has %d vouchers", what, m.NumberU64(), got)
	}
}

// follow runs a ledger with claims in a bubble.
func follow(t *testing.T, c *chain, set func(*Config), test func(r *rig, said *claims)) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		said := &claims{}
		r := newRig(t, c, dir, 10_000)
		r.cfg.Claims = said.get
		if set != nil {
			set(&r.cfg)
		}
		r.Start()
		defer r.Close()
		r.settle()
		test(r, said)
	})
}

// TestAgreed: a node that reports a block vouches for it and all before, until it reports
// another one at that height, or the chain forks.
func TestAgreed(t *testing.T) {
	c := newChain()
	c.grow(50)
	follow(t, c, nil, func(r *rig, said *claims) {
		r.wantAgreed("nobody says anything", c.at(50), 1)
		away := says("c", c.at(50))
		away.Number += 5
		said.set(says("a", c.at(50)), says("b", c.at(47)), away)
		r.wantAgreed("one is behind", c.at(50), 1)
		r.wantAgreed("one is behind", c.at(47), 2)
		said.set(says("a", c.at(50)), says("b", c.at(50)))
		r.wantAgreed("both are there", c.at(50), 2)
		if s := r.Status(); s.Agreed != 2 {
			t.Errorf("the status says %d", s.Agreed)
		}

		c.grow(1)
		gone := says("b", c.at(50))
		gone.Fresh = false
		said.set(says("a", c.at(51)), gone)
		r.settle()
		r.wantAgreed("one is away", c.at(51), 1)
		r.wantAgreed("what it said before", c.at(50), 2)

		other := says("b", c.at(51))
		other.Hash[0]++
		said.set(says("a", c.at(51)), other)
		r.wantAgreed("one has another block", c.at(50), 1)
		ahead := Claim{Node: "b", Number: 52, Hash: [32]byte{1}, Parent: c.at(51).Hash(), Fresh: true}
		said.set(says("a", c.at(51)), ahead)
		r.wantAgreed("one is a block ahead", c.at(51), 2)
		said.set(says("a", c.at(51)))
		r.wantAgreed("one is removed", c.at(51), 1)
	})
}

// TestAgreedReorg: what a node said of the old branch doesn't count for the new one, but for
// its final blocks.
func TestAgreedReorg(t *testing.T) {
	c := newChain()
	c.grow(50) // 30 are final
	follow(t, c, nil, func(r *rig, said *claims) {
		said.set(says("a", c.at(50)), says("b", c.at(50)))
		old := c.at(50)
		r.wantAgreed("before", old, 2)
		gone := says("b", old)
		gone.Fresh = false
		c.reorg(5, 7, 3)
		said.set(says("a", c.at(52)), gone)
		r.settle()
		r.wantAgreed("the new branch", c.at(52), 1)
		r.wantAgreed("below it", c.at(45), 1)
		r.wantAgreed("what is final", c.at(30), 2)
		if got := r.agreed("eth_getBlockByHash", old.Hash(), false); got != 1 {
			t.Errorf("a block of the old branch is agreed by %d", got)
		}
	})
}

// TestAgreedFinal: blocks that became final on a new branch were not given by a node that was
// away then.
func TestAgreedFinal(t *testing.T) {
	c := newChain()
	c.grow(50) // 30 are final
	follow(t, c, nil, func(r *rig, said *claims) {
		said.set(says("a", c.at(50)), says("b", c.at(50)))
		gone := says("b", c.at(50))
		gone.Fresh = false
		c.set(func(c *chain) { c.head.Finalized = 48 })
		c.reorg(5, 7, 3)
		said.set(says("a", c.at(52)), gone)
		r.settle()
		r.wantAgreed("final since the fork", c.at(47), 1)
	})
}

// TestAgreedLost: when final blocks are taken back, what a node said that is away counts for
// nothing, also below its last block.
func TestAgreedLost(t *testing.T) {
	c := newChain()
	c.grow(50)
	follow(t, c, nil, func(r *rig, said *claims) {
		said.set(says("a", c.at(50)), says("b", c.at(47)))
		r.wantAgreed("before", c.at(47), 2)
		gone := says("b", c.at(47))
		gone.Fresh = false
		c.set(func(c *chain) {
			c.blocks = c.blocks[:1]
			c.head.Lost++
		})
		c.reorg(0, 90, 3)
		c.set(func(c *chain) { c.head.Finalized = 80 })
		said.set(says("a", c.at(90)), gone)
		r.settle()
		for _, n := range []uint64{1, 30, 47, 80, 90} {
			r.wantAgreed("another chain", c.at(n), 1)
		}
	})
}

// TestAgree: blocks that too few nodes gave are passed on.
func TestAgree(t *testing.T) {
	c := newChain()
	c.grow(50)
	follow(t, c, func(cfg *Config) { cfg.Agree = 2 }, func(r *rig, said *claims) {
		r.wantAgreed("nobody says anything", c.at(40), 0)
		said.set(says("a", c.at(50)), says("b", c.at(47)))
		r.wantAgreed("one is behind", c.at(48), 0)
		r.wantAgreed("one is behind", c.at(47), 2)
	})
}

// TestCheckpoint: a chain without the block is not followed, wherever it is.
func TestCheckpoint(t *testing.T) {
	full.Slow(t)
	for name, number := range map[string]uint64{"inside the copy": 290, "before it": 100, "the newest": 300} {
		t.Run(name, func(t *testing.T) {
			c := newChain()
			c.grow(300)
			right := func(cfg *Config) { cfg.Checkpoint = &Checkpoint{number, c.at(number).Hash()} }
			follow(t, c, right, func(r *rig, _ *claims) {
				r.check(c.at(300), true)
				for method, params := range map[string]string{"eth_getBlockByNumber": `["0x12c",false]`, "eth_getBlockByHash": `["` + c.at(180).Hash().Hex() + `",false]`, "eth_getLogs": `[{"fromBlock":"0x100","toBlock":"0x12c"}]`} {
					trace := &nodegate.Trace{}
					if _, err := r.Call(nodegate.WithTrace(t.Context(), trace), method, []byte(params)); err != nil || trace.Checkpoint != (number >= 173) {
						t.Errorf("%s is linked to the checkpoint: %v, %v", method, trace.Checkpoint, err)
					}
				}
			})
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, c, dir, 10_000)
				r.cfg.Checkpoint = &Checkpoint{number, [32]byte{1}}
				c.called()
				r.Start()
				defer r.Close()
				time.Sleep(10 * time.Minute)
				if _, ours := r.ask("eth_getBlockByNumber", "0x12b", false); ours {
					t.Error("it answers")
				}
				if all, by := c.called(); all > 60 {
					t.Errorf("ten minutes took %v", by)
				}
			})
		})
	}
}

// TestCheckpointAhead: a chain that grows past the checkpoint without the block is left.
func TestCheckpointAhead(t *testing.T) {
	c := newChain()
	c.grow(50)
	ahead := func(cfg *Config) { cfg.Checkpoint = &Checkpoint{60, [32]byte{1}} }
	follow(t, c, ahead, func(r *rig, _ *claims) {
		r.check(c.at(50), true)
		c.grow(9)
		r.settle()
		r.check(c.at(59), true)
		c.grow(1)
		time.Sleep(10 * time.Second)
		for _, n := range []string{"0x3c", "0x32"} {
			if _, ours := r.ask("eth_getBlockByNumber", n, false); ours {
				t.Errorf("block %s is answered", n)
			}
		}
	})
}

// TestCheckpointLost: when final blocks are taken back, the checkpoint may be one of them.
func TestCheckpointLost(t *testing.T) {
	c := newChain()
	c.grow(300)
	early := func(cfg *Config) { cfg.Checkpoint = &Checkpoint{100, c.at(100).Hash()} } // before the copy
	follow(t, c, early, func(r *rig, _ *claims) {
		r.check(c.at(300), true)
		c.set(func(c *chain) { c.head.Lost++ })
		c.reorg(250, 251, 3)
		time.Sleep(time.Minute)
		if _, ours := r.ask("eth_getBlockByNumber", "0x12c", false); ours {
			t.Error("it answers")
		}
	})
}

// TestCheckpointRefuted: nodes say that they have the block, and give a chain without it. That
// shows when the backfill gets there. They are not asked for the same chain again and again.
func TestCheckpointRefuted(t *testing.T) {
	full.Slow(t)
	c := newChain()
	c.grow(150)
	right := slices.Clone(c.blocks)
	other := c.at(140)
	c.reorg(20, 170, 1)
	c.set(func(c *chain) { c.pretend = map[uint64]*made{140: other} })
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, c, dir, 10_000)
		r.cfg.Checkpoint, r.cfg.Backfill = &Checkpoint{140, other.Hash()}, 20
		r.Start()
		defer r.Close()
		r.settle()
		time.Sleep(time.Hour)
		if _, ours := r.ask("eth_getBlockByNumber", "0x12b", false); ours {
			t.Error("it answers")
		}
		if all, by := c.called(); all > 7*2*170 {
			t.Errorf("an hour took %v", by)
		}
		c.set(func(c *chain) {
			c.pretend, c.blocks = nil, right
			c.head.Lost++
		})
		c.reorg(0, 170, 2)
		time.Sleep(2 * longestRest)
		r.settle()
		r.check(c.at(320), true)
	})
}

// TestForeignFork: the node that is asked serves a consistent fork. With agree: 2 nothing of it
// is answered, and when the nodes that are asked have the chain again, the copy follows them.
func TestForeignFork(t *testing.T) {
	c := newChain()
	c.grow(80)
	follow(t, c, func(cfg *Config) { cfg.Agree = 2 }, func(r *rig, said *claims) {
		said.set(says("a", c.at(80)), says("b", c.at(80)))
		r.wantAgreed("before", c.at(80), 2)
		honest := slices.Clone(c.blocks)
		c.reorg(10, 12, 9)
		said.set(says("a", c.at(82)), says("b", honest[80]))
		r.settle()
		for n := uint64(55); n <= 82; n++ {
			if got := r.agreed("eth_getBlockByNumber", fmt.Sprintf("%#x", n), true); got != 0 {
				t.Errorf("block %d is agreed by %d", n, got)
			}
		}
		c.set(func(c *chain) { c.blocks = honest })
		c.reorg(0, 5, 0)
		said.set(says("a", c.at(85)), says("b", c.at(85)))
		r.settle()
		r.wantAgreed("after", c.at(85), 2)
		r.wantAgreed("after", c.at(75), 2)
	})
}
