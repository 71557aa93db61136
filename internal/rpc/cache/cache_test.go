package cache

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestLives asks, lets something happen, and asks again: the second outcome tells how
// long the answer lived.
func TestLives(t *testing.T) {
	const object = `{"a":1}`
	inBlock := func(n uint64) string {
		return fmt.Sprintf(`{"blockHash":%s,"blockNumber":"0x%x"}`, hashA, n)
	}
	same := func(*nodegate.Head) {}
	next := func(h *nodegate.Head) { h.Number++ }
	reorg := func(h *nodegate.Head) { h.Fork++ }
	finalize := func(h *nodegate.Head) { h.Number, h.Finalized = 130, 110 }
	unwatched := func(h *nodegate.Head) { h.Fork = 0 }
	for _, c := range []struct {
		name, params, answer string
		change               func(*nodegate.Head)
		first, second        string
	}{
		{"eth_chainId", `[]`, `"0x1"`, reorg, "miss not there", "hit"},
		{"eth_getBlockByHash", `[` + hashA + `,false]`, object, reorg, "miss not there", "hit"},
		{"eth_getLogs", `[{"blockHash":` + hashA + `}]`, `[1]`, reorg, "miss not there", "hit"},
		{"eth_getLogs", `[{"blockHash":` + hashA + `}]`, `[]`, same, "miss null", "miss null"},
		{"eth_getBlockReceipts", `[` + hashA + `]`, `[{}]`, reorg, "miss not there", "hit"},
		{"eth_call", `[{},{"blockHash":` + hashA + `}]`, `"0x"`, reorg, "miss not there", "hit"},
		{"eth_call", `[{},{"blockHash":` + hashA + `,"requireCanonical":true}]`, `"0x"`, same, "miss never kept", "miss never kept"},
		{"eth_call", `[{},{"blockNumber":"0x5a"}]`, `"0x"`, reorg, "miss not there", "hit"},

		{"eth_call", `[{},"0x5a"]`, `"0x"`, reorg, "miss not there", "hit"}, // finalized
		{"eth_call", `[{},"0x5b"]`, `"0x"`, same, "miss not there", "hit"},
		{"eth_call", `[{},"0x5b"]`, `"0x"`, next, "miss not there", "hit"},
		{"eth_call", `[{},"0x5b"]`, `"0x"`, reorg, "miss not there", "miss reorganized"},
		{"eth_call", `[{},"0x5b"]`, `"0x"`, finalize, "miss not there", "miss final now"},
		{"eth_call", `[{},"0x64"]`, `"0x"`, next, "miss not there", "hit"},
		{"eth_call", `[{},"0x65"]`, `"0x"`, same, "miss beyond the head", "miss beyond the head"},
		{"eth_call", `[{},"pending"]`, `"0x"`, same, "bypass pending", "bypass pending"},
		{"eth_call", `[{},"latest"]`, `"0x"`, same, "miss not there", "hit"},
		{"eth_call", `[{},"latest"]`, `"0x"`, next, "miss not there", "miss new block"},
		{"eth_call", `[{},"earliest"]`, `"0x"`, reorg, "miss not there", "hit"},
		{"eth_call", `[{},"0xzz"]`, `"0x"`, same, "miss unreadable", "miss unreadable"},
		{"eth_getBlockByNumber", `["0x5b",false]`, `null`, same, "miss null", "miss null"},

		{"eth_getTransactionReceipt", `[` + hashB + `]`, inBlock(90), reorg, "miss not there", "hit"},
		{"eth_getTransactionReceipt", `[` + hashB + `]`, inBlock(91), next, "miss not there", "hit"},
		{"eth_getTransactionReceipt", `[` + hashB + `]`, inBlock(91), reorg, "miss not there", "miss reorganized"},
		{"eth_getTransactionReceipt", `[` + hashB + `]`, inBlock(91), finalize, "miss not there", "miss final now"},
		{"eth_getTransactionReceipt", `[` + hashB + `]`, inBlock(101), same, "miss beyond the head", "miss beyond the head"},
		{"eth_getTransactionReceipt", `[` + hashB + `]`, `null`, same, "miss null", "miss null"},
		{"eth_getTransactionByHash", `[` + hashB + `]`, `{"blockHash":null,"blockNumber":null}`, same, "miss pending", "miss pending"},
		{"eth_getTransactionByHash", `[` + hashB + `]`, `{"blockHash":null,"blockNumber":"0x1"}`, same, "miss pending", "miss pending"},

		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x5a"}]`, `[]`, reorg, "miss not there", "hit"},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x5b"}]`, `[]`, reorg, "miss not there", "miss reorganized"},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x65"}]`, `[]`, same, "miss beyond the head", "miss beyond the head"},
		{"eth_getLogs", `[{"fromBlock":"0x1"}]`, `[]`, next, "miss not there", "miss new block"},
		{"eth_getLogs", `[{"fromBlock":"0x65","toBlock":"0x1"}]`, `[]`, same, "miss beyond the head", "miss beyond the head"},
		{"eth_getLogs", `[{"fromBlock":"0x1","toBlock":"pending"}]`, `[]`, same, "bypass pending", "bypass pending"},
		{"eth_getLogs", `[{"fromBlock":"pending","toBlock":"0x1"}]`, `[]`, same, "bypass pending", "bypass pending"},
		{"eth_getLogs", `[{"fromBlock":` + hashA + `,"toBlock":"0x1"}]`, `[]`, same, "miss unreadable", "miss unreadable"},
		{"eth_getLogs", `[]`, `[]`, same, "miss unreadable", "miss unreadable"},

		{"eth_gasPrice", `[]`, `"0x1"`, same, "miss not there", "hit"},
		{"eth_gasPrice", `[]`, `"0x1"`, next, "miss not there", "miss new block"},
		{"eth_gasPrice", `[]`, `"0x1"`, reorg, "miss not there", "miss reorganized"},
		{"eth_syncing", `[]`, `false`, same, "bypass never kept", "bypass never kept"},
		{"eth_sendRawTransaction", `["0x"]`, `"0x1"`, same, "bypass never kept", "bypass never kept"},
		{"eth_newFilter", `[{}]`, `"0x1"`, same, "bypass never kept", "bypass never kept"},
		{"foo_bar", `[]`, `1`, same, "bypass never kept", "bypass never kept"},
		{"eth_call", `[{},"0x5b"]`, `"0x"`, unwatched, "miss not there", "miss reorganized"},
	} {
		node := answering(c.answer)
		cached := New(node, Config{Bytes: 1 << 20})
		for i, want := range []string{c.first, c.second} {
			got, trace := ask(t, cached, c.name, c.params)
			if got != c.answer || outcome(trace) != want {
				t.Errorf("%s %s = %s, time %d: %s %q, want %q", c.name, c.params, c.answer, i+1, got, outcome(trace), want)
			}
			if asked := trace.Cache != nodegate.CacheHit; asked != (trace.Node == "n1") {
				t.Errorf("%s %s: %q by node %q", c.name, c.params, outcome(trace), trace.Node)
			}
			head := node.head
			c.change(&head)
			node.setHead(head)
		}
	}
}

