package nodes_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
)

// shownLog is what a query can ask for.
type shownLog struct {
	Address, BlockHash string
	Topics             []string
}

// logQueries are queries of a range of blocks: all of it and parts, by every address, every
// topic at its place, both, lists of them, and every block by its hash.
func logQueries(t *testing.T, node *front, network string, first, last uint64) (list []string) {
	t.Helper()
	var logs []shownLog
	whole := fmt.Sprintf(`"fromBlock":"%#x","toBlock":"%#x"`, first, last)
	if err := json.Unmarshal([]byte(node.call(t, network, "eth_getLogs", "[{"+whole+"}]").result), &logs); err != nil || len(logs) == 0 {
		t.Fatalf("%s has the logs %v: %v", network, logs, err)
	}
	seen := map[string]bool{}
	add := func(query string) {
		if !seen[query] {
			seen[query] = true
			list = append(list, "[{"+query+"}]")
		}
	}
	add(whole)
	add(whole + `,"address":"0x00000000000000000000000000000000000000ee"`)
	for n := first; n <= last; n++ {
		add(fmt.Sprintf(`"fromBlock":"%#x","toBlock":"%#x"`, n, n))
		add(fmt.Sprintf(`"fromBlock":"%#x","toBlock":"%#x"`, n, last))
		var b struct{ Hash string }
		if err := json.Unmarshal([]byte(node.call(t, network, "eth_getBlockByNumber", fmt.Sprintf(`["%#x",false]`, n)).result), &b); err != nil {
			t.Fatal(err)
		}
		add(`"blockHash":"` + b.Hash + `"`)
	}
	add(`"fromBlock":"latest"`)
	add(fmt.Sprintf(`"fromBlock":"%#x"`, last-2))
	for _, l := range logs {
		add(whole + `,"address":"` + l.Address + `"`)
		add(`"blockHash":"` + l.BlockHash + `","address":["` + l.Address + `"]`)
		for at, topic := range l.Topics {
			before := strings.Repeat("null,", at)
			add(whole + `,"topics":[` + before + `"` + topic + `"]`)
			add(whole + `,"address":["` + l.Address + `","` + logs[0].Address + `"],"topics":[` + before + `["` + topic + `","` + topic[:64] + `00"]]`)
		}
	}
	return list
}

// sameLogs compares the ledger's answers to queries with the node's, byte by byte.
func (f *front) sameLogs(t *testing.T, network string, node *front, of string, queries []string) {
	t.Helper()
	for _, q := range queries {
		want, got := node.call(t, of, "eth_getLogs", q), f.call(t, network, "eth_getLogs", q)
		if got.result != want.result || want.result == "" {
			t.Fatalf("%s\nis   %s\nwant %s", q, got.result, want.result)
		}
		if got.header.Get("X-Cache") != "ledger" || got.header.Get("X-Verified") != "roots; agreed=1" {
			t.Fatalf("%s is answered with X-Cache %q and X-Verified %q", q, got.header.Get("X-Cache"), got.header.Get("X-Verified"))
		}
	}
}

// TestLedgerLogs: queries for all logs of both built-in chains have the bytes that the node
// answers with, and the node is asked for none of them.
func TestLedgerLogs(t *testing.T) {
	node := presets(t)
	for name, first := range map[string]uint64{"dev": 0, "rollup": 13} {
		t.Run(name, func(t *testing.T) {
			c := countCalls(t, node.URL(name, key))
			f := startFront(t, "networks:\n"+network("main", withLedger, c.url))
			f.ready(t)
			last := height(t, node, name)
			f.untilLedger(t, "main", last)
			c.take()
			queries := logQueries(t, node, name, first, last)
			f.sameLogs(t, "main", node, name, queries)
			t.Logf("%d queries have the node's bytes", len(queries))
			if all, _ := c.take(); len(all) > 0 {
				t.Errorf("queries were passed on: %v", all)
			}
		})
	}
}

// TestLedgerWideLogs: the widest range that nodes are asked for doesn't bound one that the
// ledger covers. The number of results is bounded all the same.
func TestLedgerWideLogs(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("rollup", key))
	f := startFront(t, "limits: {log_blocks: 4, log_results: 100}\nnetworks:\n"+network("main", withLedger, c.url)+network("plain", "    dialect: standard\n", c.url))
	f.ready(t)
	last := height(t, node, "rollup")
	f.untilLedger(t, "main", last)
	c.take()
	wide := fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"%#x"}]`, last-20, last)
	f.sameLogs(t, "main", node, "rollup", []string{wide, fmt.Sprintf(`[{"fromBlock":"%#x","toBlock":"latest"}]`, last-20)})
	for network, q := range map[string]string{"plain": wide, "main": fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, last)} {
		if got := f.call(t, network, "eth_getLogs", q); got.result != "" || !strings.Contains(got.error, "spans more than 4 blocks") {
			t.Errorf("%s %s: %+v", network, q, got)
		}
	}
	if all, _ := c.take(); len(all) > 0 {
		t.Errorf("queries were passed on: %v", all)
	}
	few := startFront(t, "limits: {log_blocks: 4, log_results: 1}\nnetworks:\n"+network("main", "    dialect: standard\n    ledger: {blocks: 1000}\n", node.URL("dev", key)))
	few.ready(t)
	top := height(t, node, "dev")
	few.untilLedger(t, "main", top)
	all := fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, top)
	if got := few.call(t, "main", "eth_getLogs", all); got.result != "" || !strings.Contains(got.error, "returns more than 1 results: try fromBlock 0x0, toBlock ") {
		t.Errorf("a query of more logs than the limit: %+v", got)
	}
}

// TestLedgerLogsReorg: after real reorgs the logs are those of the node's chain.
func TestLedgerLogsReorg(t *testing.T) {
	node := presets(t)
	f := startFront(t, "networks:\n"+network("main", withLedger+"    poll: 100ms\n", node.URL("dev", key)))
	f.ready(t)
	for round, depth := range []int{1, 3} {
		base := height(t, node, "dev")
		f.reaches(t, base)
		f.untilLedger(t, "main", base)
		snapshot := node.call(t, "dev", "evm_snapshot", "[]").result
		p := newPayer(t, f, devchain.Accounts()[2+round])
		for i := range depth {
			p.setValue(t, int64(100*depth+i))
			f.reaches(t, base+uint64(i)+1)
		}
		f.untilLedger(t, "main", base+uint64(depth))
		f.sameLogs(t, "main", node, "dev", logQueries(t, node, "dev", base-3, base+uint64(depth)))
		if got := node.call(t, "dev", "evm_revert", "["+snapshot+"]"); got.result != "true" {
			t.Fatalf("evm_revert: %+v", got)
		}
		node.call(t, "dev", "evm_increaseTime", "[100]")
		for range depth + 2 {
			node.call(t, "dev", "evm_mine", "[]")
		}
		f.reaches(t, base+uint64(depth)+2)
		last := height(t, node, "dev")
		f.untilLedger(t, "main", last)
		f.sameLogs(t, "main", node, "dev", logQueries(t, node, "dev", base-3, last))
	}
}
