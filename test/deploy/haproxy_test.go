package deploy

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// patience bounds the wait for HAProxy, which notices within a second.
const patience = time.Minute

// TestHAProxyRuns serves two real servers with the file of deploy/: it goes on with one when the
// other is stopped, WebSockets included, and says so when both are.
func TestHAProxyRuns(t *testing.T) {
	haproxy := tool(t, "haproxy", "haproxy")
	first, stopFirst := small(t)
	second, stopSecond := small(t)
	servers := []*harness.Service{first, second}
	front := run(t, haproxy, servers)
	url := "http://" + front + "/devnet/v3/" + harness.KeyA
	await(t, http.StatusOK, url)
	askSocket(t, "ws://"+front+"/devnet/ws/v3/"+harness.KeyA)
	if err := stopFirst(); err != nil {
		t.Fatal(err)
	}
	await(t, http.StatusOK, url)
	for range 20 {
		if status := post(url); status != http.StatusOK {
			t.Errorf("with one server left the status is %d", status)
		}
	}
	if err := stopSecond(); err != nil {
		t.Fatal(err)
	}
	await(t, http.StatusServiceUnavailable, url)
}

// small is a server with one network and without storage, and what stops it.
func small(t *testing.T) (s *harness.Service, stop func() error) {
	t.Helper()
	s, err := harness.Launch(t.TempDir(), func(c *config.Config) {
		c.Networks = c.Networks[:1]
		c.Storage.Engine = "off"
	})
	if err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceValue(s.Close)
	t.Cleanup(func() { _ = stop() })
	return s, stop
}

// run starts HAProxy on a listener that it inherits, so that no port is guessed.
func run(t *testing.T, haproxy string, servers []*harness.Service) (address string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	file, err := ln.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text := strings.Replace(read(t, "haproxy.cfg"), "bind :8545", "bind fd@3", 1)
	text = strings.Replace(text, "maxconn 20000", "maxconn 100", 1) // the machine may allow few files
	for i, name := range []string{"nodegate-1:8545", "nodegate-2:8545"} {
		text = strings.Replace(text, name, servers[i].Host(), 1)
	}
	text = regexp.MustCompile(`(?m)^ *server nodegate-3 .*$`).ReplaceAllString(text, "")
	cmd := exec.Command(haproxy, "-db", "-f", write(t, "haproxy.cfg", text))
	var out harness.Buffer
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = &out, &out, []*os.File{file}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait()
		if strings.Contains(out.String(), harness.KeyA) {
			t.Error("HAProxy logs a key")
		}
		if t.Failed() {
			t.Logf("HAProxy says:\n%s", &out)
		}
	})
	return ln.Addr().String()
}

const question = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}`

// post is the status of one request on a connection of its own, or 0.
func post(url string) int {
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(question))
	if err != nil {
		return 0
	}
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode
}

// await asks until the status is the wanted one.
func await(t *testing.T, want int, url string) {
	t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		got := post(url)
		if got == want {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the status stays %d, want %d", got, want)
		}
	}
}

// askSocket asks over a WebSocket.
func askSocket(t *testing.T, url string) {
	t.Helper()
	conn, _, err := websocket.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	if err := conn.Write(t.Context(), websocket.MessageText, []byte(question)); err != nil {
		t.Fatal(err)
	}
	if _, answer, err := conn.Read(t.Context()); err != nil || !strings.Contains(string(answer), `"result":"0x`) {
		t.Errorf("%s %v", answer, err)
	}
}