// TestUnwatched: where nobody watches for reorgs, near answers live one block.
func TestUnwatched(t *testing.T) {
	node := answering(`"0x"`)
	node.head.Fork = 0
	c := New(node, Config{Bytes: 1 << 20})
	for _, want := range []string{"miss not there", "hit"} {
		if _, trace := ask(t, c, "eth_call", `[{},"0x5b"]`); outcome(trace) != want {
			t.Errorf("%q, want %q", outcome(trace), want)
		}
	}
	node.head.Number++
	if _, trace := ask(t, c, "eth_call", `[{},"0x5b"]`); outcome(trace) != "miss new block" {
		t.Errorf("%q in the next block", outcome(trace))
	}
}

// TestWithoutNodes: what is final is answered while no node is there; the rest is not.
func TestWithoutNodes(t *testing.T) {
	node := answering(`"0x"`)
	c := New(node, Config{Bytes: 1 << 20})
	ask(t, c, "eth_call", `[{},"0x5a"]`)
	ask(t, c, "eth_call", `[{},"0x5b"]`)
	node.noHead = true
	node.setAnswer("", &nodegate.Error{Code: nodegate.NoNode})
	if _, trace := ask(t, c, "eth_call", `[{},"0x5a"]`); trace.Cache != nodegate.CacheHit {
		t.Errorf("a final answer: %q", outcome(trace))
	}
	if _, err := c.Call(t.Context(), "eth_call", []byte(`[{},"0x5b"]`)); !errors.Is(err, nodegate.NoNode) {
		t.Errorf("an answer near the head: %v", err)
	}
	node.setAnswer(`"0x"`, nil) // a node that answers, though nobody knows its head
	for range 2 {
		if _, trace := ask(t, c, "eth_call", `[{},"0x5c"]`); outcome(trace) != "miss no head" {
			t.Errorf("without a head: %q", outcome(trace))
		}
	}
}

