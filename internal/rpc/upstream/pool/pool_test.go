package pool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

const balance = `["0x0000000000000000000000000000000000000001","0x5"]`

func TestHeadAndStatus(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 98)
		p, _ := openFakes(t, nil, a, b)
		head, err := p.Head(t.Context()) // waits for the first reports
		if err != nil || head != (nodegate.Head{Number: 100, GasLimit: 30_000_000, Safe: 90, Finalized: 90, Fork: 1}) {
			t.Fatalf("head %+v, %v", head, err)
		}
		a.grow(genesisBranch, 101)
		settle()
		if head, _ = p.Head(t.Context()); head.Number != 101 {
			t.Errorf("the head is %d after a new block", head.Number)
		}
		if got, err := p.Call(t.Context(), "eth_blockNumber", nil); string(got) != `"0x65"` || err != nil {
			t.Errorf("eth_blockNumber: %s, %v", got, err)
		}
		s := p.Status()
		if !s[0].Healthy || s[0].Head != 101 || s[0].Client != "fake/1" || s[0].Role != "primary" || s[1].Lag != 3 || !s[1].Healthy {
			t.Errorf("status %+v", s)
		}
		if err := p.Ready(); err != nil {
			t.Error(err)
		}
	})
}

// TestHeadNeverSinks: neither a node that goes back nor one that dies lowers it.
func TestHeadNeverSinks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 97)
		p, _ := openFakes(t, nil, a, b)
		settle()
		a.reorg("bb", 90, 95)
		settle()
		if head, _ := p.Head(t.Context()); head.Number != 100 {
			t.Errorf("the head sank to %d", head.Number)
		}
		a.set(func() { a.down = true })
		settle()
		if head, _ := p.Head(t.Context()); head.Number != 100 {
			t.Errorf("the head sank to %d", head.Number)
		}
		b.grow(genesisBranch, 101)
		settle()
		if head, _ := p.Head(t.Context()); head.Number != 101 {
			t.Errorf("the head is %d", head.Number)
		}
		// A chain that was set back for good is followed after a while.
		b.reorg("cc", 50, 60)
		time.Sleep(heads.ResetAfter + 15*time.Second)
		if head, _ := p.Head(t.Context()); head.Number != 60 {
			t.Errorf("the head is %d two minutes after the chain was set back to 60", head.Number)
		}
	})
}

func TestNoNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 100)
		a.down = true
		p, logs := openFakes(t, nil, a)
		start := time.Now()
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("call: %v", err)
		}
		if _, err := p.Head(t.Context()); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("head: %v", err)
		}
		if err := p.Ready(); !errors.Is(err, nodegate.NoNode) || !strings.Contains(err.Error(), "a: connection refused") {
			t.Errorf("ready: %v", err)
		}
		if waited := time.Since(start); waited > 5*time.Second {
			t.Errorf("waited for %v", waited)
		}
		a.set(func() { a.down = false })
		time.Sleep(longestPause + time.Second)
		if err := p.Ready(); err != nil {
			t.Error(err)
		}
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
			t.Error(err)
		}
		if strings.Contains(logs.String(), "secret-path") {
			t.Errorf("an address in the log: %s", logs)
		}
	})
}

// TestOtherChain: a node of another chain, or that becomes one, is never asked.
func TestOtherChain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, c := newFake("a", 100), newFake("b", 100), newFake("c", 100)
		b.id = 2
		c.chain[0] = makeBlock("dd", 0, blockHash("00", 0))
		p, logs := openFakes(t, func(c *Config) { c.ChainID = 1 }, a, b, c)
		settle()
		other := 2
		if p.Status()[1].Healthy || p.Status()[2].Healthy == p.Status()[0].Healthy {
			t.Errorf("%+v", p.Status())
		}
		if !p.Status()[0].Healthy {
			other = 0 // c was first, and the network is what it is
		}
		if why := p.Status()[other].Why; !strings.Contains(why, "its genesis block differs") {
			t.Errorf("why: %q", why)
		}
		if !strings.Contains(logs.String(), "node not used") {
			t.Errorf("the log says nothing: %s", logs)
		}
		for range 50 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.count("eth_getBalance") + []*fake{a, b, c}[other].count("eth_getBalance"); n != 0 {
			t.Errorf("nodes of another chain were asked %d times", n)
		}
		good := []*fake{a, nil, c}[2-other]
		good.set(func() { good.id = 7 })
		time.Sleep(10 * time.Second)
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("a node that changed its chain id is asked: %v", err)
		}
	})
}

