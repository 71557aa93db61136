package nodes_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
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
		if got.result != "" || !strings.HasPrefix(got.error, "this network only returns verified responses") {
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

// richNode stands before a node and, while rich is set, says that every account holds more than
// it does.
func richNode(t *testing.T, to string) (url string, rich *atomic.Bool) {
	t.Helper()
	rich = new(atomic.Bool)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if rich.Load() && bytes.Contains(body, []byte(`"eth_getBalance"`)) {
			var call struct{ ID json.RawMessage }
			_ = json.Unmarshal(body, &call)
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":"0x5eed5eed"}`, call.ID)
			return
		}
		passOn(w, to, body)
	}))
	t.Cleanup(s.Close)
	return s.URL, rich
}

// TestAgreedRequired: a network that gives what two nodes agree on asks both, tells the level,
// also of what it kept, and gives nothing while they say different things.
func TestAgreedRequired(t *testing.T) {
	node := presets(t)
	direct := node.URL("dev", key)
	a := countCalls(t, direct)
	second, rich := richNode(t, direct)
	b := countCalls(t, second)
	f := startFront(t, "networks:\n"+network("main", "    dialect: standard\n    require_verified: agreed\n    agree: 2\n", a.url, b.url))
	f.ready(t)
	last := height(t, node, "dev")
	balance := func(block uint64) string {
		return fmt.Sprintf(`["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","%#x"]`, block)
	}
	calls := []struct{ method, params, level string }{
		{"eth_getBalance", balance(last), "agreed; agreed=2"},
		{"eth_call", fmt.Sprintf(`[{"to":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"},"%#x"]`, last), "agreed; agreed=2"},
		{"eth_getBlockByNumber", fmt.Sprintf(`["%#x",true]`, last), "header; agreed=2"},
		{"eth_getBlockReceipts", fmt.Sprintf(`["%#x"]`, last), "agreed; agreed=2"},
		{"eth_getLogs", fmt.Sprintf(`[{"fromBlock":"0x0","toBlock":"%#x"}]`, last), "agreed; agreed=2"},
		{"eth_gasPrice", "[]", ""},
	}
	f.until(t, "main", calls[0].method, balance(last-1), func(a answer) bool { return a.result != "" }) // both nodes are known by then
	a.take()
	b.take()
	for _, c := range calls {
		for range 2 {
			got, want := f.call(t, "main", c.method, c.params), node.call(t, "dev", c.method, c.params)
			if got.result != want.result || got.header.Get("X-Verified") != c.level {
				t.Errorf("%s: %.80s %s, X-Verified is %q, want %q", c.method, got.result, got.error, got.header.Get("X-Verified"), c.level)
			}
		}
	}
	for _, node := range []*counter{a, b} {
		all, _ := node.take()
		for _, c := range calls {
			if strings.HasPrefix(c.method, "eth_get") && all[c.method+" "+c.params] != 1 {
				t.Errorf("a node got %s %d times", c.method, all[c.method+" "+c.params])
			}
		}
	}
	rich.Store(true)
	got := f.call(t, "main", "eth_getBalance", balance(last-2))
	if got.result != "" || !strings.Contains(got.error, "needs the same answer from 2 nodes") {
		t.Errorf("with a node that lies: %+v", got)
	}
	rich.Store(false)
	if got, want := f.call(t, "main", "eth_getBalance", balance(last-2)), node.call(t, "dev", "eth_getBalance", balance(last-2)); got.result != want.result {
		t.Errorf("the lie was kept: %+v", got)
	}
	_, metrics := get(t, f.Admin+"/metrics")
	for _, want := range []string{
		`nodegate_verified_total{level="agreed",method="eth_call",network="main"} 2`,
		`nodegate_verified_total{level="header",method="eth_getBlockByNumber",network="main"} 2`,
		`nodegate_node_disagreements_total{network="main",node="n0"} 1`,
		`nodegate_node_disagreements_total{network="main",node="n1"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
}

// TestHeaderRequired: a network that gives blocks whose header was checked gives them from
// nodes, and refuses what has no header.
func TestHeaderRequired(t *testing.T) {
	node := presets(t)
	f := startFront(t, "networks:\n"+network("main", "    dialect: standard\n    require_verified: header\n", node.URL("dev", key))+
		network("plain", "    dialect: standard\n", node.URL("dev", key)))
	f.ready(t)
	last := height(t, node, "dev")
	block := fmt.Sprintf(`["%#x",false]`, last)
	for _, network := range []string{"main", "plain"} {
		for range 2 {
			got, want := f.call(t, network, "eth_getBlockByNumber", block), node.call(t, "dev", "eth_getBlockByNumber", block)
			if got.result != want.result || got.header.Get("X-Verified") != "header; agreed=1" {
				t.Errorf("%s: %.80s %s, X-Verified is %q", network, got.result, got.error, got.header.Get("X-Verified"))
			}
		}
	}
	balance := fmt.Sprintf(`["0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","%#x"]`, last)
	if got := f.call(t, "main", "eth_getBalance", balance); got.result != "" || !strings.Contains(got.error, "header matches their hash") {
		t.Errorf("state without a header: %+v", got)
	}
	if got := f.call(t, "plain", "eth_getBalance", balance); got.result == "" || got.header.Get("X-Verified") != "" {
		t.Errorf("the word of a node: %+v", got)
	}
}