// TestSetBack: when a chain was recreated, nothing of the old one is left, also not
// what was in progress.
func TestSetBack(t *testing.T) {
	node := answering(`"old"`)
	c := New(node, Config{Bytes: 1 << 20})
	ask(t, c, "eth_call", `[{},"0x5a"]`)
	node.setHead(nodegate.Head{Number: 100, Finalized: 91, Fork: 2})
	if _, trace := ask(t, c, "eth_call", `[{},"0x5a"]`); outcome(trace) != "hit" {
		t.Errorf("after a reorganization: %q", outcome(trace))
	}
	ask(t, c, "eth_gasPrice", `[]`) // sees the head
	node.answer = func(context.Context, string, string) (string, error) {
		node.setHead(nodegate.Head{Number: 95, Finalized: 80, Fork: 3, Lost: 1})
		return `"old"`, nil
	}
	if _, trace := ask(t, c, "eth_call", `[{},"0x5b"]`); outcome(trace) != "miss reorganized" {
		t.Errorf("under way: %q", outcome(trace))
	}
	node.setAnswer(`"new"`, nil)
	for _, params := range []string{`[{},"0x5a"]`, `[{},"0x5b"]`, `[{},"0x1"]`} {
		if got, trace := ask(t, c, "eth_call", params); got != `"new"` || trace.Cache != nodegate.CacheMiss {
			t.Errorf("%s of the new chain: %s, %q", params, got, outcome(trace))
		}
	}
}

// TestSetBackUnseen: a chain was recreated and has come as far as the old one before
// anybody asked again. What was final on the old one is not given out, also not while
// nobody can tell the head any more.
func TestSetBackUnseen(t *testing.T) {
	const final, hash = `[{},"0x5a"]`, `["0x1111111111111111111111111111111111111111111111111111111111111111",false]`
	for _, gone := range []bool{false, true} {
		node := answering(`"old"`)
		c := New(node, Config{Bytes: 1 << 20})
		ask(t, c, "eth_call", final)
		ask(t, c, "eth_getBlockByHash", hash)
		node.setAnswer(`"new"`, nil)
		node.setHead(nodegate.Head{Number: 120, Finalized: 110, Fork: 2, Lost: 1})
		if gone {
			ask(t, c, "eth_gasPrice", `[]`) // somebody sees it
			node.noHead = true
		}
		for range 2 {
			if got, trace := ask(t, c, "eth_call", final); got != `"new"` {
				t.Errorf("no head %v: %s, %q", gone, got, outcome(trace))
			}
		}
		if got, trace := ask(t, c, "eth_getBlockByHash", hash); got != `"old"` || outcome(trace) != "hit" {
			t.Errorf("by its hash: %s, %q", got, outcome(trace))
		}
	}
}

// TestErrorsAreNotKept, whatever they say.
func TestErrorsAreNotKept(t *testing.T) {
	node := answering("")
	c := New(node, Config{Bytes: 1 << 20})
	node.setAnswer("", &nodegate.Error{Code: nodegate.Reverted})
	for range 2 {
		var trace nodegate.Trace
		_, err := c.Call(nodegate.WithTrace(t.Context(), &trace), "eth_call", []byte(`[{},"0x1"]`))
		if !errors.Is(err, nodegate.Reverted) || outcome(trace) != "miss reverted" {
			t.Errorf("%v, %q", err, outcome(trace))
		}
	}
	if node.count() != 2 {
		t.Errorf("the node was asked %d times", node.count())
	}
}

// TestCollision: two calls with one key never answer for each other.
func TestCollision(t *testing.T) {
	node := answering(`"0x1"`)
	c := New(node, Config{Bytes: 1 << 20})
	ask(t, c, "eth_call", `[{},"0x1"]`)
	kept, _ := c.answers.GetIfPresent(c.key("eth_call", []byte(`[{},"0x1"]`)))
	c.answers.Set(c.key("eth_call", []byte(`[{},"0x2"]`)), kept)
	c.answers.Set(c.key("eth_getCode", []byte(`[{},"0x1"]`)), kept)
	node.setAnswer(`"0x2"`, nil)
	for _, ask2 := range [][2]string{{"eth_call", `[{},"0x2"]`}, {"eth_getCode", `[{},"0x1"]`}} {
		if got, trace := ask(t, c, ask2[0], ask2[1]); got != `"0x2"` || outcome(trace) != "miss not there" {
			t.Errorf("%v = %s, %q", ask2, got, outcome(trace))
		}
	}
}

// TestCallersBytes: the cache keeps neither the caller's parameters nor the room that
// the node's answer is a part of.
func TestCallersBytes(t *testing.T) {
	c := New(answering(`"0x1"`), Config{Bytes: 1 << 20})
	params := []byte(`[{},"0x1"]`)
	if _, err := c.Call(t.Context(), "eth_call", params); err != nil {
		t.Fatal(err)
	}
	copy(params, `[{},"0x2"]`)
	if _, trace := ask(t, c, "eth_call", `[{},"0x2"]`); trace.Cache != nodegate.CacheMiss {
		t.Errorf("%q: the caller's change reached the cache", outcome(trace))
	}
	if _, trace := ask(t, c, "eth_call", `[{},"0x1"]`); trace.Cache != nodegate.CacheHit {
		t.Errorf("%q: the kept answer was lost", outcome(trace))
	}
}