func TestBackupsOnlyInNeed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b!", 105)
		p, _ := openFakes(t, nil, a, b)
		settle()
		if head, _ := p.Head(t.Context()); head.Number != 100 {
			t.Errorf("a backup's head is told: %d", head.Number)
		}
		ask := func(want *fake) {
			t.Helper()
			before := want.count("eth_getBalance")
			trace := &nodegate.Trace{}
			if _, err := p.Call(nodegate.WithTrace(t.Context(), trace), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
			if want.count("eth_getBalance") != before+1 || trace.Node != want.name {
				t.Errorf("%s was not asked but %s", want.name, trace.Node)
			}
		}
		ask(a)
		a.set(func() { a.down = true })
		ask(b) // as the second attempt
		a.set(func() { a.down = false })
		ask(a)
	})
}

func TestCredits(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, func(c *Config) {
			c.Nodes[0].CreditsPerSecond, c.Nodes[1].CreditsPerSecond = 1000, 500
			c.Cost = func(m string) int64 {
				if m == "eth_getBalance" {
					return 100
				}
				return 0
			}
		}, a, b)
		settle()
		var served int
		var last error
		for range 40 {
			if _, last = p.Call(t.Context(), "eth_getBalance", []byte(balance)); last == nil {
				served++
			}
		}
		var e *nodegate.Error
		if served != 15 || !errors.As(last, &e) || e.Code != nodegate.Busy || e.RetryAfter < time.Second {
			t.Errorf("%d calls were served, then %v", served, last)
		}
		time.Sleep(time.Second)
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
			t.Errorf("a second later: %v", err)
		}
	})
}

// TestLimitedNode: a node that asks for it is left alone, and clients never see its
// limit as theirs.
func TestLimitedNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a := newFake("a", 100)
		p, _ := openFakes(t, nil, a)
		settle()
		for _, err := range []error{
			&client.Fault{Sent: true, Status: 429, RetryAfter: 7 * time.Second, Err: errors.New("HTTP 429")},
			&client.CallError{Code: -32005, Message: "daily request count exceeded, request rate limited"},
		} {
			a.set(func() {
				a.answer = func(_ context.Context, m string, _ []byte) ([]byte, error) {
					if m == "eth_getBalance" {
						return nil, err
					}
					return nil, nil
				}
			})
			for range 3 {
				var e *nodegate.Error
				if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.As(err, &e) || e.Code != nodegate.Busy || e.RetryAfter < time.Second {
					t.Errorf("%v", err)
				}
			}
			time.Sleep(8 * time.Second)
		}
		if n := a.count("eth_getBalance"); n != 2 {
			t.Errorf("asked %d times, want once for each limit", n)
		}
	})
}

func TestReplace(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		node := p.nodes.all()[1]
		hold := make(chan struct{})
		a.set(func() {
			a.answer = func(_ context.Context, m string, _ []byte) ([]byte, error) {
				if m == "eth_getCode" {
					<-hold
					return []byte(`"0x6001"`), nil
				}
				return nil, nil
			}
		})
		b.set(func() {
			b.answer = func(_ context.Context, m string, _ []byte) ([]byte, error) {
				if m == "eth_getCode" {
					return nil, &client.Fault{Err: errRefused}
				}
				return nil, nil
			}
		})
		done := make(chan error, 1)
		go func() {
			_, err := p.Call(t.Context(), "eth_getCode", []byte(balance))
			done <- err
		}()
		time.Sleep(time.Millisecond)
		p.Replace([]Node{node.cfg})
		if len(p.nodes.all()) != 1 || p.nodes.all()[0] != node {
			t.Error("a node that stays the same was disturbed")
		}
		close(hold)
		if err := <-done; err != nil {
			t.Errorf("a call that was under way: %v", err)
		}
		for range 20 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
		}
		if a.count("eth_getBalance") != 0 {
			t.Error("a removed node is asked")
		}
		p.Replace(nil)
		if err := p.Ready(); !errors.Is(err, nodegate.NoNode) {
			t.Errorf("ready without nodes: %v", err)
		}
	})
}
