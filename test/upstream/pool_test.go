package upstream_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// gate is a TCP way to a server that can be cut and opened again on the same port.
type gate struct {
	t       testing.TB
	address string
	to      string

	mu    sync.Mutex
	l     net.Listener
	conns map[net.Conn]bool
	wait  sync.WaitGroup
}

func newGate(t testing.TB, to string) *gate {
	g := &gate{t: t, to: to, address: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	g.open()
	t.Cleanup(g.cut)
	return g
}

func (g *gate) open() {
	g.t.Helper()
	l, err := net.Listen("tcp", g.address)
	if err != nil {
		g.t.Fatal(err)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.l, g.address = l, l.Addr().String()
	g.wait.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			g.wait.Go(func() { g.pass(in) })
		}
	})
}

func (g *gate) pass(in net.Conn) {
	out, err := net.Dial("tcp", g.to)
	if err != nil {
		in.Close()
		return
	}
	g.mu.Lock()
	g.conns[in], g.conns[out] = true, true
	g.mu.Unlock()
	g.wait.Go(func() { _, _ = io.Copy(out, in); out.Close() })
	_, _ = io.Copy(in, out)
	in.Close()
}

// cut closes the port and everything that goes through it.
func (g *gate) cut() {
	g.mu.Lock()
	g.l.Close()
	for c := range g.conns {
		c.Close()
	}
	clear(g.conns)
	g.mu.Unlock()
	g.wait.Wait()
}

// node is the configuration of a node behind the gate.
func (g *gate) node(name string, s *harness.Service, ws bool) pool.Node {
	n := pool.Node{Name: name, URL: strings.Replace(s.URL("devnet", harness.KeyA), s.Host(), g.address, 1)}
	if ws {
		n.WS = strings.Replace(s.WS("devnet", harness.KeyA), s.Host(), g.address, 1)
	}
	return n
}

func startChain(t testing.TB) *harness.Service {
	return harness.Start(t, func(c *config.Config) {
		for i := range c.Networks {
			c.Networks[i].Namespaces = []string{"evm"}
			c.Networks[i].Cache = 0
		}
	})
}

// openPool opens a pool and waits until all of its nodes are in use.
func openPool(t testing.TB, nodes ...pool.Node) (*pool.Pool, *harness.Buffer) {
	t.Helper()
	p, logs := startPool(t, nodes...)
	awaitNodes(t, p, nodes...)
	return p, logs
}

// awaitNodes waits until some nodes of a pool were checked and found well. A pool is
// ready before that, with the first of them.
func awaitNodes(t testing.TB, p *pool.Pool, nodes ...pool.Node) {
	t.Helper()
	for _, n := range nodes {
		wait(t, "node "+n.Name+" to be in use", func() bool {
			return slices.ContainsFunc(p.Status(), func(s pool.Status) bool { return s.Name == n.Name && s.Healthy })
		})
	}
}

func startPool(t testing.TB, nodes ...pool.Node) (*pool.Pool, *harness.Buffer) {
	t.Helper()
	logs := new(harness.Buffer)
	p := pool.Open(pool.Config{
		Network: "devnet", Nodes: nodes, ChainID: 1337, Poll: 50 * time.Millisecond, Timeout: 5 * time.Second, MaxAnswer: 1 << 20,
		Log: slog.New(slog.NewTextHandler(logs, nil)),
	})
	t.Cleanup(func() {
		p.Close()
		if t.Failed() {
			t.Logf("the pool's log:\n%s", logs)
		}
	})
	wait(t, "the pool to be ready", func() bool { return p.Ready() == nil })
	return p, logs
}

