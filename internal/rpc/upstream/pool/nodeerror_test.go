package pool

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/upstream/client"
)

// errorString is the data of a revert with a reason, as Solidity encodes it.
func errorString(reason string) string {
	padded := reason + strings.Repeat("\x00", (32-len(reason)%32)%32)
	return fmt.Sprintf("08c379a0%064x%064x%s", 32, len(reason), hex.EncodeToString([]byte(padded)))
}

// dialects are how nodes report a revert with a reason that the contract chose.
var dialects = []struct {
	whose string
	code  int
	text  string // $R is the reason
	data  string // $D are the bytes
}{
	{"Geth, Reth, Anvil", 3, "execution reverted: $R", `"0x$D"`},
	{"Geth, without data", 3, "execution reverted: $R", ""},
	{"Erigon, Alchemy", -32000, "execution reverted: $R", `"0x$D"`},
	{"old Geth", -32000, "execution reverted: $R", ""},
	{"Geth, estimating", -32000, "err: execution reverted: $R (supplied gas 50000000)", ""},
	{"Besu", -32000, "Execution reverted: $R", `"0x$D"`},
	{"Ethermint", -32000, "rpc error: code = Unknown desc = execution reverted: $R", ""},
	{"Nethermind, OpenEthereum", -32015, "VM execution error.", `"Reverted 0x$D"`},
	{"Nethermind", -32015, "VM execution error: $R", `"err: $R"`},
	{"Conflux", -32015, "Transaction reverted: $R", `"0x$D"`},
	{"Ganache", -32000, "VM Exception while processing transaction: revert $R", `{"stack":"$R"}`},
	{"Frontier", -32603, "VM Exception while processing transaction: revert $R", `"0x$D"`},
	{"Hardhat", -32603, "Error: VM Exception while processing transaction: reverted with reason string '$R'", `{"message":"$R","data":"0x$D"}`},
	{"Hardhat", -32603, `Error: VM Exception while processing transaction: reverted with custom error 'E("$R")'`, ""},
	{"some", -32000, "Reverted 0x$D", ""},
	{"some", -32000, "reverted: $R", ""},
	{"Filecoin", 1, "message execution failed (exit=[33], revert reason=[Error($R)], vm error=[])", ""},
	{"zkSync, a paymaster", 3, "Paymaster validation error: $R", ""},
	{"zkSync, an account", -32000, "Account validation error: $R", ""},
	{"a bundler", -32500, "AA23 reverted: $R", ""},
	{"only the bytes", -32000, "$R", `"0x$D"`},
}

// allWords are all words by which errors are told apart.
func allWords() []string {
	words := slices.Concat(limitWords, prunedWords, staleWords, knownWords, minedWords, []string{"block range too large, max range: 1"})
	for _, w := range noMethodWords {
		words = append(words, "method "+w)
	}
	return words
}

// runningCalls are calls for which nodes run code that the caller chooses.
var runningCalls = []struct{ method, params string }{
	{"eth_call", `[{"data":"0x60"},"0x5"]`}, {"eth_call", `[{"data":"0x60"},"latest"]`}, {"eth_estimateGas", `[{"data":"0x60"}]`},
	{"eth_createAccessList", `[{"data":"0x60"},"0x5"]`}, {"eth_simulateV1", `[{"blockStateCalls":[]},"0x5"]`}, {"debug_traceCall", `[{"data":"0x60"},"0x5",{"tracer":"callTracer"}]`},
	{"trace_call", `[{"data":"0x60"},["trace"],"0x5"]`}, {"eth_callMany", `[[]]`}, {"eth_sendRawTransaction", `["0xf86c"]`},
}

// noHarm checks that nothing of what callers did speaks against the nodes.
func noHarm(t *testing.T, p *Pool, what, method string) {
	t.Helper()
	for _, n := range p.nodes.all() {
		if wait := n.busy(1, time.Now()); wait > 0 {
			t.Fatalf("%s: node %s takes no calls for %v", what, n.cfg.Name, wait)
		}
		h := &n.history
		if !h.offers(method) || h.depth.Load() != 0 || h.proofs.Load() != 0 || h.blocks.Load() != 0 {
			t.Fatalf("%s: node %s offers %s: %v, depths %d and %d, blocks from %d", what, n.cfg.Name, method, h.offers(method), h.depth.Load(), h.proofs.Load(), h.blocks.Load())
		}
		if width := n.logWidth(time.Now()); width != math.MaxUint64 {
			t.Fatalf("%s: node %s gets log queries of %d blocks", what, n.cfg.Name, width)
		}
		if n.breaker.open() || n.failing.value() > 0 {
			t.Fatalf("%s: node %s counts as failing", what, n.cfg.Name)
		}
	}
}

