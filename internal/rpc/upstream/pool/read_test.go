package pool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
	"github.com/nodegate/nodegate/internal/rpc/upstream/heads"
)

// answers makes a fake answer one method in a way of its own.
func (f *fake) answers(method string, result string, err error) {
	f.set(func() {
		next := f.answer
		f.answer = func(ctx context.Context, m string, params []byte) ([]byte, error) {
			switch {
			case m == method && err != nil:
				return nil, err
			case m == method && result != "":
				return []byte(result), nil
			case next != nil:
				return next(ctx, m, params)
			}
			return nil, nil
		}
	})
}

func callError(code int, message string) error {
	return &client.CallError{Code: code, Message: message}
}

var someHash = `"0x` + strings.Repeat("ab", 32) + `"`

// TestAnotherNode: what one node lacks or spoils, another one has.
func TestAnotherNode(t *testing.T) {
	const oldBlock, call = `["0x5",false]`, `[{},"0x5"]`
	block := string(makeBlock(genesisBranch, 5, blockHash(genesisBranch, 4)).Raw)
	tx := `{"hash":` + someHash + `,"blockNumber":"0x5"}`
	for name, c := range map[string]struct {
		method, params string
		result         string // of the bad node
		err            error
		want           string
	}{
		"refused":               {"eth_call", call, "", &client.Fault{Err: errRefused}, `"0x01"`},
		"broken off":            {"eth_call", call, "", &client.Fault{Sent: true, Err: errors.New("cut")}, `"0x01"`},
		"503":                   {"eth_call", call, "", &client.Fault{Sent: true, Status: 503, Err: errors.New("503")}, `"0x01"`},
		"another block":         {"eth_getBlockByNumber", oldBlock, strings.Replace(block, `"0x5"`, `"0x6"`, 1), nil, block},
		"another kind":          {"eth_getBlockByNumber", oldBlock, `"0x7"`, nil, block},
		"another transaction":   {"eth_getTransactionByHash", "[" + someHash + "]", strings.Replace(tx, "abab", "cdcd", 1), nil, tx},
		"receipt of another":    {"eth_getTransactionReceipt", "[" + someHash + "]", `{"transactionHash":"0x1"}`, nil, `{"transactionHash":` + someHash + `}`},
		"receipts of another":   {"eth_getBlockReceipts", `["0x5"]`, `[{"blockNumber":"0x6"}]`, nil, `[{"blockNumber":"0x5"}]`},
		"null for a call":       {"eth_call", call, "null", nil, `"0x01"`},
		"object for a call":     {"eth_call", call, "{}", nil, `"0x01"`},
		"not hex":               {"eth_getBalance", balance, `"0xzz"`, nil, `"0x01"`},
		"null block":            {"eth_getBlockByNumber", oldBlock, "null", nil, block},
		"null transaction":      {"eth_getTransactionByHash", "[" + someHash + "]", "null", nil, tx},
		"no method":             {"eth_simulateV1", `[{},"0x5"]`, "", callError(-32601, "the method eth_simulateV1 does not exist/is not available"), "[]"},
		"Geth, state":           {"eth_call", call, "", callError(-32000, "missing trie node 0a (path )"), `"0x01"`},
		"Geth, path scheme":     {"eth_call", call, "", callError(-32000, "historical state 0a is not available"), `"0x01"`},
		"Nethermind, state":     {"eth_call", call, "", callError(-32002, "No state available for block 0x5"), `"0x01"`},
		"Besu, state":           {"eth_call", call, "", callError(-32000, "World state unavailable"), `"0x01"`},
		"Reth, state":           {"eth_call", call, "", callError(-32000, "state at block #5 is pruned"), `"0x01"`},
		"Erigon, history":       {"eth_getBlockReceipts", `["0x5"]`, "", callError(-32000, "old data not available due to pruning"), "[]"},
		"expired history":       {"eth_getBlockReceipts", `["0x5"]`, "", callError(4444, "pruned history unavailable"), "[]"},
		"Geth, header":          {"eth_call", call, "", callError(-32000, "header not found"), `"0x01"`},
		"Besu, block":           {"eth_call", call, "", callError(-32000, "Block not found"), `"0x01"`},
		"too large":             {"eth_getBlockReceipts", `["0x5"]`, "", &client.Fault{Sent: true, Err: client.ErrTooLarge}, "[]"},
		"a provider's limit":    {"eth_call", call, "", callError(-32005, "rate limit exceeded, upgrade your plan"), `"0x01"`},
		"too many calls for it": {"eth_call", call, "", &client.Fault{Err: client.ErrBusy}, `"0x01"`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				bad, good := newFake("bad", 100), newFake("good", 100)
				bad.answers(c.method, c.result, c.err)
				if c.method != "eth_getBlockByNumber" {
					good.answers(c.method, c.want, nil)
				}
				p, _ := openFakes(t, nil, bad, good)
				settle()
				if c.method == "eth_getBlockByNumber" { // its polls and its check would fail too
					bad.set(func() { bad.answer = nil })
					time.Sleep(20 * time.Second)
					bad.answers(c.method, c.result, c.err)
				}
				for range 4 { // whichever is asked first
					got, err := p.Call(t.Context(), c.method, []byte(c.params))
					if err != nil || string(got) != c.want {
						t.Fatalf("got %s, %v; want %s", got, err, c.want)
					}
				}
			})
		})
	}
}