func wait(t testing.TB, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

// mine makes blocks on a server.
func mine(t testing.TB, s *harness.Service, n int) {
	t.Helper()
	for range n {
		resp, err := http.Post(s.URL("devnet", harness.KeyA), "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"evm_mine"}`))
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if !bytes.Contains(body, []byte(`"result"`)) {
			t.Fatalf("evm_mine: %s", body)
		}
	}
}

// TestKilledNode: of three real servers one is cut off under load and comes back. No
// client gets an error.
func TestKilledNode(t *testing.T) {
	full.Slow(t)
	var nodes []pool.Node
	var gates []*gate
	for _, name := range []string{"a", "b", "c"} {
		s := startChain(t)
		g := newGate(t, s.Host())
		gates, nodes = append(gates, g), append(nodes, g.node(name, s, false))
	}
	p, logs := openPool(t, nodes...)
	want, err := p.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x5",false]`))
	if err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var calls atomic.Int64
	var clients sync.WaitGroup
	for range 8 {
		clients.Go(func() {
			for !stop.Load() {
				got, err := p.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x5",false]`))
				if err != nil || !bytes.Equal(got, want) {
					t.Errorf("%v, %.80s", err, got)
				}
				calls.Add(1)
				time.Sleep(time.Millisecond)
			}
		})
	}
	more := func() {
		t.Helper()
		before := calls.Load()
		wait(t, "100 more calls", func() bool { return calls.Load() > before+100 })
	}
	more()
	gates[1].cut()
	wait(t, "the dead node to be put aside", func() bool { return p.Status()[1].Ejections > 0 })
	gates[1].open()
	more()
	stop.Store(true)
	clients.Wait()
	if strings.Contains(logs.String(), harness.KeyA) {
		t.Error("the log holds a node's key")
	}
}

// TestRealFeeds: heads and logs go on over the death of the node they come from, over
// WebSockets and by polling.
func TestRealFeeds(t *testing.T) {
	full.Slow(t)
	for name, ws := range map[string]bool{"sockets": true, "polling": false} {
		t.Run(name, func(t *testing.T) {
			s := startChain(t)
			gates := []*gate{newGate(t, s.Host()), newGate(t, s.Host())}
			p, _ := openPool(t, gates[0].node("a", s, ws), gates[1].node("b", s, ws))
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			heads := make(chan []byte, 64)
			if err := p.Subscribe(ctx, []byte(`["newHeads"]`), func(event []byte, _ nodegate.End) { heads <- event }); err != nil {
				t.Fatal(err)
			}
			first, err := p.Head(ctx)
			if err != nil {
				t.Fatal(err)
			}
			next := first.Number
			read := func(n int) {
				t.Helper()
				for range n {
					var h struct{ Number, Hash string }
					select {
					case e := <-heads:
						if err := json.Unmarshal(e, &h); err != nil || bytes.Contains(e, []byte(`"transactions"`)) {
							t.Fatalf("%v: %s", err, e)
						}
					case <-time.After(20 * time.Second):
						t.Fatalf("no event after block %d", next)
					}
					next++
					if want := "0x" + big(next); h.Number != want {
						t.Fatalf("block %s, want %s", h.Number, want)
					}
				}
			}
			mine(t, s, 3)
			read(3)
			gates[0].cut()
			mine(t, s, 3)
			read(3)
			gates[0].open()
			wait(t, "the node to be back", func() bool { return p.Status()[0].Healthy })
			gates[1].cut()
			mine(t, s, 3)
			read(3)
			select {
			case e := <-heads:
				t.Errorf("an event too many: %s", e)
			case <-time.After(200 * time.Millisecond):
			}
		})
	}
}

func big(n uint64) string {
	const digits = "0123456789abcdef"
	s := ""
	for ; n > 0; n /= 16 {
		s = string(digits[n%16]) + s
	}
	return s
}

// TestOnlyAWebSocket: a node may have no address for HTTP.
func TestOnlyAWebSocket(t *testing.T) {
	full.Slow(t)
	s := startChain(t)
	p, _ := openPool(t, pool.Node{Name: "a", WS: s.WS("devnet", harness.KeyA)})
	if got, err := p.Call(t.Context(), "eth_chainId", nil); err != nil || string(got) != `"0x539"` {
		t.Errorf("%s, %v", got, err)
	}
	before, err := p.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	mine(t, s, 1)
	wait(t, "the new head", func() bool {
		h, err := p.Head(t.Context())
		return err == nil && h.Number == before.Number+1
	})
}

// hostile is a node that passes everything on to a real one and then spoils it.
type hostile struct {
	next  string
	spoil atomic.Value // func(w http.ResponseWriter, r *http.Request, method string, answer []byte)
}

type spoiler func(w http.ResponseWriter, r *http.Request, method string, answer []byte)

func (h *hostile) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var call struct{ Method string }
	_ = json.Unmarshal(body, &call)
	resp, err := http.Post(h.next, "application/json", bytes.NewReader(body))
	if err != nil {
		http.Error(w, "next", http.StatusBadGateway)
		return
	}
	answer, _ := io.ReadAll(resp.Body)
	resp.Body.Close()
	w.Header().Set("Content-Type", "application/json")
	if f, ok := h.spoil.Load().(spoiler); ok && f != nil {
		f(w, r, call.Method, answer)
		return
	}
	_, _ = w.Write(answer)
}

// replace is a spoiler that changes words of the answers.
func replace(old, by string) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, _ string, answer []byte) {
		_, _ = w.Write(bytes.ReplaceAll(answer, []byte(old), []byte(by)))
	}
}

func say(text string) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) { _, _ = io.WriteString(w, text) }
}

