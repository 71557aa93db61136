package cache

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// shelf is a second level in memory.
type shelf struct {
	mu   sync.Mutex
	kept map[string]string
	gets int
}

func (s *shelf) Get(_ context.Context, key []byte) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gets++
	v, ok := s.kept[string(key)]
	return []byte(v), ok
}

func (s *shelf) Put(key, result []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept[string(key)] = string(result)
}

// serving is a node of a chain with a first block, at a head.
func serving(genesis, answer string, head nodegate.Head) *script {
	return &script{head: head, answer: func(_ context.Context, name, params string) (string, error) {
		if name == "eth_getBlockByNumber" && params == `["0x0",false]` {
			return `{"number":"0x0","hash":` + genesis + `}`, nil
		}
		return answer, nil
	}}
}

// TestSecond: one server asks a node, and another one finds the answer if it is final.
func TestSecond(t *testing.T) {
	head := nodegate.Head{Number: 100, Finalized: 90, Fork: 1}
	behind := nodegate.Head{Number: 99, Finalized: 80, Fork: 1}
	in := func(number string) string {
		return `{"blockHash":` + hashB + `,"blockNumber":"` + number + `"}`
	}
	for _, c := range []struct {
		what, name, params, answer string
		head                       nodegate.Head // of the second server
		genesis                    string
		network                    string
		found                      bool
	}{
		{"a constant", "eth_chainId", `[]`, `"0x1"`, head, hashA, "n", true},
		{"a final block", "eth_call", `[{},"0x5a"]`, `"0x1"`, head, hashA, "n", true},
		{"a final block for the first server only", "eth_call", `[{},"0x5a"]`, `"0x1"`, behind, hashA, "n", false},
		{"another chain", "eth_call", `[{},"0x5a"]`, `"0x1"`, head, hashB, "n", false},
		{"another network", "eth_call", `[{},"0x5a"]`, `"0x1"`, head, hashA, "m", false},
		{"a block near the head", "eth_call", `[{},"0x5b"]`, `"0x1"`, head, hashA, "n", false},
		{"a final receipt", receipt, `[` + hashB + `]`, in("0x5a"), head, hashA, "n", true},
		{"a final receipt for the first server only", receipt, `[` + hashB + `]`, in("0x5a"), behind, hashA, "n", false},
		{"a receipt near the head", receipt, `[` + hashB + `]`, in("0x5b"), head, hashA, "n", false},
		{"null", receipt, `[` + hashB + `]`, "null", head, hashA, "n", false},
		{"a price", "eth_gasPrice", `[]`, `"0x1"`, head, hashA, "n", false},
		{"logs", "eth_getLogs", `[{"fromBlock":"0x1","toBlock":"0x5a"}]`, `[]`, head, hashA, "n", true},
	} {
		store := &shelf{kept: map[string]string{}}
		first := New(serving(hashA, c.answer, head), Config{Network: "n", Bytes: 1 << 20, Shared: store})
		if _, trace := ask(t, first, c.name, c.params); trace.Cache != nodegate.CacheMiss {
			t.Errorf("%s: the first server: %q", c.what, outcome(trace))
		}
		second := New(serving(c.genesis, c.answer, c.head), Config{Network: c.network, Bytes: 1 << 20, Shared: store})
		got, trace := ask(t, second, c.name, c.params)
		if got != c.answer || (trace.Cache == nodegate.CacheHit) != c.found {
			t.Errorf("%s: the second server: %s, %q", c.what, got, outcome(trace))
		}
		if !c.found {
			continue
		}
		before := store.gets
		if _, trace := ask(t, second, c.name, c.params); trace.Cache != nodegate.CacheHit || store.gets != before {
			t.Errorf("%s: once more: %q, and the second level was asked %d times", c.what, outcome(trace), store.gets-before)
		}
	}
}

// TestUnknownChain: a node that doesn't tell the first block is asked for it now and
// then, and until it does nothing is shared.
func TestUnknownChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		node := serving("null", `"0x1"`, nodegate.Head{Number: 100, Finalized: 90})
		store := &shelf{kept: map[string]string{}}
		c := New(node, Config{Bytes: 0, Shared: store})
		for range 5 {
			ask(t, c, "eth_chainId", `[]`)
		}
		if node.count() != 6 || len(store.kept) != 0 || store.gets != 0 {
			t.Errorf("%d calls, %d gets, kept %v", node.count(), store.gets, store.kept)
		}
		node.answer = serving(hashA, `"0x1"`, node.head).answer
		time.Sleep(askAgain)
		ask(t, c, "eth_chainId", `[]`)
		if _, trace := ask(t, c, "eth_chainId", `[]`); trace.Cache != nodegate.CacheHit || len(store.kept) != 1 {
			t.Errorf("%q, kept %v", outcome(trace), store.kept)
		}
	})
}