func TestTooLarge(t *testing.T) {
	node := answering(`"` + strings.Repeat("a", 1<<16) + `"`)
	c := New(node, Config{Bytes: 1 << 20})
	for range 2 {
		if _, trace := ask(t, c, "eth_call", `[{},"0x1"]`); outcome(trace) != "miss too large" {
			t.Errorf("%q", outcome(trace))
		}
	}
	c.Resize(4 << 20)
	ask(t, c, "eth_call", `[{},"0x1"]`)
	if _, trace := ask(t, c, "eth_call", `[{},"0x1"]`); outcome(trace) != "hit" {
		t.Errorf("with more room: %q", outcome(trace))
	}
	none := New(node, Config{})
	for range 2 {
		if _, trace := ask(t, none, "eth_chainId", `[]`); outcome(trace) != "miss too large" {
			t.Errorf("without room: %q", outcome(trace))
		}
	}
}

// TestBudget: the heap stays within what was allowed, whatever the answers' size.
func TestBudget(t *testing.T) {
	full.Slow(t)
	const budget = 16 << 20
	for _, size := range []int{8, 200, 1500, 40_000, 0} {
		node := answering("")
		text := strings.Repeat("a", 80_000)
		random := rand.New(rand.NewPCG(1, 2))
		before := heap()
		c := New(node, Config{Bytes: budget})
		filled := int64(0)
		for i := 0; filled < 3*budget; i++ {
			n := size
			if n == 0 {
				n = 8 + int(random.Float64()*random.Float64()*random.Float64()*79_000)
			}
			node.setAnswer(`"`+text[:n]+`"`, nil)
			node.asked = nil
			ask(t, c, "eth_call", fmt.Sprintf(`[{"data":"0x%064x"},"0x1"]`, i))
			filled += int64(n + 90 + overhead)
		}
		c.answers.CleanUp()
		used, stats := heap()-before, c.Stats()
		t.Logf("answers of %d bytes: %d kept, %d bytes by the accounts, %d on the heap", size, stats.Answers, stats.Bytes, used)
		if used > budget*3/2 || stats.Bytes > budget || stats.Bytes < budget/2 {
			t.Errorf("answers of %d bytes: %d bytes on the heap and %d by the accounts, of %d", size, used, stats.Bytes, budget)
		}
		runtime.KeepAlive(c)
	}
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestPassesOn: the head is the node's, and a node that pushes nothing says so.
func TestPassesOn(t *testing.T) {
	node := answering("")
	c := New(node, Config{})
	if head, err := c.Head(t.Context()); err != nil || head != node.head {
		t.Errorf("head %+v, %v", head, err)
	}
	if err := c.Subscribe(t.Context(), nil, nil); !errors.Is(err, nodegate.MethodNotFound) {
		t.Errorf("subscribe: %v", err)
	}
}

// TestHitAllocatesNothing: a hit is the way of most requests.
func TestHitAllocatesNothing(t *testing.T) {
	for _, params := range []string{`[{},"0x5a"]`, `[{},"0x5b"]`} {
		c := New(answering(`"0x1"`), Config{Bytes: 1 << 20})
		ctx, raw := nodegate.WithTrace(t.Context(), new(nodegate.Trace)), []byte(params)
		if got := testing.AllocsPerRun(1000, func() { _, _ = c.Call(ctx, "eth_call", raw) }); got > 0 {
			t.Errorf("%s allocates %v times", params, got)
		}
	}
}

// TestLevelKept: an answer from memory, or of a call that another one waits for, is verified as
// well as when the nodes gave it.
func TestLevelKept(t *testing.T) {
	s := answering(`"0x1"`)
	s.answer = func(ctx context.Context, _, _ string) (string, error) {
		trace := nodegate.TraceFrom(ctx)
		trace.Verified, trace.Agreed = nodegate.LevelAgreed, 2
		return `"0x1"`, nil
	}
	c := New(s, Config{Bytes: 1 << 20})
	for i, want := range []nodegate.CacheOutcome{nodegate.CacheMiss, nodegate.CacheHit} {
		_, trace := ask(t, c, "eth_getBalance", `["0x00000000000000000000000000000000000000aa","0x5"]`)
		if trace.Cache != want || trace.Verified != nodegate.LevelAgreed || trace.Agreed != 2 {
			t.Errorf("call %d: %s at level %q of %d nodes", i, trace.Cache, trace.Verified, trace.Agreed)
		}
	}
}
