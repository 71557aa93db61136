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
	First, Last, Lag, Blocks uint64
	Missing                  uint64 `json:"backfill_blocks"`
	Fetched                  uint64 `json:"fetched_blocks"` // since the start
}

// TestLedgerKilled is row 61: a server is killed again and again while its ledger follows a
// chain and fetches older blocks. In the end all blocks are there and proven.
func TestLedgerKilled(t *testing.T) {
	kills := length(2, 30)
	o := begin(t, 61, fmt.Sprintf("kill -9 of a server, %d times, while its ledger follows and fetches older blocks", kills), "all blocks proven, and as the node has them; each start goes on where the last one ended")
	node := startChain(t)
	c := newCaller(t)
	mineOn(t, c, node, length(150, 300))
	g := startGate(t, fmt.Sprintf("networks:\n  - name: main\n    cache: 0\n    poll: 100ms\n    ledger: {blocks: 10000, backfill: 20}\n    nodes:\n      - {name: n0, url: %q}\n", node.rpc("dev")))
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the server's log: %s", g.logs)
		}
	})
	g.awaitLedger("has begun", func(l ledgerNow) bool { return l.Blocks >= 20 })
	for range kills {
		mineOn(t, c, node, 2)
		time.Sleep(rand.N(700 * time.Millisecond)) // any moment will do
		mineOn(t, c, node, 1)
		g.kill()
		g.again()
	}
	head := c.height(t, node)
	now := g.awaitLedger("is complete", func(l ledgerNow) bool { return l.First == 0 && l.Last >= head && l.Lag == 0 && l.Missing == 0 })
	if now.Fetched+20 > now.Blocks {
		t.Errorf("%d of %d blocks were fetched after the last start", now.Fetched, now.Blocks)
	}
	checkLedger(t, g, node, c, head)
	o.say("blocks %d to %d proven, 0 damaged; %d of them fetched since the last start", now.First, now.Last, now.Fetched)
}

// checkLedger has a server prove all blocks again, and compares them with the node's.
func checkLedger(t *testing.T, g, node *gate, c *caller, head uint64) {
	t.Helper()
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
}

func mineOn(t *testing.T, c *caller, node *gate, blocks int) {
	t.Helper()
	for range blocks {
		c.must(t, node.rpc("dev"), "evm_mine", "[]")
	}
}

// height is the newest block of a node.
func (c *caller) height(t *testing.T, node *gate) (n uint64) {
	t.Helper()
	text := strings.Trim(c.must(t, node.rpc("dev"), "eth_blockNumber", "[]"), `"`)
	if _, err := fmt.Sscanf(text, "%v", &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// awaitLedger waits until the ledger is as it has to be.
func (g *gate) awaitLedger(what string, holds func(ledgerNow) bool) (now ledgerNow) {
	g.t.Helper()
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		all := map[string]ledgerNow{}
		if err := json.Unmarshal([]byte(g.page("/ledgers")), &all); err != nil {
			g.t.Fatal(err)
		}
		if now = all["main"]; holds(now) {
			return now
		}
	}
	g.t.Fatalf("waited until the ledger %s: %+v", what, now)
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
