package nodes_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/smtptest"
	"github.com/nodegate/nodegate/test/tlstest"
)

// hook receives webhooks.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	got    []string // status, kind and subject
	bodies []string
}

func startHook(t *testing.T) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return // the server ends
		}
		var m struct{ Status, Kind, Subject, Text string }
		if err := json.Unmarshal(body, &m); err != nil || m.Text == "" || !strings.HasPrefix(req.Header.Get("X-Nodegate-Signature"), "t=") {
			t.Errorf("%s %v", body, err)
		}
		if strings.Contains(string(body), key) {
			t.Error("an alert holds a key")
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		h.got, h.bodies = append(h.got, m.Status+" "+m.Kind+" "+m.Subject), append(h.bodies, string(body))
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) messages() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.got)
}

// await waits until a message came so many times.
func (h *hook) await(t *testing.T, want string, times int) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		got := h.messages()
		if len(slices.DeleteFunc(slices.Clone(got), func(m string) bool { return m != want })) >= times {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the webhook got %q, and not %d of %q", got, times, want)
		}
	}
}

// alternate wants each problem reported once, and then its end once, however often it comes.
func (h *hook) alternate(t *testing.T, kinds ...string) {
	t.Helper()
	last := map[string]string{}
	for _, m := range h.messages() {
		status, problem, _ := strings.Cut(m, " ")
		kind, _, _ := strings.Cut(problem, " ")
		if slices.Contains(kinds, kind) && status == last[problem] {
			t.Errorf("%q came twice in a row", m)
		}
		last[problem] = status
	}
}

// unsteady stands before a node that can be switched off.
func unsteady(t *testing.T) (address string, down *atomic.Bool) {
	t.Helper()
	node := harness.Start(t, nil)
	target, err := url.Parse(node.URL("devnet", key))
	if err != nil {
		t.Fatal(err)
	}
	down = new(atomic.Bool)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s.URL, down
}

// TestOperatorAlerts: a node that fails, with it its network and its calls, is reported by webhook
// and by mail, and so is its return.
func TestOperatorAlerts(t *testing.T) {
	node, down := unsteady(t)
	received, mails := startHook(t), smtptest.Start(t, smtptest.Config{})
	f := startFront(t, fmt.Sprintf(`
storage: {engine: "off"}
mail: {smtp: "smtp://%s", from: gate@example.com}
alerts: {webhook: "%s/hook?token=x", webhook_secret: sixteen-characters, mail: ops@example.com, after: 2s}
networks:
  - name: main
    nodes: [{name: first, url: %s}]
`, mails.Addr, received.URL, node))
	f.ready(t)
	f.awaitNodes(t, 1)
	down.Store(true)
	received.await(t, "firing node_down main/first", 1)
	received.await(t, "firing network_down main", 1)
	f.failCalls(t)
	received.await(t, "firing error_rate ", 1)
	down.Store(false)
	received.await(t, "resolved node_down main/first", 1)
	received.await(t, "resolved network_down main", 1)
	for end := time.Now().Add(time.Minute); len(mails.Letters()) < 5; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d mails came, want 5", len(mails.Letters()))
		}
	}
	received.alternate(t, "node_down", "network_down", "error_rate")
}

// TestAlertsNameCauses: an alert says why a node is not used in words of our own, as the
// documentation shows it. Whoever runs the webhook learns neither addresses nor what nodes say.
func TestAlertsNameCauses(t *testing.T) {
	talker := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var call struct{ ID json.RawMessage }
		_ = json.NewDecoder(req.Body).Decode(&call)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"pay at https://phish.example"}}`, call.ID)
	}))
	t.Cleanup(talker.Close)
	received := startHook(t)
	f := startFront(t, fmt.Sprintf(`
storage: {engine: "off"}
alerts: {webhook: "%s", webhook_secret: sixteen-characters, after: 2s}
networks:
  - name: main
    nodes:
      - {name: geth-1, url: "http://127.0.0.1:1/v3/secret-path"}
      - {name: geth-2, url: %s}