// TestCallersBusiness: a node's error about the call itself is passed on, unchanged
// and at once.
func TestCallersBusiness(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		long := strings.Repeat("x", 10_000)
		for _, f := range []*fake{a, b} {
			f.answers("eth_call", "", &client.CallError{Code: 3, Message: "execution reverted", Data: []byte(`"0x08c379a0"`)})
			f.answers("eth_estimateGas", "", &client.CallError{Code: 1 << 40, Message: "a\nb\x00" + long})
		}
		p, _ := openFakes(t, nil, a, b)
		settle()
		var e *nodegate.Error
		_, err := p.Call(t.Context(), "eth_call", []byte(`[{},"0x5"]`))
		if !errors.As(err, &e) || e.Code != nodegate.NodeFault || e.Number != 3 || e.Msg != "execution reverted" || string(e.Data) != `"0x08c379a0"` {
			t.Errorf("%#v", err)
		}
		if n := a.count("eth_call") + b.count("eth_call"); n != 1 {
			t.Errorf("asked %d times", n)
		}
		_, err = p.Call(t.Context(), "eth_estimateGas", []byte(`[{},"0x5"]`))
		if !errors.As(err, &e) || e.Number != -32000 || len(e.Msg) > 5000 || strings.ContainsAny(e.Msg, "\n\x00") {
			t.Errorf("absurd fields: %d, %.40q", e.Number, e.Msg)
		}
	})
}

// TestHistoryIsLearned: after one error a node isn't asked for such blocks again, and
// still is for newer ones.
func TestHistoryIsLearned(t *testing.T) {
	bubble(t, func(t *testing.T) {
		full, archive := newFake("full", 1000), newFake("archive", 1000)
		full.set(func() {
			full.answer = func(_ context.Context, m string, params []byte) ([]byte, error) {
				var q query
				if q.read(m, params, 1000); m == "eth_getBalance" && q.block < 1000-127 {
					return nil, callError(-32000, "missing trie node 0a (path )")
				}
				return nil, nil
			}
		})
		p, _ := openFakes(t, nil, full, archive)
		settle()
		ask := func(block uint64) {
			t.Helper()
			params := fmt.Sprintf(`["0x0000000000000000000000000000000000000001","0x%x"]`, block)
			if got, err := p.Call(t.Context(), "eth_getBalance", []byte(params)); err != nil || string(got) != `"0x1"` {
				t.Fatalf("block %d: %s, %v", block, got, err)
			}
		}
		for full.count("eth_getBalance") == 0 {
			ask(700)
		}
		before := full.count("eth_getBalance")
		for n := range uint64(100) {
			ask(n * 7)
		}
		if n := full.count("eth_getBalance") - before; n != 0 {
			t.Errorf("asked %d times for what it doesn't have", n)
		}
		for range 100 {
			ask(1000)
		}
		if full.count("eth_getBalance") == before {
			t.Error("never asked for new blocks")
		}
		archive.set(func() { archive.down = true })
		time.Sleep(10 * time.Second)
		var e *nodegate.Error
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.As(err, &e) || !strings.Contains(e.Msg, "missing trie node") {
			t.Errorf("when nobody has it: %v", err)
		}
	})
}

