package nodes_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// transfer is a transaction of both built-in chains' beginnings.
const transfer = `["0x3135e9ceae2f74d2e709c30df13bd9fadfc401a23198c2ff41665ad0720b425e"]`

var timing = regexp.MustCompile(`^total;dur=[0-9.]+, node;dur=[0-9.]+;desc="geth", cache;desc=miss$`)

// TestExample runs docs/example-nodes.yaml, with our own servers in the place of its
// nodes, and asks all three networks.
func TestExample(t *testing.T) {
	text, err := os.ReadFile("../../docs/example-nodes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var nodes [3]*harness.Service
	for i := range nodes {
		nodes[i] = harness.Start(t, nil)
	}
	yaml := strings.NewReplacer(
		"http://10.0.0.5:8545", nodes[0].URL("devnet", key), "ws://10.0.0.5:8546", nodes[0].WS("devnet", key),
		"http://10.0.0.7:8545", nodes[2].URL("rollup", key), "chain_id: 1 ", "chain_id: 1337 ", "chain_id: 59144", "chain_id: 1338",
	).Replace(string(text))
	if strings.Contains(yaml, "10.0.0.") {
		t.Fatalf("a node of the example is not replaced:\n%s", yaml)
	}
	f := &front{file: filepath.Join(t.TempDir(), "nodegate.yaml")}
	f.write(t, yaml)
	if err := os.WriteFile(filepath.Join(filepath.Dir(f.file), "provider-url"), []byte(nodes[1].URL("devnet", key)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := load(t, f.file)
	f.Service = harness.Start(t, func(c *config.Config) { *c = *cfg })
	f.ready(t)
	for network, want := range map[string]struct{ id, head string }{
		"mainnet": {`"0x539"`, `"0xa"`}, "layer2": {`"0x53a"`, `"0x8c"`}, "devnet": {`"0x539"`, `"0xa"`},
	} {
		if a := f.call(t, network, "eth_chainId", "[]"); a.result != want.id {
			t.Errorf("%s is chain %s (%s), want %s", network, a.result, a.error, want.id)
		}
		if a := f.call(t, network, "eth_blockNumber", "[]"); a.result != want.head {
			t.Errorf("the head of %s is %s (%s)", network, a.result, a.error)
		}
	}
	first, second := f.call(t, "mainnet", "eth_getTransactionReceipt", transfer), f.call(t, "mainnet", "eth_getTransactionReceipt", transfer)
	direct := f.call(t, "devnet", "eth_getTransactionReceipt", transfer)
	if first.result != direct.result || second.result != direct.result || len(direct.result) < 500 {
		t.Errorf("the receipt is %s and then %s; the chain says %s", first.result, second.result, direct.result)
	}
	if !timing.MatchString(first.header.Get("Server-Timing")) || first.header.Get("X-Cache") != "miss" || second.header.Get("X-Cache") != "hit" {
		t.Errorf("the headers are %v and then %v", first.header, second.header)
	}
	if direct.header.Get("X-Cache") != "" || direct.header.Get("Server-Timing") != "" {
		t.Errorf("an embedded chain has headers of nodes: %v", direct.header)
	}
	for _, method := range []string{"layer2_estimateGas", "linea_estimateGas"} {
		a := f.call(t, "layer2", method, `[{"from":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266","to":"0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"}]`)
		if !strings.Contains(a.result, "priorityFeePerGas") {
			t.Errorf("%s: %s %s", method, a.result, a.error)
		}
	}
	if log := f.Logs.String(); !strings.Contains(log, "msg=request network=mainnet method=eth_getTransactionReceipt outcome=ok status=200") || strings.Contains(log, key) {
		t.Errorf("the log of requests lacks the call, or holds the key")
	}
}
