package pool

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// TestEjection: five failures in a row put a node aside, one probe a window brings
// it back, and no client notices.
func TestEjection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, c := newFake("a", 100), newFake("b", 100), newFake("c", 100)
		p, _ := openFakes(t, nil, a, b, c)
		settle()
		load := func(d time.Duration) {
			t.Helper()
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
				if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
					t.Fatalf("a client's error: %v", err)
				}
			}
		}
		load(5 * time.Second)
		a.set(func() { a.down = true })
		for end := time.Now().Add(5 * time.Second); p.Status()[0].Ejections == 0; load(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("not put aside: %+v", p.Status()[0])
			}
		}
		calls, looks := a.count("eth_getBalance"), a.count("eth_chainId")
		load(29 * time.Second)
		if n, m := a.count("eth_getBalance")-calls, a.count("eth_chainId")-looks; n != 0 || m != 0 {
			t.Errorf("asked %d times and looked at %d times within the window", n, m)
		}
		load(3 * time.Second) // the probe fails: a window of a minute
		if m := a.count("eth_chainId") - looks; m != 1 {
			t.Errorf("%d probes at the end of the window", m)
		}
		a.set(func() { a.down = false })
		load(55 * time.Second)
		if p.Status()[0].Healthy {
			t.Error("back before the second window's end")
		}
		load(8 * time.Second)
		if !p.Status()[0].Healthy || a.count("eth_getBalance") == calls {
			t.Errorf("not back: %+v", p.Status()[0])
		}
	})
}

// TestLostCalls: a node that loses some calls and answers others is not put aside when
// the lost ones run out of time together, after the last answer. One that has stopped
// answering is, by the same calls.
func TestLostCalls(t *testing.T) {
	for name, stops := range map[string]bool{"it answers others": false, "it answers nobody": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := newFake("a", 100), newFake("b", 100)
				lost := func(ctx context.Context, method string, params []byte) ([]byte, error) {
					if method == "eth_getBalance" && strings.Contains(string(params), "dead") {
						<-ctx.Done()
						return nil, &client.Fault{Err: ctx.Err(), Sent: true}
					}
					return nil, nil
				}
				a.answer = lost
				p, _ := openFakes(t, nil, a, b)
				settle()
				n := p.nodes.all()[0]
				var wait sync.WaitGroup
				call := func(params string) {
					var q query
					q.read("eth_getBalance", []byte(params), 100)
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
					defer cancel()
					p.ask.ask(ctx, n, &q)
				}
				for range 2 * failuresInARow {
					wait.Go(func() { call(strings.Replace(balance, "0x00", "0xdead", 1)) })
				}
				time.Sleep(time.Second)
				if !stops {
					call(balance)
				}
				wait.Wait()
				if aside := p.Status()[0].Ejections > 0; aside != stops {
					t.Errorf("put aside: %v", aside)
				}
			})
		})
	}
}

// TestAllDown: the last node is never put aside, and the first that comes back is
// found within seconds.
func TestAllDown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		for _, f := range []*fake{a, b} {
			f.set(func() { f.down = true })
		}
		for range 100 {
			_, _ = p.Call(t.Context(), "eth_getBalance", []byte(balance))
			time.Sleep(100 * time.Millisecond)
		}
		open := 0
		for _, n := range p.nodes.all() {
			if n.breaker.open() {
				open++
			}
		}
		if open != 1 {
			t.Errorf("%d of two are put aside", open)
		}
		if p.Ready() == nil {
			t.Error("ready with all nodes down")
		}
		back := a
		if !p.nodes.all()[0].breaker.open() {
			back = b // the one that was put aside
		}
		back.set(func() { back.down = false })
		time.Sleep(3 * time.Second)
		for range 10 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Errorf("after a node is back: %v", err)
			}
		}
	})
}

// TestWindows: the windows grow while a node fails soon again, and start over after a
// long good time.
func TestWindows(t *testing.T) {
	var b breaker
	now := time.Unix(1000, 0)
	for _, want := range []time.Duration{30, 60, 120, 240, 300, 300} {
		if got := b.eject(now); got != want*time.Second {
			t.Errorf("window %v, want %v s", got, want)
		}
		now = now.Add(b.left(now))
		b.readmit(now)
		now = now.Add(time.Second)
	}
	now = now.Add(longestWindow)
	if got := b.eject(now); got != firstWindow {
		t.Errorf("window %v after a long good time", got)
	}
	b.stay(now)
	if got := b.left(now); got != firstWindow {
		t.Errorf("a look before the end changed the window to %v", got)
	}
	b.stay(now.Add(firstWindow))
	if got := b.left(now.Add(firstWindow)); got != 2*firstWindow {
		t.Errorf("window %v after a failed probe", got)
	}
}

// TestNeverTheLast: whatever fails and comes back, in whatever order, one node can be
// asked.
func TestNeverTheLast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := assemble(Config{}.withDefaults(), dialer{})
		nodes := make([]*node, rapid.IntRange(1, 5).Draw(t, "nodes"))
		for i := range nodes {
			nodes[i] = bareNode(Node{Name: string(rune('a' + i))})
			nodes[i].Checked.Store(true)
		}
		p.nodes.set(nodes)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			n := nodes[rapid.IntRange(0, len(nodes)-1).Draw(t, "which")]
			switch rapid.IntRange(0, 9).Draw(t, "what") {
			case 0:
				n.breaker.readmit(time.Now())
			case 1:
				n.breaker.good()
			default:
				for range failuresInARow {
					p.nodes.failed(n, errors.New("bad"))
				}
			}
			left := 0
			for _, n := range nodes {
				if !n.breaker.open() {
					left++
				}
			}
			if left == 0 {
				t.Fatal("every node is put aside")
			}
		}
	})
}

