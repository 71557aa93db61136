package chaos

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// most is the highest value of a counter that goes up and down.
type most struct{ now, highest atomic.Int64 }

func (m *most) enter() {
	for n, h := m.now.Add(1), m.highest.Load(); n > h && !m.highest.CompareAndSwap(h, n); h = m.highest.Load() {
	}
}

func (m *most) leave() { m.now.Add(-1) }

func batchOf(count int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = balance(i)
	}
	return "[" + strings.Join(list, ",") + "]"
}

// TestRemoteBatch is row 12 with a remote node: the rules of batches, what they cost,
// and how many of their calls the node sees at once.
func TestRemoteBatch(t *testing.T) {
	o := begin(t, 12, "batches of 0, 1, 100, 1,000 and 1,001 calls, and nested ones, to a remote node", "-32600 where it is due, billed = items, at most 8 at once at the node")
	g, c := startTarget(t), newCaller(t)
	var width most
	g.node.make(func(_ http.ResponseWriter, _ *http.Request, method string, _ []byte) bool {
		if method == "eth_getBalance" {
			width.enter()
			defer width.leave()
			time.Sleep(5 * time.Millisecond)
		}
		return false
	})
	items := 0
	for _, b := range []struct {
		body, want string
		items      int
	}{
		{"[]", `"code":-32600,"message":"empty batch`, 0},
		{batchOf(1), `"result":`, 1},
		{batchOf(100), `"result":`, 100},
		{batchOf(1000), `"result":`, 1000},
		{batchOf(1001), `"code":-32600,"message":"batch too large`, 0},
		{"[" + batchOf(2) + "]", `"code":-32600`, 0},
		{"[" + balance(1) + "," + batchOf(2) + "]", `"code":-32600`, 1},
	} {
		a, err := c.post(t.Context(), g.rpc("main"), b.body)
		if err != nil || a.status != http.StatusOK || !strings.Contains(string(a.body), b.want) || strings.Count(string(a.body), `"result":`) != b.items {
			t.Errorf("%.80s: %v %d %.200s", b.body, err, a.status, a.body)
		}
		items += b.items
	}
	seen, billed := g.node.count("eth_getBalance"), g.billed("eth_getBalance", items)
	o.say("%d items, %d at the node, %d billed, at most %d at once", items, seen, billed, width.highest.Load())
	if seen != items || billed != items || width.highest.Load() > 8 {
		t.Error(o.measured)
	}
}

// TestRemoteCancel is a part of row 13: when the client leaves, its call ends at the
// node too.
func TestRemoteCancel(t *testing.T) {
	o := begin(t, 13, "20 clients leave while a remote node works for them", "their calls end at the node within 2 s")
	g, c := startTarget(t), newCaller(t)
	const clients = 20
	begun, ended := make(chan struct{}, clients), make(chan struct{}, clients)
	g.node.make(func(_ http.ResponseWriter, r *http.Request, method string, _ []byte) bool {
		if method != "eth_getBalance" {
			return false
		}
		begun <- struct{}{}
		<-r.Context().Done()
		ended <- struct{}{}
		return true
	})
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	for i := range clients {
		go func() { _ = c.read(ctx, g.rpc("main"), i) }()
	}
	limit := time.After(8 * time.Second) // a call itself may take ten
	await := func(what string, from <-chan struct{}) {
		for i := range clients {
			select {
			case <-from:
			case <-limit:
				t.Fatalf("only %d of %d calls have %s", i, clients, what)
			}
		}
	}
	await("begun", begun)
	left := time.Now()
	leave()
	await("ended", ended)
	o.say("all %d ended after %v", clients, time.Since(left).Round(time.Millisecond))
	o.within(time.Since(left) <= 2*time.Second)
	g.node.make(nil)
	if err := c.read(t.Context(), g.rpc("main"), 1000); err != nil {
		t.Errorf("afterwards: %v", fmt.Errorf("%w\n%.2000s", err, g.logs))
	}
}
