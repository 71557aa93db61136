package nodes_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestLedgerByDefault: a network of nodes has a ledger without a word about it in the file,
// and none if one of its nodes has a budget, or a setting turns it off.
func TestLedgerByDefault(t *testing.T) {
	node := presets(t)
	const plain = "  - name: %s\n    dialect: standard\n    namespaces: [debug]\n%s    nodes: [{url: %q%s}]\n"
	all, cheap := countCalls(t, node.URL("dev", key)), countCalls(t, node.URL("dev", key))
	last := height(t, node, "dev")
	yaml := "networks:\n" + fmt.Sprintf(plain, "main", "", all.url, "") +
		fmt.Sprintf(plain, "off", noLedger, cheap.url, "") + fmt.Sprintf(plain, "metered", "", cheap.url, ", credits_per_day: 1000000")
	f := startFront(t, yaml)
	f.ready(t)
	f.untilLedger(t, "main", last)
	f.same(t, "main", node, "dev", 0, last)
	asked, _ := cheap.take()
	for call := range asked {
		if strings.HasSuffix(call, ",true]") || strings.HasPrefix(call, "eth_getBlockReceipts") {
			t.Errorf("a block is fetched for a network without a ledger: %s", call)
		}
	}
	for _, network := range []string{"off", "metered"} {
		if got := f.call(t, network, "eth_getBlockByNumber", `["0x1",true]`); got.result == "" || got.header.Get("X-Cache") == "ledger" || got.header.Get("X-Verified") != "header; agreed=1" {
			t.Errorf("%s: %.60s %v", network, got.result, got.header)
		}
	}
	f.reload(t, "networks:\n"+fmt.Sprintf(plain, "main", noLedger, all.url, ""))
	if got := f.call(t, "main", "eth_getBlockByNumber", `["0x1",true]`); got.result == "" || got.header.Get("X-Cache") == "ledger" {
		t.Errorf("after it was turned off: %.60s %v", got.result, got.header)
	}
}
