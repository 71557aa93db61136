package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestCordon: a cordoned node finishes its calls, gets no new ones, is looked after, and
// doesn't count as one that can be used.
func TestCordon(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		a.hangs(time.Second)
		b.hangs(time.Second)
		done := make(chan error, 20)
		for range cap(done) {
			go func() {
				_, err := p.Call(t.Context(), "eth_getBalance", []byte(balance))
				done <- err
			}()
		}
		time.Sleep(100 * time.Millisecond)
		asked, looked := a.count("eth_getBalance"), a.count("eth_getBlockByNumber")
		if err := p.Cordon("a", true); err != nil || asked == 0 {
			t.Fatalf("%v; asked %d times before", err, asked)
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Errorf("a call in progress: %v", err)
			}
		}
		b.set(func() { b.answer = nil })
		for range 50 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Second)
		if n := a.count("eth_getBalance"); n != asked || a.count("eth_getBlockByNumber") == looked {
			t.Errorf("%d calls after the cordon, or no health checks", n-asked)
		}
		if s := p.Status()[0]; s.Healthy || !s.Cordoned || s.Why != "cordoned" {
			t.Errorf("status %+v", s)
		}
		if err := p.Cordon("a", false); err != nil {
			t.Fatal(err)
		}
		a.set(func() { a.answer = nil })
		_ = p.Cordon("b", true)
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
			t.Error(err)
		}
		if s := p.Status()[0]; !s.Healthy || s.Cordoned || a.count("eth_getBalance") == asked {
			t.Errorf("uncordoned: %+v", s)
		}
		if err := p.Cordon("nobody", true); !errors.Is(err, nodegate.NotFound) {
			t.Errorf("no such node: %v", err)
		}
	})
}

// TestCordonTheLast: the operator may cordon every node; clients get the usual error, and the
// network is not ready.
func TestCordonTheLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 100)
		p, _ := openFakes(t, nil, a)
		time.Sleep(5 * time.Second)
		if err := p.Cordon("a", true); err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.Is(err, nodegate.NoNode) || time.Since(start) > time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := p.Ready(); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("ready: %v", err)
		}
		if err := p.Cordon("a", false); err != nil || p.Ready() != nil {
			t.Errorf("uncordoned: %v, %v", err, p.Ready())
		}
	})
}

// TestCordonSurvivesReplace: other settings of the node, and another pool, keep the cordon. A node that
// comes back under the same name begins without.
func TestCordonSurvivesReplace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		_ = p.Cordon("a", true)
		both := []Node{p.nodes.all()[0].cfg, p.nodes.all()[1].cfg}
		both[0].CreditsPerSecond = 1000
		p.Replace(both)
		settle()
		if !p.Status()[0].Cordoned || p.Status()[1].Cordoned {
			t.Errorf("after other settings: %+v", p.Status())
		}
		next, _ := openFakes(t, nil, a, b)
		settle()
		next.CarryCordons(p)
		if !next.Status()[0].Cordoned || next.Status()[1].Cordoned {
			t.Errorf("in the next pool: %+v", next.Status())
		}
		p.Replace(both[1:])
		p.Replace(both)
		if p.Status()[0].Cordoned {
			t.Error("a node that was removed is still cordoned")
		}
	})
}

// TestCordonedHead: clients aren't told of a block that only a cordoned node has.
func TestCordonedHead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		_ = p.Cordon("a", true)
		a.grow(genesisBranch, 103)
		settle()
		head, err := p.Head(context.Background())
		if err != nil || head.Number != 100 {
			t.Errorf("the head is %d, %v", head.Number, err)
		}
	})
}
