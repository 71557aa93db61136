package pool

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestWeights: nodes that are equally good get calls in the proportion of their weights.
func TestWeights(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, c := newFake("a", 100), newFake("b", 100), newFake("c", 100)
		p, _ := openFakes(t, func(cfg *Config) { cfg.Nodes[0].Weight, cfg.Nodes[1].Weight = 6, 3 }, a, b, c)
		settle()
		const calls = 50_000 // a tenth more or less is seven standard deviations for the last one
		for range calls {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []int{6, 3, 1} {
			f := []*fake{a, b, c}[i]
			if n := f.count("eth_getBalance"); n < calls*want/10*9/10 || n > calls*want/10*11/10 {
				t.Errorf("%s got %d of %d calls, want about %d tenths", f.name, n, calls, want)
			}
		}
	})
}

// TestTiers: a tier is asked, and its head told of, only while the ones before it can't answer.
func TestTiers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, c := newFake("a", 100), newFake("b", 101), newFake("c", 102)
		p, _ := openFakes(t, func(cfg *Config) { cfg.Nodes[0].Tier, cfg.Nodes[1].Tier, cfg.Nodes[2].Tier = 1, 2, 3 }, a, b, c)
		settle()
		for i, f := range []*fake{a, b, c} {
			trace := &nodegate.Trace{}
			if _, err := p.Call(nodegate.WithTrace(t.Context(), trace), "eth_getBalance", []byte(balance)); err != nil || trace.Node != f.name {
				t.Errorf("tier %d: %s was asked, %v", i+1, trace.Node, err)
			}
			if head, err := p.Head(t.Context()); err != nil || head.Number != uint64(100+i) {
				t.Errorf("tier %d: the head is %d, %v", i+1, head.Number, err)
			}
			f.set(func() { f.down = true })
			time.Sleep(20 * time.Second)
		}
		if s := p.Status(); s[0].Role != "primary" || s[1].Role != "backup" || s[2].Tier != 3 {
			t.Errorf("status %+v", s)
		}
	})
}
