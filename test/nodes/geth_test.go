package nodes_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/rpc/chain/devchain"
	"github.com/nodegate/nodegate/test/harness"
)

// findGeth is the geth of this machine. make full builds the one that tools/geth pins.
func findGeth(t *testing.T) string {
	t.Helper()
	if program, err := exec.LookPath("geth"); err == nil {
		return program
	}
	harness.NeedFull(t)
	program := filepath.Join(t.TempDir(), "geth")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/ethereum/go-ethereum/cmd/geth")
	build.Dir = "../../tools/geth"
	if os.Getenv("NO_INSTALL") != "" {
		build.Env = append(os.Environ(), "GOPROXY=off")
	}
	if out, err := build.CombinedOutput(); err != nil {
		harness.Skip(t, fmt.Sprintf("geth can't be built: %v\n%s", err, out))
	}
	return program
}

// startGeth runs geth with a chain of its own, on which an account of ours has ether.
func startGeth(t *testing.T, fund devchain.Account) (http, ws string) {
	t.Helper()
	program := findGeth(t)
	ports := [3]string{freePort(t), freePort(t), freePort(t)}
	cmd := exec.Command(program, "--dev", "--datadir", t.TempDir(), "--ipcdisable", "--http", "--http.port", ports[0], "--ws", "--ws.port", ports[1],
		"--authrpc.port", ports[2], "--http.api", "eth,net,web3,debug", "--ws.api", "eth,net,web3", "--port", "0", "--nodiscover", "--verbosity", "2")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it ends by the signal
		if t.Failed() {
			t.Logf("geth says:\n%.3000s", said.String())
		}
	})
	http, ws = "http://127.0.0.1:"+ports[0], "ws://127.0.0.1:"+ports[1]
	fundOn(t, http, fund)
	return http, ws
}

func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

// fundOn waits for geth and has its developer's account pay.
func fundOn(t *testing.T, url string, to devchain.Account) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := rpc.DialContext(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var own []string
	for c.CallContext(ctx, &own, "eth_accounts") != nil && ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	if len(own) == 0 {
		t.Fatal("geth has no account to pay from")
	}
	var hash string
	pay := map[string]string{"from": own[0], "to": to.Address.Hex(), "value": "0x3635c9adc5dea00000"} // 1,000 ether
	if err := c.CallContext(ctx, &hash, "eth_sendTransaction", pay); err != nil {
		t.Fatal(err)
	}
}

// TestStockGeth: behind a geth as its users run it, who has a receipt sees its effects,
// what it answers passes all checks, and filters work.
func TestStockGeth(t *testing.T) {
	account := devchain.Accounts()[0]
	http, ws := startGeth(t, account)
	for name, node := range map[string]string{
		"geth without WebSocket": fmt.Sprintf("{name: geth, url: %q}", http),
		"geth with WebSocket":    fmt.Sprintf("{name: geth, url: %q, ws: %q}", http, ws),
	} {
		t.Run(name, func(t *testing.T) {
			f := startFront(t, "networks:\n  - name: main\n    nodes: ["+node+"]\n")
			f.ready(t)
			filter := f.call(t, "main", "eth_newBlockFilter", `[]`)
			checkFresh(t, []*front{f}, account, name)
			checkWhole(t, f)
			var hashes []string
			changes := f.call(t, "main", "eth_getFilterChanges", `[`+filter.result+`]`)
			if err := json.Unmarshal([]byte(changes.result), &hashes); err != nil || len(hashes) < 2 {
				t.Errorf("the filter has %s %s", changes.result, changes.error)
			}
			if logs := f.Logs.String(); strings.Contains(logs, "eject") {
				t.Errorf("geth was ejected:\n%.2000s", logs)
			}
		})
	}
}

// checkWhole reads the newest block in all ways that are checked by what they show.
func checkWhole(t *testing.T, f *front) {
	t.Helper()
	for method, params := range map[string]string{
		"eth_getBlockByNumber":  `["latest",true]`,
		"eth_getBlockReceipts":  `["latest"]`,
		"eth_getLogs":           `[{"fromBlock":"earliest","toBlock":"latest"}]`,
		"eth_getProof":          `["0x0000000000000000000000000000000000000001",["0x0"],"latest"]`,
		"eth_feeHistory":        `["0x5","latest",[50]]`,
		"eth_getHeaderByNumber": `["latest"]`,
	} {
		if a := f.call(t, "main", method, params); a.result == "" || a.result == "null" {
			t.Errorf("%s: %q %s", method, a.result, a.error)
		}
	}
}