`, received.URL, talker.URL))
	for _, node := range []string{"geth-1", "geth-2"} {
		received.await(t, "firing node_down main/"+node, 1)
	}
	received.mu.Lock()
	defer received.mu.Unlock()
	all := strings.Join(received.bodies, "\n")
	for _, text := range []string{"127.0.0.1", "secret-path", "dial", "refused", "phish", "error -32000"} {
		if strings.Contains(all, text) {
			t.Errorf("the alerts hold %q:\n%s", text, all)
		}
	}
	if !strings.Contains(all, "geth-2 of the network main is not used: answers with errors.") {
		t.Errorf("no cause of geth-2:\n%s", all)
	}
	if status, state := get(t, f.Admin+"/nodes"); status != http.StatusOK || !strings.Contains(state, "phish") {
		t.Errorf("/nodes doesn't say what the node answers: %s", state)
	}
	holdExample(t, received.bodies[slices.Index(received.got, "firing node_down main/geth-1")])
}

// holdExample wants an alert in the documentation, but for the server's name and the times.
func holdExample(t *testing.T, body string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "alerts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(page), "```json\n")
	example, _, _ = strings.Cut(example, "```")
	var want, got map[string]string
	if err := errors.Join(json.Unmarshal([]byte(example), &want), json.Unmarshal([]byte(body), &got)); err != nil {
		t.Fatal(err)
	}
	got["text"] = strings.TrimSuffix(got["text"], "("+got["server"]+")") + "(" + want["server"] + ")"
	for _, name := range []string{"server", "since", "at"} {
		if got[name] == "" {
			t.Errorf("the alert has no %s", name)
		}
		got[name] = want[name]
	}
	if !maps.Equal(got, want) {
		t.Errorf("the alert is %v\ndocs/alerts.md has %v", got, want)
	}
}

// TestEndlessCallsAreNoErrors: a client that makes an embedded network execute endless calls
// alerts nobody.
func TestEndlessCallsAreNoErrors(t *testing.T) {
	received := startHook(t)
	f := startFront(t, fmt.Sprintf(`
storage: {engine: "off"}
limits: {call_timeout: 10ms}
alerts: {webhook: "%s", webhook_secret: sixteen-characters, after: 1s}
networks: [{name: main, embedded: {}}]
`, received.URL))
	f.ready(t)
	time.Sleep(2 * time.Second)          // the first check has counted the calls before
	const loop = `{"data":"0x5b600056"}` // JUMPDEST PUSH1 0 JUMP
	for range 30 {
		if a := f.call(t, "main", "eth_call", "["+loop+`,"latest"]`); !strings.Contains(a.error, "timed out") {
			t.Fatalf("an endless call: %+v", a)
		}
	}
	time.Sleep(3 * time.Second) // some checks
	if got := received.messages(); len(got) != 0 {
		t.Errorf("operators got %q", got)
	}
}

// failCalls makes calls that fail, in a batch.
func (f *front) failCalls(t *testing.T) {
	t.Helper()
	call := `{"jsonrpc":"2.0","id":1,"method":"` + tracedCall + `","params":["0x0000000000000000000000000000000000000001","latest"]}`
	res, err := http.Post(f.URL("main", key), "application/json", strings.NewReader("["+strings.Repeat(call+",", 39)+call+"]"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Error(err)
	}
	_ = res.Body.Close() // it was read
}

// TestStandingProblems: what is wrong from the start is reported too.
func TestStandingProblems(t *testing.T) {
	dir, received := t.TempDir(), startHook(t)
	cert, private := tlstest.NewAuthority(t).Issue(t)
	for name, text := range map[string]string{"cert": cert, "key": private} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	free, err := disk.Free(dir)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	f := startFront(t, fmt.Sprintf(`
storage: {cert: %s, key: %s, reserve: %d}
alerts: {webhook: "%s", webhook_secret: sixteen-characters, after: 1s, certificate: 8760h}
`, filepath.Join(dir, "cert"), filepath.Join(dir, "key"), free/3*2, received.URL))
	f.ready(t)
	received.await(t, "firing disk_low "+host, 1)
	received.await(t, "firing certificate_expiring storage", 1)
}

// TestAlertsOfTwoServers: one of two servers reports. Each does while their store is away.
func TestAlertsOfTwoServers(t *testing.T) {
	store := dbtest.PostgresServer(t)
	node, down := unsteady(t)
	received := startHook(t)
	for range 2 {
		f := &front{file: filepath.Join(t.TempDir(), "nodegate.yaml")}
		f.write(t, fmt.Sprintf(`
store: {postgres: "%s"}
storage: {engine: "off"}
alerts: {webhook: "%s", webhook_secret: sixteen-characters, after: 4s}
networks:
  - name: main
    nodes: [{name: first, url: %s}]
`, store.DSN, received.URL, node))
		cfg := load(t, f.file)
		cfg.Pepper = "a pepper that both servers of this test have"
		f.Service = harness.Start(t, func(c *config.Config) { *c = *cfg })
		f.ready(t)
		f.awaitNodes(t, 1)
	}
	down.Store(true)
	received.await(t, "firing node_down main/first", 1)
	received.await(t, "firing network_down main", 1)
	down.Store(false)
	received.await(t, "resolved node_down main/first", 1)
	received.await(t, "resolved network_down main", 1)
	received.alternate(t, "node_down", "network_down")
	store.Kill()
	received.await(t, "firing store_unreachable ", 2)
	store.Restart()
	received.await(t, "resolved store_unreachable ", 2)
}
