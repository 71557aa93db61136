package chaos

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// ledgerNow is a ledger on the admin listener's /ledgers.
type ledgerNow struct {
	First, Last, Lag uint64
	Missing          uint64 `json:"backfill_blocks"`
}

// TestLedgerKilled is row 61: a server is killed again and again while its ledger follows a
// chain and fetches older blocks. In the end all blocks are there and proven.
func TestLedgerKilled(t *testing.T) {
	kills := length(2, 30)
	o := begin(t, 61, fmt.Sprintf("kill -9 of a server, %d times, while its ledger follows and fetches older blocks", kills), "all blocks proven, and as the node has them")
	node := startChain(t)
	c := newCaller(t)
	mine := func(blocks int) {
		for range blocks {
			c.must(t, node.rpc("dev"), "evm_mine", "[]")
		}
	}
	mine(300)
	g := startGate(t, fmt.Sprintf("networks:\n  - name: main\n    cache: 0\n    poll: 100ms\n    ledger: {blocks: 10000, backfill: 20}\n    nodes:\n      - {name: n0, url: %q}\n", node.rpc("dev")))
	for range kills {
		mine(2)
		time.Sleep(time.Duration(rand.IntN(700)) * time.Millisecond)
		mine(1)
		g.kill()
		g.again()
	}
	head := c.height(t, node)
	now := g.awaitLedger(head)
	var report struct{ Blocks, Damaged int }
	if err := json.Unmarshal([]byte(g.postPage("/ledgers/main/verify")), &report); err != nil || report.Damaged != 0 || report.Blocks != int(head)+1 {
		t.Errorf("the verification says %+v, %v", report, err)
	}
	for n := range head + 1 {
		params := fmt.Sprintf(`["%#x",true]`, n)
		if got, want := c.must(t, g.rpc("main"), "eth_getBlockByNumber", params), c.must(t, node.rpc("dev"), "eth_getBlockByNumber", params); got != want {
			t.Fatalf("block %d is %.200s, want %.200s", n, got, want)
		}
	}
	o.say("blocks %d to %d, %d proven, %d damaged", now.First, now.Last, report.Blocks, report.Damaged)
}

// height is the newest block of a node.
func (c *caller) height(t *testing.T, node *gate) (n uint64) {
	t.Helper()
	text := c.must(t, node.rpc("dev"), "eth_blockNumber", "[]")
	if _, err := fmt.Sscanf(text[strings.Index(text, "0x"):], "%v", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitLedger waits until the ledger has all blocks up to a height.
func (g *gate) awaitLedger(head uint64) (now ledgerNow) {
	g.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		all := map[string]ledgerNow{}
		if err := json.Unmarshal([]byte(g.page("/ledgers")), &all); err != nil {
			g.t.Fatal(err)
		}
		if now = all["main"]; now.Last >= head && now.Lag == 0 && now.Missing == 0 && now.First == 0 {
			return now
		}
	}
	g.t.Fatalf("the ledger is not complete: %+v", now)
	return now
}

// postPage posts to the admin listener.
func (g *gate) postPage(path string) string {
	g.t.Helper()
	res, err := g.client.Post(g.admin+path, "application/json", nil)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(body)
}