// TestProofWindow: a node that gives proofs of the newest blocks only still has the state of
// older ones.
func TestProofWindow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		short, long := newFake("short", 1000), newFake("long", 1000)
		short.answers("eth_getProof", "", callError(-32000, "distance to target block exceeds maximum proof window"))
		long.answers("eth_getProof", "{}", nil)
		p, _ := openFakes(t, nil, short, long)
		settle()
		const account = `["0x0000000000000000000000000000000000000001"`
		proof := func(block string) {
			t.Helper()
			trace := nodegate.Trace{Want: &nodegate.Want{Block: 700, Holds: func([]byte) error { return nil }}}
			if _, err := p.Call(nodegate.WithTrace(t.Context(), &trace), "eth_getProof", []byte(account+`,[],`+block+`]`)); err != nil {
				t.Fatal(err)
			}
		}
		for short.count("eth_getProof") == 0 {
			proof(`"0x2bc"`)
		}
		for range 50 {
			proof(`"0x2bb"`)
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(account+`,"0x2bc"]`)); err != nil {
				t.Fatal(err)
			}
		}
		if n := short.count("eth_getProof"); n != 1 {
			t.Errorf("asked %d times for proofs that it doesn't give", n)
		}
		if short.count("eth_getBalance") == 0 {
			t.Error("never asked for state that it has")
		}
	})
}

// TestTheBlockIsThere: a call about a block goes to a node that has it.
func TestTheBlockIsThere(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 97)
		p, _ := openFakes(t, nil, a, b)
		settle()
		for range 50 {
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(`["0x0000000000000000000000000000000000000001","0x64"]`)); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.count("eth_getBalance"); n != 0 {
			t.Errorf("the node that is behind was asked %d times", n)
		}
		// The one that has it dies: the call waits for the other to get it.
		a.set(func() { a.down = true })
		go func() {
			time.Sleep(600 * time.Millisecond)
			b.grow(genesisBranch, 100)
		}()
		time.Sleep(10 * time.Second)
		b.set(func() { b.chain = b.chain[:98] })
		time.Sleep(2 * time.Second)
		go func() {
			time.Sleep(100 * time.Millisecond)
			b.grow(genesisBranch, 101)
			h, _ := heads.Read(b.chain[101].Raw)
			p.heads.Report(&p.nodes.all()[1].Node, h)
		}()
		start := time.Now()
		got, err := p.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0x64",false]`))
		if err != nil || string(got) == "null" || time.Since(start) > blockWait {
			t.Errorf("%s, %v after %v", got, err, time.Since(start))
		}
		// A block that nobody was told of is not waited for.
		start = time.Now()
		if got, err := p.Call(t.Context(), "eth_getBlockByNumber", []byte(`["0xffff",false]`)); err != nil || string(got) != "null" || time.Since(start) > 0 {
			t.Errorf("%s, %v after %v", got, err, time.Since(start))
		}
	})
}

// TestDeadline: a node that hangs costs a share of the time, and the rest is for another.
func TestDeadline(t *testing.T) {
	bubble(t, func(t *testing.T) {
		hang := func(ctx context.Context, m string, _ []byte) ([]byte, error) {
			if m != "eth_getBalance" {
				return nil, nil
			}
			<-ctx.Done()
			return nil, &client.Fault{Sent: true, Err: ctx.Err()}
		}
		a, b := newFake("a", 100), newFake("b", 100)
		a.answer = hang
		p, _ := openFakes(t, nil, a, b)
		settle()
		for range 10 {
			start := time.Now()
			if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); err != nil || time.Since(start) > 5*time.Second {
				t.Errorf("%v after %v", err, time.Since(start))
			}
		}
		b.set(func() { b.answer = hang })
		start := time.Now()
		if _, err := p.Call(t.Context(), "eth_getBalance", []byte(balance)); !errors.Is(err, nodegate.Timeout) || time.Since(start) > 10*time.Second {
			t.Errorf("all hang: %v after %v", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start = time.Now()
		if _, err := p.Call(ctx, "eth_getBalance", []byte(balance)); !errors.Is(err, nodegate.Timeout) || time.Since(start) > time.Second {
			t.Errorf("the caller's deadline: %v after %v", err, time.Since(start))
		}
	})
}

// TestUnknownMethodsAreAskedOnce: what may do something is never sent twice.
func TestUnknownMethodsAreAskedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := newFake("a", 100), newFake("b", 100)
		for _, f := range []*fake{a, b} {
			f.answers("foo_doSomething", "", &client.Fault{Sent: true, Err: errors.New("cut")})
		}
		p, _ := openFakes(t, nil, a, b)
		settle()
		for i := range 8 {
			if _, err := p.Call(t.Context(), "foo_doSomething", nil); !errors.Is(err, nodegate.NoNode) {
				t.Errorf("%v", err)
			}
			if n := a.count("foo_doSomething") + b.count("foo_doSomething"); n != i+1 {
				t.Fatalf("%d calls were sent %d times", i+1, n)
			}
		}
	})
}
