package clients_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// closer is a node that closes each first socket with the code in its path, behind the
// first subscription, and keeps the next. Code 0 cuts the connection.
type closer struct {
	mu            sync.Mutex
	opened, heard map[string]int // connections and subscriptions by path
}

func (c *closer) count(in map[string]int, path string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	in[path]++
	return in[path]
}

// of returns how often a path was connected and subscribed to.
func (c *closer) of(path string) (opened, heard int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.opened[path], c.heard[path]
}

func (c *closer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	conn, err := websocket.Accept(w, req, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // it may be closed
	path := req.URL.Path
	nth := c.count(c.opened, path)
	for {
		_, data, err := conn.Read(req.Context())
		if err != nil {
			return
		}
		var call struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(data, &call) != nil {
			return
		}
		result := map[string]string{"eth_accounts": `[]`, "eth_subscribe": `"0x1"`}[call.Method]
		if result == "" {
			result = `"0x539"`
		}
		if conn.Write(req.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":`+string(call.ID)+`,"result":`+result+`}`)) != nil {
			return
		}
		if call.Method == "eth_subscribe" {
			if c.count(c.heard, path); nth == 1 {
				time.Sleep(100 * time.Millisecond) // the client reads its answer
				goodbye(conn, path)
				return
			}
		}
	}
}

func goodbye(conn *websocket.Conn, path string) {
	if code, _ := strconv.Atoi(path[strings.LastIndexByte(path, '/')+1:]); code > 0 {
		_ = conn.Close(websocket.StatusCode(code), "see you")
	}
}

// closeCodes are those that a server may say at its restart; 0 is a cut connection.
var closeCodes = []string{"1000", "1001", "1012", "0"}

// TestCloseCodes finds with which code the clients connect again, by themselves.
func TestCloseCodes(t *testing.T) {
	node := &closer{opened: map[string]int{}, heard: map[string]int{}}
	srv := httptest.NewServer(node)
	defer srv.Close()
	names := map[string]string{"viem": "viem", "web3": "web3.js 4", "ethers6": "ethers 6"}
	var sockets []map[string]string
	for library := range names {
		for _, code := range closeCodes {
			sockets = append(sockets, map[string]string{"library": library, "url": "ws" + strings.TrimPrefix(srv.URL, "http") + "/" + library + "/" + code})
		}
	}
	leave(t, "restart.mjs", map[string]any{"sockets": sockets})
	node.rests(len(sockets))
	for library, name := range names {
		row := []string{name}
		for _, code := range closeCodes {
			opened, heard := node.of("/" + library + "/" + code)
			row = append(row, comesBack(opened, heard))
		}
		compatRow(t, "restarts", row...)
		if library != "ethers6" && row[3] == away {
			t.Errorf("%s stays away after 1012", name)
		}
	}
	row := []string{"go-ethereum"}
	for _, code := range closeCodes {
		row = append(row, gethComesBack(t, node, srv.URL, "/geth/"+code))
	}
	compatRow(t, "restarts", row...)
}

// rests waits until all sockets have subscribed, and then until nobody has connected or
// subscribed for thirty times the delay of clients, which take longer on a busy machine.
func (c *closer) rests(sockets int) {
	const delay = 100 * time.Millisecond
	quiet, last := 0, 0
	for end := time.Now().Add(time.Minute); quiet < 30 && time.Now().Before(end); time.Sleep(delay) {
		c.mu.Lock()
		now, all := 0, len(c.heard) == sockets
		for path, n := range c.opened {
			now += n + c.heard[path]
		}
		c.mu.Unlock()
		if quiet++; now != last || !all {
			quiet, last = 0, now
		}
	}
}

func comesBack(opened, heard int) string {
	switch {
	case heard > 1:
		return "connects and subscribes again"
	case opened > 1:
		return "connects again"
	}
	return away
}

const away = "stays away"

// gethComesBack subscribes and calls again, as programs with go-ethereum's client do.
func gethComesBack(t *testing.T, node *closer, base, path string) string {
	t.Helper()
	client, err := rpc.Dial("ws" + strings.TrimPrefix(base, "http") + path)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	sub, err := client.EthSubscribe(t.Context(), make(chan json.RawMessage), "newHeads")
	if err != nil {
		t.Fatal(err)
	}
	select {
	case <-sub.Err():
	case <-time.After(time.Minute):
		t.Fatal("the subscription has not ended")
	}
	var id string
	for range 2 { // the first may find the old connection
		if err = client.CallContext(t.Context(), &id, "eth_chainId"); err == nil {
			break
		}
	}
	if opened, _ := node.of(path); err != nil || opened < 2 {
		return away
	}
	return "ends the subscription, connects again for the next call"
}

// leave runs a script until the test ends, and returns when it says that it is open.
func leave(t *testing.T, script string, input any) {
	t.Helper()
	needNode(t)
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", script)
	cmd.Dir, cmd.Stdin = scriptFolder(t, install(t)), bytes.NewReader(data)
	writePattern(t, cmd.Dir)
	out := new(harness.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = cmd.Process.Kill(), cmd.Wait()
		if t.Failed() {
			t.Logf("%s said: %s", script, out)
		}
	})
	await(t, script, func() bool { return strings.Contains(out.String(), "open") })
}

// writePattern saves the program for ethers that docs/compatibility.md shows. It reads the
// address from its input instead, as all scripts do, and says that it is open.
func writePattern(t *testing.T, dir string) {
	t.Helper()
	page, err := os.ReadFile(compatPage)
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "```js\n")
	code, _, found := strings.Cut(code, "```")
	const address = `"ws://localhost:8545/devnet/ws/v3/$KEY"`
	if !found || !strings.Contains(code, address) {
		t.Fatal("docs/compatibility.md has no program for ethers")
	}
	code = `import { input } from "./harness.mjs";` + "\n" + strings.Replace(code, address, "input.url", 1) + `console.log("open");`
	if err := os.WriteFile(filepath.Join(dir, "pattern.mjs"), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestRestart restarts the service beside viem, web3.js, go-ethereum's client and the
// documented program for ethers: all connect again, viem and ethers with their
// subscriptions, go-ethereum at its next call.
func TestRestart(t *testing.T) {
	dir := t.TempDir()
	first, err := harness.Launch(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	var sockets []map[string]string
	for _, library := range []string{"viem", "web3"} {
		sockets = append(sockets, map[string]string{"library": library, "url": first.WS("devnet", key)})
	}
	leave(t, "restart.mjs", map[string]any{"sockets": sockets})
	leave(t, "pattern.mjs", map[string]any{"url": first.WS("devnet", key)})
	await(t, "subscriptions", func() bool { return strings.Contains(metrics(t, first), subscribed+"3") })
	geth, err := ethclient.Dial(first.WS("devnet", key))
	if err != nil {
		t.Fatal(err)
	}
	defer geth.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := harness.Launch(dir, func(c *config.Config) { c.Listen = first.Host() })
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close() //nolint:errcheck // the test is over
	await(t, "viem, web3.js and ethers after the restart", func() bool {
		m := metrics(t, second)
		return strings.Contains(m, "\nnodegate_websockets 3\n") && strings.Contains(m, subscribed+"2")
	})
	await(t, "go-ethereum after the restart", func() bool { _, err := geth.BlockNumber(t.Context()); return err == nil })
}

const subscribed = `nodegate_rpc_requests_total{method="eth_subscribe",network="devnet",outcome="ok"} `

func metrics(t *testing.T, s *harness.Service) string {
	t.Helper()
	res, err := http.Get(s.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
