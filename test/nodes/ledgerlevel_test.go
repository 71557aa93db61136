package nodes_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLedgerRequired: a network that gives verified answers only refuses what the ledger
// doesn't have, and passes on what is not about blocks and state. The levels are counted.
func TestLedgerRequired(t *testing.T) {
	node := presets(t)
	c := countCalls(t, node.URL("dev", key))
	f := startFront(t, "networks:\n"+network("main", withLedger+"    require_verified: roots\n", c.url)+network("plain", withLedger, c.url))
	f.ready(t)
	last := height(t, node, "dev")
	f.untilLedger(t, "main", last)
	f.untilLedger(t, "plain", last)
	c.take()
	f.same(t, "main", node, "dev", last-2, last)
	f.sameLogs(t, "main", node, "dev", []string{fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, last)})
	account := `"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"`
	unknown := `"0x` + strings.Repeat("ab", 32) + `"`
	for _, l := range []lookup{
		{"eth_getBalance", `[` + account + `,"latest"]`}, {"eth_call", `[{"to":` + account + `},"latest"]`}, {"eth_getTransactionReceipt", `[` + unknown + `]`},
		{"eth_getBlockByNumber", `["pending",false]`}, {"eth_getLogs", `[{"blockHash":` + unknown + `}]`}, {"eth_feeHistory", `["0x1","latest",[]]`},
	} {
		got := f.call(t, "main", l.method, l.params)
		if got.result != "" || !strings.HasPrefix(got.error, "this network gives verified answers only") {
			t.Errorf("%s %s: %+v", l.method, l.params, got)
		}
	}
	for _, name := range []string{"eth_chainId", "eth_blockNumber", "eth_gasPrice", "net_version"} {
		if got := f.call(t, "main", name, "[]"); got.result == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if all, _ := c.take(); len(all) > 0 {
		t.Errorf("a node was asked for what it can't prove: %v", all)
	}
	if got := f.call(t, "plain", "eth_getBalance", `[`+account+`,"latest"]`); got.result == "" {
		t.Errorf("without require_verified: %+v", got)
	}
	_, metrics := get(t, f.Admin+"/metrics")
	for _, want := range []string{
		`nodegate_verified_total{level="roots",method="eth_getBlockByNumber",network="main"} `,
		`nodegate_verified_total{level="node",method="eth_getBalance",network="plain"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	if strings.Contains(metrics, `nodegate_verified_total{level="node",method="eth_getBalance",network="main"}`) {
		t.Error("a refused call is counted as answered")
	}
}
