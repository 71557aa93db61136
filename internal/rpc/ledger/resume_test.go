package ledger

import (
	"context"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/ledger/store"
)

// newResumer opens a ledger that may begin without a node.
func newResumer(t *testing.T, c *chain, dir string, origin byte) *rig {
	r := newRig(t, c, dir, 10_000)
	r.cfg.Origin, r.cfg.ShowAge = [32]byte{origin}, 10*time.Second
	r.cfg.Existing = func(context.Context) (*store.Store, error) {
		s, err := store.Open(store.Config{Dir: dir, Memory: 4 << 20, Log: slog.New(slog.DiscardHandler), Existing: true})
		r.store = s
		return s, err
	}
	return r
}

// TestStartWithoutNodes: a server that starts while no node can be reached answers from its copy as it
// was, with the age of the head. When the nodes are back it goes on, and fetches nothing twice.
func TestStartWithoutNodes(t *testing.T) {
	c := newChain()
	c.grow(50)
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		r := newResumer(t, c, dir, 1)
		r.Start()
		r.settle()
		c.grow(1)
		r.settle()
		r.Close()
		c.set(func(c *chain) { c.away = true })
		time.Sleep(time.Minute)
		r = newResumer(t, c, dir, 1)
		r.Start()
		defer r.Close()
		time.Sleep(5 * time.Second)
		for n := range uint64(52) {
			r.check(c.at(n), true)
		}
		if r.checkLogs(&logFilter{from: 1, to: 51}) == 0 {
			t.Error("no logs are found")
		}
		trace := &nodegate.Trace{}
		if _, err := r.Call(nodegate.WithTrace(t.Context(), trace), "eth_getBlockByNumber", []byte(`["0x33",false]`)); err != nil || trace.HeadAge < time.Minute || trace.HeadAge > 2*time.Minute {
			t.Errorf("the age of the head is %s, %v", trace.HeadAge, err)
		}
		if _, ours := r.ask("eth_getBlockByNumber", "0x34", false); ours {
			t.Error("a block that isn't there is answered")
		}
		time.Sleep(time.Duration(rounds(60, 10)) * time.Minute)
		r.check(c.at(51), true)
		c.set(func(c *chain) { c.away = false })
		c.grow(1)
		c.called()
		time.Sleep(2 * time.Second)
		r.settle()
		r.check(c.at(52), true)
		if all, by := c.called(); all > 5 {
			t.Errorf("the nodes were asked %v", by)
		}
	})
}

// TestStartElsewhere: a copy of other nodes, or of a chain that the nodes don't have any more,
// is not answered from.
func TestStartElsewhere(t *testing.T) {
	c, other := newChain(), newChain()
	c.grow(50)
	other.set(func(c *chain) { c.blocks, c.every = nil, time.Hour; c.add(7) })
	other.grow(60)
	for name, now := range map[string]struct {
		chain  *chain
		origin byte
	}{"other nodes": {c, 2}, "another chain": {other, 1}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				r := newResumer(t, c, dir, 1)
				r.Start()
				r.settle()
				r.Close()
				now.chain.set(func(c *chain) { c.away = true })
				r = newResumer(t, now.chain, dir, now.origin)
				r.Start()
				defer r.Close()
				time.Sleep(time.Minute)
				if _, ours := r.ask("eth_getBlockByNumber", "0x32", false); ours != (now.origin == 1) {
					t.Errorf("without nodes, block 50 is answered: %v", ours)
				}
				now.chain.set(func(c *chain) { c.away = false })
				for _, n := range []string{"0x0", "0x1e", "0x32"} {
					if got, ours := r.ask("eth_getBlockByNumber", n, false); ours {
						t.Errorf("block %s is answered before it is known which chain it is: %.80s", n, got)
					}
				}
				time.Sleep(2 * time.Second)
				r.settle()
				r.check(now.chain.at(50), true)
				if _, ours := r.ask("eth_getBlockByHash", c.at(50).Hash(), false); ours != (now.chain == c) {
					t.Errorf("block 50 of the old chain is answered: %v", ours)
				}
			})
		})
	}
}
