package pool

import (
	"errors"
	"testing"

	"github.com/nodegate/nodegate"
)

func TestMethodPatterns(t *testing.T) {
	for _, c := range []struct {
		only, not []string
		method    string
		want      bool
	}{
		{nil, nil, "eth_call", true},
		{[]string{"eth_*"}, nil, "eth_call", true},
		{[]string{"eth_*"}, nil, "ethx_call", false},
		{[]string{"eth_call"}, nil, "eth_callMany", false},
		{[]string{"eth_call*"}, nil, "eth_callMany", true},
		{nil, []string{"debug_*", "trace_*"}, "trace_block", false},
		{nil, []string{"debug_*", "trace_*"}, "eth_call", true},
		{[]string{"eth_*"}, []string{"eth_getLogs"}, "eth_getLogs", false},
		{[]string{"eth_*"}, []string{"eth_getLogs"}, "eth_getProof", true},
	} {
		n := Node{Only: c.only, Not: c.not}
		if got := n.serves(c.method); got != c.want {
			t.Errorf("only %q, not %q: %s is %v", c.only, c.not, c.method, got)
		}
	}
}

// TestMethodRouting: a method goes only to nodes that may get it, also when these fail.
func TestMethodRouting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, func(cfg *Config) {
			cfg.Nodes[0].Not = []string{"eth_getBalance"}
			cfg.Nodes[1].Only = []string{"eth_*"}
		}, a, b)
		settle()
		ask := func() error {
			_, err := p.Call(t.Context(), "eth_getBalance", []byte(balance))
			return err
		}
		for range 50 {
			if err := ask(); err != nil {
				t.Fatal(err)
			}
		}
		b.set(func() { b.down = true })
		if err := ask(); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("the only node for it is down: %v", err)
		}
		if n := a.count("eth_getBalance"); n != 0 {
			t.Errorf("the other node was asked %d times", n)
		}
		if s := p.Status()[0]; !s.Healthy {
			t.Errorf("the other node is not healthy: %+v", s)
		}
		nodes := []Node{p.nodes.all()[0].cfg}
		p.Replace(nodes)
		if err := ask(); !errors.Is(err, nodegate.MethodNotFound) {
			t.Errorf("no node is for it: %v", err)
		}
	})
}