// TestBudgets: over any course of calls, extra requests stay within the promised
// share and floor.
func TestBudgets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &reader{}
		r.fillBudgets(Retry{Percent: 20}, Hedge{Percent: 5})
		b, share, floor := &r.retries, 5, 3
		if rapid.Bool().Draw(t, "hedges") {
			b, share, floor = &r.hedges, 20, 3
		}
		calls, extra := 0, 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			for range rapid.IntRange(0, 10).Draw(t, "calls") {
				b.earn()
				calls++
			}
			for range rapid.IntRange(0, 5).Draw(t, "tries") {
				if b.spend() {
					extra++
				}
			}
			if extra > calls/share+floor {
				t.Fatalf("%d extra requests for %d calls", extra, calls)
			}
		}
	})
}

// TestRetryStorm: when every node fails every call, the nodes see at most a fifth more.
func TestRetryStorm(t *testing.T) {
	for name, err := range map[string]error{
		"503":   &client.Fault{Sent: true, Status: 503, Err: errors.New("HTTP 503")},
		"stale": callError(-32000, "header not found"),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				fakes := []*fake{newFake("a", 60), newFake("b", 60), newFake("c", 60)}
				for _, f := range fakes {
					f.answers("eth_getBalance", "", err)
				}
				p, _ := openFakes(t, nil, fakes...)
				settle()
				const calls = 4000
				for range calls {
					start := time.Now()
					if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err == nil || time.Since(start) > time.Second {
						t.Fatalf("%v after %v", err, time.Since(start))
					}
					time.Sleep(5 * time.Millisecond)
				}
				if asked := countAll(fakes, "eth_getBalance"); asked > calls*12/10+3 {
					t.Errorf("%d calls became %d requests", calls, asked)
				}
			})
		})
	}
}

// TestOneBadNode: the failures of one node reach no client, also on a network without retries
// saved up.
func TestOneBadNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b, c := newFake("a", 100), newFake("b", 100), newFake("c", 100)
		p, _ := openFakes(t, nil, a, b, c)
		settle()
		for p.reader.retries.spend() {
		}
		a.answers("eth_getBalance", "", &client.Fault{Sent: true, Status: 503, Err: errors.New("HTTP 503")})
		for range 2000 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatalf("a client's error after %d bad responses: %v", a.count("eth_getBalance"), err)
			}
			p.reader.retries.parts.Store(0)
			time.Sleep(5 * time.Millisecond)
		}
		if a.count("eth_getBalance") == 0 {
			t.Error("the bad node was never asked")
		}
	})
}

// TestRefusedIsFree: a connection that is refused burdens nobody, so another node is
// asked also when the budget is spent.
func TestRefusedIsFree(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		p, _ := openFakes(t, nil, a, b)
		settle()
		for p.reader.retries.spend() {
		}
		a.answers("eth_getBalance", "", &client.Fault{Err: errRefused})
		for range 50 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
		}
		if a.count("eth_getBalance") == 0 {
			t.Error("the node that refuses was never asked")
		}
	})
}

// TestHedgeBudget: also when a fifth of the answers is slow, the nodes see at most a
// twentieth more.
func TestHedgeBudget(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var calls atomic.Int64
		fakes := []*fake{newFake("a", 100), newFake("b", 100), newFake("c", 100)}
		for _, f := range fakes {
			f.set(func() {
				f.answer = func(ctx context.Context, m string, _ []byte) ([]byte, error) {
					if m != "eth_getBalance" {
						return nil, nil
					}
					wait := time.Millisecond
					if calls.Add(1)%5 == 0 {
						wait = 50 * time.Millisecond
					}
					time.Sleep(wait)
					return []byte(`"0x1"`), ctx.Err()
				}
			})
		}
		p, _ := openFakes(t, nil, fakes...)
		settle()
		const clients = 4000
		for range clients {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
			time.Sleep(4 * time.Millisecond)
		}
		synctest.Wait()
		if n := calls.Load(); n > clients*105/100+3 || n == clients {
			t.Errorf("%d calls became %d requests", clients, n)
		}
	})
}

// TestHedge: reads that take unusually long are asked of a second node, within a
// twentieth more load.
func TestHedge(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var slow, calls atomic.Int64
		cancelled := make(chan error, 1000)
		fakes := []*fake{newFake("a", 100), newFake("b", 100), newFake("c", 100)}
		for _, f := range fakes {
			f.set(func() {
				f.answer = func(ctx context.Context, m string, _ []byte) ([]byte, error) {
					if m != "eth_getBalance" {
						return nil, nil
					}
					wait := time.Millisecond
					if n := calls.Add(1); n > 1000 && n%33 == 0 {
						slow.Add(1)
						wait = 3 * time.Second
					}
					select {
					case <-time.After(wait):
						return []byte(`"0x1"`), nil
					case <-ctx.Done():
						cancelled <- ctx.Err()
						return nil, &client.Fault{Sent: true, Err: ctx.Err()}
					}
				}
			})
		}
		p, _ := openFakes(t, nil, fakes...)
		settle()
		const clients = 4000
		late := int64(0)
		for range clients {
			start := time.Now()
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil {
				t.Fatal(err)
			}
			if time.Since(start) > 20*time.Millisecond {
				late++
			}
			time.Sleep(4 * time.Millisecond)
		}
		if slow.Load() < 50 || late > 2 {
			t.Errorf("%d of %d slow answers reached clients", late, slow.Load())
		}
		if calls.Load() > clients*105/100+3 {
			t.Errorf("%d calls became %d requests", clients, calls.Load())
		}
		if int64(len(cancelled)) < slow.Load()-late-1 {
			t.Errorf("only %d of %d slow requests were cancelled", len(cancelled), slow.Load())
		}
	})
}