// behaviors are the twelve of the faults table, and some more.
func behaviors() map[string]spoiler {
	return map[string]spoiler{
		"wrong id":       replace(`"id":`, `"id":9`),
		"a page":         say("<html><body>It works!</body></html>"),
		"an empty body":  say(""),
		"truncated":      func(w http.ResponseWriter, _ *http.Request, _ string, a []byte) { _, _ = w.Write(a[:len(a)/2]) },
		"two answers":    func(w http.ResponseWriter, _ *http.Request, _ string, a []byte) { _, _ = w.Write(append(a, a...)) },
		"absurd error":   say(`{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":{"a":[1]}}}`),
		"another chain":  replace(`"0x539"`, `"0x1"`),
		"another method": func(w http.ResponseWriter, _ *http.Request, _ string, a []byte) { _, _ = w.Write(swapResult(a)) },
		"huge body": func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) {
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":"0x`)
			for range 64 {
				if _, err := w.Write(bytes.Repeat([]byte("0"), 1<<16)); err != nil {
					return
				}
			}
		},
		"endless chunks": func(w http.ResponseWriter, r *http.Request, _ string, _ []byte) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, " "); err != nil {
					return
				}
				_ = http.NewResponseController(w).Flush()
				time.Sleep(time.Millisecond)
			}
		},
		"a hang":     func(_ http.ResponseWriter, r *http.Request, _ string, _ []byte) { <-r.Context().Done() },
		"far ahead":  jump(1_000_000),
		"behind":     jump(-6),
		"status 500": func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) { w.WriteHeader(500) },
		"a redirect": func(w http.ResponseWriter, r *http.Request, _ string, _ []byte) {
			http.Redirect(w, r, "http://127.0.0.1:1/", http.StatusTemporaryRedirect)
		},
	}
}

// swapResult answers every call with a transaction count.
func swapResult(answer []byte) []byte {
	var a map[string]json.RawMessage
	_ = json.Unmarshal(answer, &a)
	a["result"] = json.RawMessage(`"0x7"`)
	out, _ := json.Marshal(a)
	return out
}

// jump moves the number of the newest block, and of that only.
func jump(by int64) spoiler {
	return func(w http.ResponseWriter, _ *http.Request, method string, answer []byte) {
		var a struct {
			ID     json.RawMessage
			Result map[string]json.RawMessage
		}
		if method != "eth_getBlockByNumber" || json.Unmarshal(answer, &a) != nil || a.Result == nil {
			_, _ = w.Write(answer)
			return
		}
		var number string
		_ = json.Unmarshal(a.Result["number"], &number)
		n := int64(0)
		for _, c := range number[2:] {
			n = n*16 + int64(strings.IndexRune("0123456789abcdef", c))
		}
		if n > 6 { // the first blocks are asked for by their number
			a.Result["number"], _ = json.Marshal("0x" + big(uint64(n+by)))
		}
		out, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": a.ID, "result": a.Result})
		_, _ = w.Write(out)
	}
}

// TestHostileNodes: beside two honest nodes a third that misbehaves costs no client an
// error or a wrong byte, and the head never goes back.
func TestHostileNodes(t *testing.T) {
	s := startChain(t)
	mine(t, s, 10)
	for name, spoil := range behaviors() {
		for _, when := range []string{"always", "later"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				bad := &hostile{next: s.URL("devnet", harness.KeyA)}
				server := httptest.NewServer(bad)
				defer server.Close()
				if when == "always" {
					bad.spoil.Store(spoil)
				}
				nodes := []pool.Node{
					{Name: "bad", URL: server.URL},
					{Name: "good", URL: s.URL("devnet", harness.KeyA)},
					{Name: "better", URL: s.URL("devnet", harness.KeyB)},
				}
				p, _ := startPool(t, nodes...)
				awaitNodes(t, p, nodes[1:]...)
				if when == "later" {
					awaitNodes(t, p, nodes[0])
				}
				bad.spoil.Store(spoil)
				watchAnswers(t, p)
				server.CloseClientConnections()
			})
		}
	}
}

func watchAnswers(t *testing.T, p *pool.Pool) {
	t.Helper()
	last := uint64(0)
	var hash string
	for range 150 {
		head, err := p.Head(t.Context())
		if err != nil || head.Number < last || head.Number > 10_000 {
			t.Fatalf("the head is %d after %d, %v", head.Number, last, err)
		}
		last = head.Number
		got, err := p.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x5",false]`))
		if err != nil {
			t.Fatal(err)
		}
		var b struct{ Number, Hash string }
		if err := json.Unmarshal(got, &b); err != nil || b.Number != "0x5" || hash != "" && b.Hash != hash {
			t.Fatalf("%v: %.100s", err, got)
		}
		hash = b.Hash
		if got, err := p.Call(t.Context(), "eth_chainId", nil); err != nil || string(got) != `"0x539"` {
			t.Fatalf("chain id %s, %v", got, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
