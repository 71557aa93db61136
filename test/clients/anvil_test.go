package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// TestAnvil puts two different clients behind the service: our own embedded node, and
// anvil, which executes and encodes the same chain in its own way. The methods give
// the same answers over both, field by field.
func TestAnvil(t *testing.T) {
	node := startService(t)
	anvil := startAnvil(t, "--fork-url", node.URL("devnet", key), "--no-mining")
	front := harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{remoteNetwork("ours", node.URL("devnet", key)), remoteNetwork("anvil", anvil)}
		c.DefaultNetwork = "ours"
	})
	awaitReady(t, front)
	for _, call := range callsOf(node.facts["devnet"]) {
		ours, theirs := answer(t, front.URL("ours", key), call), answer(t, front.URL("anvil", key), call)
		if strings.Contains(call, "eth_estimateGas") {
			nearly(t, call, ours, theirs)
			continue
		}
		if diff := cmp.Diff(ours, theirs); diff != "" {
			t.Errorf("%s\nover our own node (-) and over anvil (+):\n%s", call, diff)
		}
	}
	if !t.Failed() {
		compatRow(t, "programs", "anvil", optionalVersion(t, "@foundry-rs/anvil-linux-amd64"), "`test/clients/anvil_test.go`: a fork of the devnet, compared with it call by call", "ok")
	}
}

// remoteNetwork is a network with one node and no cache: every answer is the node's.
func remoteNetwork(name, url string) config.Network {
	n := config.Default().Networks[0]
	n.Name, n.Embedded, n.Cache = name, nil, 0
	n.MaxLag = 5
	n.Nodes = []config.Node{{Name: name, URL: config.NodeURL(url), Role: "primary"}}
	return n
}

// callsOf are the nine methods without layer2_estimateGas, which anvil has nothing
// for, on what the chain is known to hold.
func callsOf(f *facts) []string {
	var calls []string
	add := func(method, params string, args ...any) {
		calls = append(calls, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"%s","params":%s}`, method, fmt.Sprintf(params, args...)))
	}
	for _, tx := range f.Transactions {
		add("eth_getTransactionByHash", `["%s"]`, tx.Hash)
		add("eth_getTransactionReceipt", `["%s"]`, tx.Hash)
		add("eth_getTransactionByBlockHashAndIndex", `["%s","%#x"]`, tx.BlockHash, tx.Index)
		add("eth_getBlockReceipts", `["%#x"]`, tx.Block)
	}
	unknown := common.HexToHash("0xdead")
	add("eth_getTransactionByHash", `["%s"]`, unknown)
	add("eth_getTransactionReceipt", `["%s"]`, unknown)
	add("eth_getTransactionByBlockHashAndIndex", `["%s","0x0"]`, unknown)
	add("eth_getBlockReceipts", `["0xffff"]`)
	demo, head := f.Demo.Hex(), f.Head
	for _, block := range []string{"latest", fmt.Sprintf("%#x", head-1)} {
		add("eth_getStorageAt", `["%s","%s","%s"]`, demo, f.Value.Position, block)
		add("eth_getStorageAt", `["%s","%s","%s"]`, demo, f.Balance.Position, block)
		add("eth_getStorageAt", `["%s","0x7","%s"]`, demo, block)
		for _, name := range []string{"value()", "failWithReason()", "failWithPanic()", "nothingOfThisName()"} {
			add("eth_call", `[{"to":"%s","data":"%s"},"%s"]`, demo, selector(name), block)
		}
	}
	add("eth_getProof", `["%s",["%s"],"%#x"]`, demo, f.Value.Position, head)
	add("eth_estimateGas", `[{"from":"%s","to":"%s","value":"0x1"}]`, f.Balance.Owner, f.Balance.Owner)
	add("eth_estimateGas", `[{"from":"%s","to":"%s","data":"%s"}]`, f.Balance.Owner, demo, selector("value()"))
	add("eth_estimateGas", `[{"from":"%s","to":"%s","data":"%s"}]`, f.Balance.Owner, demo, selector("failWithReason()"))
	return calls
}

func selector(signature string) string {
	return fmt.Sprintf("%#x", crypto.Keccak256([]byte(signature))[:4])
}

// answer is what a client sees: the result or the error.
func answer(t *testing.T, url, call string) map[string]any {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(call))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var a map[string]any
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	return a
}

// nearly holds two estimates to each other: the clients search in their own ways, and
// both promise only to be within 1.5 % of what is needed.
func nearly(t *testing.T, call string, ours, theirs map[string]any) {
	t.Helper()
	if ours["error"] != nil || theirs["error"] != nil {
		if diff := cmp.Diff(ours, theirs); diff != "" {
			t.Errorf("%s\nover our own node (-) and over anvil (+):\n%s", call, diff)
		}
		return
	}
	a, b := gas(ours), gas(theirs)
	if a == 0 || b == 0 || float64(max(a, b)) > 1.03*float64(min(a, b)) {
		t.Errorf("%s: %d over our own node, %d over anvil", call, a, b)
	}
}

func gas(a map[string]any) uint64 {
	text, _ := a["result"].(string)
	n, _ := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	return n
}

// startAnvil runs anvil.
func startAnvil(t *testing.T, args ...string) string {
	t.Helper()
	program := foundryTool(t, "anvil")
	return serveOn(t, "anvil", func(port string) *exec.Cmd {
		return exec.CommandContext(t.Context(), program, append([]string{"--port", port, "--silent"}, args...)...)
	}, func(url string) bool {
		res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
		if err != nil {
			return false
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return err == nil && res.StatusCode == http.StatusOK
	})
}

func awaitReady(t *testing.T, s *harness.Service) {
	t.Helper()
	await(t, "the service", func() bool {
		res, err := http.Get(s.RPC + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})
}

// await asks until it is answered, for a minute.
func await(t *testing.T, who string, ready func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for !ready() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s is not ready", who)
		case <-time.After(50 * time.Millisecond):
		}
	}
}