// saying is two nodes that answer one method with the error that is set.
func saying(t *testing.T) (p *Pool, say func(method string, e *client.CallError), asked func(method string) int) {
	a, b := newFake("a", 1000), newFake("b", 1000)
	p, _ = openFakes(t, nil, a, b)
	settle()
	say = func(method string, e *client.CallError) {
		for _, f := range []*fake{a, b} {
			f.set(func() {
				f.answer = func(_ context.Context, m string, _ []byte) ([]byte, error) {
					if m == method {
						return nil, e
					}
					return nil, nil
				}
			})
		}
	}
	return p, say, func(method string) int { return a.count(method) + b.count(method) }
}

// TestReasons: whatever word a contract reverts with, in whatever node's dialect, the caller gets
// the node's error at once, and nothing speaks against the node.
func TestReasons(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, say, asked := saying(t)
		for _, call := range runningCalls {
			for _, d := range dialects {
				for _, word := range allWords() {
					fill := strings.NewReplacer("$R", word, "$D", errorString(word))
					e := &client.CallError{Code: d.code, Message: fill.Replace(d.text)}
					if d.data != "" {
						e.Data = []byte(fill.Replace(d.data))
					}
					what := fmt.Sprintf("%s, %s, %q", call.method, d.whose, e.Message)
					say(call.method, e)
					before := asked(call.method)
					_, err := p.Call(t.Context(), call.method, []byte(call.params))
					var got *nodegate.Error
					if !errors.As(err, &got) || got.Code != nodegate.NodeFault || got.Number != d.code || got.Msg != e.Message || string(got.Data) != string(e.Data) {
						t.Fatalf("%s: the caller gets %+v", what, err)
					}
					most := 1
					if call.method == "eth_sendRawTransaction" {
						most = 2 // it goes to several nodes at once
					}
					if n := asked(call.method) - before; n > most {
						t.Fatalf("%s: %d nodes were asked", what, n)
					}
					noHarm(t, p, what, call.method)
				}
			}
		}
	})
}

// TestUnknownDialect: a reason without any sign of a revert may cost a retry, but it doesn't
// speak against the node either.
func TestUnknownDialect(t *testing.T) {
	for _, code := range executionNumbers {
		bubble(t, func(t *testing.T) {
			p, say, _ := saying(t)
			for _, call := range runningCalls {
				for _, word := range allWords() {
					say(call.method, &client.CallError{Code: code, Message: "it says " + word})
					_, err := p.Call(t.Context(), call.method, []byte(call.params))
					var got *nodegate.Error
					if what := fmt.Sprintf("%s, %d, %q", call.method, code, word); call.method == "eth_sendRawTransaction" {
						noHarm(t, p, what, call.method)
					} else if !errors.As(err, &got) || got.Code != nodegate.NodeFault {
						t.Fatalf("%s: %v", what, err)
					} else {
						noHarm(t, p, what, call.method)
					}
				}
			}
		})
	}
}

// TestTracerPrograms: a tracer that is a program throws what it wants, on one node and not on
// another.
func TestTracerPrograms(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, say, _ := saying(t)
		const name = "debug_traceCall"
		const params = `[{"data":"0x60"},"0x5",{"tr\u0061cer":"{result: function() { throw 'too'+' many' }, fault: function() {}}"}]`
		for _, word := range append(allWords(), "whatever") {
			for i, n := range []string{"a", "b"} {
				say(name, &client.CallError{Code: -32000, Message: word})
				f := p.nodes.all()[1-i].conn.(*fake)
				f.answers(name, `{}`, nil)
				_, err := p.Call(t.Context(), name, []byte(params))
				if got := (*nodegate.Error)(nil); err != nil && (!errors.As(err, &got) || got.Code != nodegate.NodeFault) {
					t.Fatalf("%q: %v", word, err)
				}
				noHarm(t, p, n+" throws "+word, name)
			}
		}
	})
}

