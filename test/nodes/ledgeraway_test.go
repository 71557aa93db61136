package nodes_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// until makes a call until its answer is as it should be.
func (f *front) until(t *testing.T, network, method, params string, fine func(answer) bool) answer {
	t.Helper()
	var got answer
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = f.call(t, network, method, params); fine(got) {
			return got
		}
	}
	t.Fatalf("%s %s of %s: %+v", method, params, network, got)
	return got
}

// isOld tells whether an answer shows how old the head is that it goes by.
func isOld(a answer) bool {
	age, err := strconv.Atoi(a.header.Get("X-Head-Age"))
	return err == nil && age >= 10
}

// TestLedgerNodesAway: the only node of two networks is cut off. Lookups and logs inside the
// copy go on with the age of the head. The newest block is told for max_head_age, and refused
// after that. When the node is back, so is everything.
func TestLedgerNodesAway(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("short", withLedger+"    max_head_age: 10s\n", c.url)+network("long", withLedger+"    max_head_age: 1h\n", c.url))
	f.ready(t)
	last := height(t, node, "dev")
	both := []string{"short", "long"}
	for _, n := range both {
		f.untilLedger(t, n, last)
		if got := f.call(t, n, "eth_blockNumber", "[]"); got.result != fmt.Sprintf(`"%#x"`, last) || got.header.Get("X-Head-Age") != "" {
			t.Errorf("%s with a node: %+v", n, got)
		}
	}
	c.setCut(true)
	refused := f.until(t, "short", "eth_blockNumber", "[]", func(a answer) bool { return a.error != "" })
	if refused.status != http.StatusServiceUnavailable || !strings.HasPrefix(refused.error, "no node available: none has reported its newest block for 1") {
		t.Errorf("latest after max_head_age: %+v", refused)
	}
	newest := fmt.Sprintf(`["%#x",false]`, last)
	for _, n := range both {
		f.until(t, n, "eth_getBlockByNumber", newest, isOld)
		f.same(t, n, node, "dev", last-3, last)
		f.sameLogs(t, n, node, "dev", []string{fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, last)})
	}
	for method, params := range map[string]string{"eth_getBlockByNumber": `["latest",false]`, "eth_getLogs": `[{"fromBlock":"0x0","toBlock":"latest"}]`} {
		got, want := f.call(t, "long", method, params), node.call(t, "dev", method, params)
		if got.result != want.result || !isOld(got) || got.header.Get("X-Cache") != "ledger" {
			t.Errorf("%s %s before max_head_age: %+v", method, params, got)
		}
		if got := f.call(t, "short", method, params); got.result != "" || got.error != refused.error && !strings.HasPrefix(got.error, "no node available: none has reported") {
			t.Errorf("%s %s after max_head_age: %+v", method, params, got)
		}
	}
	if got := f.call(t, "long", "eth_blockNumber", "[]"); got.result != fmt.Sprintf(`"%#x"`, last) || !isOld(got) {
		t.Errorf("eth_blockNumber before max_head_age: %+v", got)
	}
	for range 3 {
		node.call(t, "dev", "evm_mine", "[]")
	}
	c.setCut(false)
	for _, n := range both {
		f.until(t, n, "eth_blockNumber", "[]", func(a answer) bool { return a.result == fmt.Sprintf(`"%#x"`, last+3) })
		f.untilLedger(t, n, last+3)
		f.until(t, n, "eth_blockNumber", "[]", func(a answer) bool { return a.header.Get("X-Head-Age") == "" })
		f.same(t, n, node, "dev", last-3, last+3)
	}
}

// TestLedgerStartsAway: a server that starts while its only node can't be reached answers from
// its copy, with the age of the head, and refuses latest. When the node is back it goes on.
func TestLedgerStartsAway(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := &front{file: filepath.Join(t.TempDir(), "nodegate.yaml")}
	f.write(t, "networks:\n"+network("main", withLedger+"    max_head_age: 10s\n", c.url))
	start, stop := f.program(t)
	start()
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	stop()
	c.setCut(true)
	start()
	defer stop()
	newest := fmt.Sprintf(`["%#x",false]`, last)
	f.until(t, "main", "eth_getBlockByNumber", newest, func(a answer) bool { return a.header.Get("X-Head-Age") != "" })
	f.same(t, "main", node, "dev", 0, last)
	f.sameLogs(t, "main", node, "dev", []string{fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, last)})
	if got := f.call(t, "main", "eth_getBlockByNumber", `["latest",false]`); got.status != http.StatusServiceUnavailable {
		t.Errorf("latest without a node: %+v", got)
	}
	node.call(t, "dev", "evm_mine", "[]")
	c.setCut(false)
	f.until(t, "main", "eth_blockNumber", "[]", func(a answer) bool { return a.result == fmt.Sprintf(`"%#x"`, last+1) })
	f.untilLedger(t, "main", last+1)
	f.same(t, "main", node, "dev", 0, last+1)
}
