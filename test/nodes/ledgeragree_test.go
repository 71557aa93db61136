package nodes_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLedgerAgree: two nodes give the hashes of blocks, without a call more than their heads
// take. One is cut off: what both gave stays, and what comes after is the word of one, which
// a network with agree: 2 doesn't take.
func TestLedgerAgree(t *testing.T) {
	node := presets(t)
	a, b := countCalls(t, node.URL("dev", key)), countCalls(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("main", withLedger, a.url, b.url)+network("both", withLedger+"    agree: 2\n", a.url, b.url))
	f.ready(t)
	last := height(t, node, "dev")
	newest := fmt.Sprintf(`["%#x",false]`, last)
	by := func(n int) func(answer) bool {
		return func(a answer) bool { return a.header.Get("X-Verified") == fmt.Sprintf("roots; agreed=%d", n) }
	}
	for _, network := range []string{"main", "both"} {
		f.until(t, network, "eth_getBlockByNumber", newest, by(2))
		f.same(t, network, node, "dev", 0, last)
	}
	b.setCut(true)
	node.call(t, "dev", "evm_mine", "[]")
	f.reaches(t, last+1)
	next := fmt.Sprintf(`["%#x",false]`, last+1)
	f.until(t, "main", "eth_getBlockByNumber", next, by(1))
	for range 5 {
		if got := f.call(t, "both", "eth_getBlockByNumber", next); got.result == "" || got.header.Get("X-Verified") != "header; agreed=1" {
			t.Errorf("a block of one node: %+v", got)
		}
		if got := f.call(t, "both", "eth_getBlockByNumber", newest); !by(2)(got) {
			t.Errorf("a block of both nodes: %+v", got)
		}
	}
	b.setCut(false)
	f.until(t, "both", "eth_getBlockByNumber", next, by(2))
}

// TestLedgerCheckpoint: the ledger of a network whose nodes don't have the operator's block
// answers nothing, and that of one whose nodes have it does.
func TestLedgerCheckpoint(t *testing.T) {
	node := presets(t)
	direct := node.URL("dev", key)
	block := node.call(t, "dev", "eth_getBlockByNumber", `["0x5",false]`).result
	_, hash, _ := strings.Cut(block, `"hash":"`)
	hash, _, _ = strings.Cut(hash, `"`)
	wrong := "0x" + strings.Repeat("5e", 32)
	f := startFront(t, "networks:\n"+network("right", withLedger+"    checkpoint: \"5:"+hash+"\"\n", direct)+network("wrong", withLedger+"    checkpoint: \"5:"+wrong+"\"\n", direct))
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "right", last)
	f.same(t, "right", node, "dev", 0, last)
	if got := f.call(t, "right", "eth_getBlockByNumber", `["0x5",false]`); got.header.Get("X-Verified") != "roots; agreed=1; checkpoint" {
		t.Errorf("X-Verified is %q", got.header.Get("X-Verified"))
	}
	if got := f.call(t, "wrong", "eth_getBlockByNumber", `["0x5",false]`); got.result != block || got.header.Get("X-Cache") == "ledger" {
		t.Errorf("nodes without the checkpoint: %.80s %v", got.result, got.header)
	}
}