// TestEchoes: nodes repeat parameters in their errors.
func TestEchoes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, say, _ := saying(t)
		for _, call := range []struct{ method, params string }{
			{"eth_getBalance", `["W","0x5"]`}, {"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x9","address":"W"}]`}, {"eth_getCode", `["0x01",{"blockNumber":"0x5","W":true}]`},
			{"eth_getProof", `["0x01",["W"],"0x5"]`}, {"debug_getRawHeader", `["W"]`},
		} {
			for _, word := range allWords() {
				for _, shown := range []string{"invalid argument 0: %s", "unknown account %s", `cannot read %q`, "%s...", "the method got %s"} {
					for _, code := range []int{-32602, -32000, -32005, -32600} {
						say(call.method, &client.CallError{Code: code, Message: fmt.Sprintf(shown, strings.ToUpper(word))})
						first := fmt.Sprintf(`\u%04x`, word[0])
						params := strings.ReplaceAll(call.params, "W", first+word[1:]+` \u00e9\n and more`)
						_, err := p.Call(t.Context(), call.method, []byte(params))
						if errors.Is(err, nodegate.Busy) || err == nil {
							t.Fatalf("%s, %d, %q: %v", call.method, code, word, err)
						}
						noHarm(t, p, fmt.Sprintf("%s, %d, %q", call.method, code, word), call.method)
					}
				}
			}
		}
	})
}

// TestRealLimits: what only a node can say still counts.
func TestRealLimits(t *testing.T) {
	for _, c := range []struct {
		method, params string
		err            error
	}{
		{"eth_call", `[{},"0x5"]`, callError(-32005, "rate limit exceeded")},
		{"eth_call", `[{},"0x5"]`, callError(429, "Monthly capacity limit exceeded.")},
		{"eth_call", `[{},"0x5"]`, callError(429, "slow down")},
		{"eth_call", `[{},"0x5"]`, callError(-32029, "wait")},
		{"eth_call", `[{},"0x5"]`, callError(-32007, "50/second request limit reached - reduce calls per second or upgrade your account")},
		{"eth_call", `[{},"0x5"]`, &client.Fault{Sent: true, Status: 429, Err: errors.New("429")}},
		{"eth_getBalance", balance, callError(-32000, "Too Many Requests")},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x9"}]`, callError(-32603, "compute units per second exceeded")},
	} {
		bubble(t, func(t *testing.T) {
			a := newFake("a", 1000)
			p, _ := openFakes(t, nil, a)
			settle()
			a.answers(c.method, "", c.err)
			_, err := p.Call(t.Context(), c.method, []byte(c.params))
			if n := p.nodes.all()[0]; !errors.Is(err, nodegate.Busy) || n.busy(1, time.Now()) == 0 {
				t.Errorf("%s: %v: %v, busy for %v", c.method, c.err, err, n.busy(1, time.Now()))
			}
		})
	}
}

// TestHistoryOfCalls: what a node lacks for calls is learned from its words once another node has
// answered.
func TestHistoryOfCalls(t *testing.T) {
	for name, c := range map[string]struct {
		params string
		err    error
	}{
		"state":         {`[{},"0x5"]`, callError(-32000, "missing trie node 0a (path )")},
		"header":        {`[{},"0x5"]`, callError(-32000, "header not found")},
		"the method":    {`[{},"0x5"]`, callError(-32000, "the method eth_call is not available on your plan")},
		"by the number": {`[{},"0x5"]`, callError(-32601, "no")},
	} {
		bubble(t, func(t *testing.T) {
			bad, good := newFake("bad", 1000), newFake("good", 1000)
			bad.answers("eth_call", "", c.err)
			good.answers("eth_call", `"0x01"`, nil)
			p, _ := openFakes(t, nil, bad, good)
			settle()
			for range 50 {
				if got, err := p.Call(t.Context(), "eth_call", []byte(c.params)); err != nil || string(got) != `"0x01"` {
					t.Fatalf("%s: %s, %v", name, got, err)
				}
			}
			if n := bad.count("eth_call"); n != 1 {
				t.Errorf("%s: asked %d times for what it lacks", name, n)
			}
		})
	}
}

// TestMethodsAreRemembered: clients can't use up the room for methods that a node lacks.
func TestMethodsAreRemembered(t *testing.T) {
	var h history
	for i := range 2 * maxLacking {
		h.without(fmt.Sprint("eth_made", i))
	}
	if h.without("eth_simulateV1"); h.offers("eth_simulateV1") || len(h.lacks) > maxLacking+1 {
		t.Errorf("%d methods; the real one is among them: %v", len(h.lacks), !h.offers("eth_simulateV1"))
	}
}
