package nodes_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// noLedger keeps a network's ledger from answering what a test wants nodes to answer.
const noLedger = "    ledger: {blocks: 0}\n"

// network is the YAML of one with nodes. It has a ledger only if the test says something of it.
func network(name, more string, urls ...string) string {
	if !strings.Contains(more, "ledger:") {
		more += noLedger
	}
	s := "  - name: " + name + "\n" + more + "    nodes:\n"
	for i, url := range urls {
		s += fmt.Sprintf("      - {name: n%d, url: %q}\n", i, url)
	}
	return s
}

// TestReload changes the nodes under a stream of requests, of which none may fail.
func TestReload(t *testing.T) {
	one, two := harness.Start(t, nil), harness.Start(t, nil)
	a, b := one.URL("devnet", key), two.URL("devnet", key)
	f := startFront(t, "networks:\n"+network("main", "", a))
	f.ready(t)
	stop, failed := f.load(t, "main")
	f.reload(t, "networks:\n"+network("main", "", a, b))
	f.reload(t, "networks:\n"+network("main", "", b))
	f.reload(t, "networks:\n"+network("main", "    cache: 1MiB\n", b))
	f.reload(t, "networks:\n"+network("main", "    dialect: standard\n    cache: 0\n", b))
	time.Sleep(50 * time.Millisecond)
	stop()
	if n := failed.Load(); n != 0 {
		t.Errorf("%d requests failed while the nodes changed", n)
	}
	if got := f.call(t, "main", "eth_gasPrice", "[]"); got.result == "" || got.header.Get("X-Cache") != "" {
		t.Errorf("without a cache: %+v", got)
	}
	for _, want := range []string{"networks.main.nodes.n1: new", "networks.main.cache: 64MiB becomes 1MiB", "networks.main.dialect: spec becomes standard", "networks.main.nodes.n0.url: http:"} {
		if !strings.Contains(f.Logs.String(), want) {
			t.Errorf("the log lacks %q", want)
		}
	}
	if strings.Contains(f.Logs.String(), key) {
		t.Errorf("the log holds the key of a node")
	}
}

// load asks a network all the time until it is stopped, and counts what fails.
func (f *front) load(t *testing.T, network string) (stop func(), failed *atomic.Int64) {
	t.Helper()
	failed = new(atomic.Int64)
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-end:
				return
			default:
			}
			a, err := f.try(t.Context(), network, "eth_getBalance", fmt.Sprintf(`["0x%040x","latest"]`, i))
			if err != nil || a.result == "" {
				failed.Add(1)
				t.Logf("request %d: %+v %v", i, a, err)
			}
		}
	}()
	return func() { close(end); <-done }, failed
}

// TestReloadNetworks adds and removes networks.
func TestReloadNetworks(t *testing.T) {
	node := harness.Start(t, nil)
	dev, roll := network("main", "", node.URL("devnet", key)), network("roll", "", node.URL("rollup", key))
	f := startFront(t, "default_network: main\nnetworks:\n"+dev)
	f.ready(t)
	f.reload(t, "default_network: roll\nnetworks:\n"+dev+roll)
	if a := f.call(t, "roll", "eth_chainId", "[]"); a.result != `"0x53a"` {
		t.Errorf("the new network answers %+v", a)
	}
	if status, _ := get(t, f.RPC+"/readyz"); status != http.StatusOK {
		t.Errorf("status %d", status)
	}
	f.reload(t, "networks:\n"+roll)
	if a := f.call(t, "main", "eth_chainId", "[]"); a.status != http.StatusNotFound {
		t.Errorf("the removed network answers %+v", a)
	}
	if a := f.call(t, "roll", "eth_chainId", "[]"); a.result != `"0x53a"` {
		t.Errorf("the network that stayed answers %+v", a)
	}
}

// TestReloadNeedsRestart: what can't change is named, once for each reload, and what
// can is done nevertheless.
func TestReloadNeedsRestart(t *testing.T) {
	node := harness.Start(t, nil)
	f := startFront(t, "networks:\n"+network("main", "", node.URL("devnet", key)))
	f.ready(t)
	f.reload(t, "limits: {batch_items: 7}\ncosts: {eth_chainId: 6}\nnetworks:\n"+network("main", "", node.URL("devnet", key))+"  - {name: dev, embedded: {}}\n")
	log := f.Logs.String()
	for _, want := range []string{
		`msg="configuration change needs a restart" change="limits.batch_items: 1000 becomes 7"`,
		`msg="configuration change needs a restart" change="networks.dev: new, an embedded chain"`,
		`msg="configuration changed" change="costs.eth_chainId: 5 becomes 6"`,
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %s:\n%s", want, log)
		}
	}
	if a := f.call(t, "dev", "eth_chainId", "[]"); a.status != http.StatusNotFound {
		t.Errorf("the network that waits for a restart answers %+v", a)
	}
	f.reload(t, "networks:\n"+network("main", "", node.URL("devnet", key)))
	if got := f.Logs.String()[len(log):]; strings.Contains(got, "restart") || !strings.Contains(got, "costs.eth_chainId: 6 becomes 5") {
		t.Errorf("back at the start it says:\n%s", got)
	}
}

// TestReloadPlans: other limits of a plan hold at once, and so does another plan of an
// account. One whose plan is gone gets the default plan.
func TestReloadPlans(t *testing.T) {
	spender := credential.NewKey()
	yaml := func(rest string) string { return rest + "networks:\n  - {name: dev, embedded: {}}\n" }
	plans := func(small string) string {
		return yaml("costs: {eth_chainId: 60000}\ndefault_plan: large\nplans:\n  large: {}\n  free: {}\n" + small)
	}
	f := startFront(t, plans("  small: {credits_per_day: 100000}\n"))
	if err := f.AddKey("spender", "small", spender, "", nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	expect := func(when string, status int) {
		t.Helper()
		if a := f.callAs(t, spender, "dev", "eth_chainId", "[]"); a.status != status {
			t.Errorf("%s: %+v, want status %d", when, a, status)
		}
	}
	expect("at first", http.StatusOK)
	expect("beyond the day's credits", http.StatusPaymentRequired)
	f.reload(t, plans("  small: {credits_per_day: 150000}\n"))
	expect("with more credits", http.StatusOK)
	expect("beyond those", http.StatusPaymentRequired)
	f.reload(t, plans(""))
	expect("without the plan", http.StatusOK)
	f.reload(t, plans("  small: {credits_per_day: 150000}\n"))
	expect("with the plan again", http.StatusPaymentRequired)
	if err := f.Server.Control().Accounts.SetPlan(t.Context(), nodegate.Actor{Name: "test"}, "a-spender", "large"); err != nil {
		t.Fatal(err)
	}
	expect("on another plan", http.StatusOK)
	for _, want := range []string{
		`msg="configuration changed" change="plans.small.credits_per_day: 100000 becomes 150000"`,
		`msg="configuration changed" change="plans.small: gone, was a plan"`, "an account's plan is not configured; it gets the default plan",
	} {
		if !strings.Contains(f.Logs.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
	if strings.Contains(f.Logs.String(), "needs a restart") {
		t.Error("a change of a plan waits for a restart")
	}
}

// TestReloadEmbeddedCache: the cache before an embedded chain gets another size at once;
// whether there is one is settled at the start.
func TestReloadEmbeddedCache(t *testing.T) {
	yaml := func(cache string) string { return "networks:\n  - {name: dev, embedded: {}, cache: " + cache + "}\n" }
	f := startFront(t, yaml("4MiB"))
	kept := func() (answers string) {
		_, page := get(t, f.Admin+"/metrics")
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, `nodegate_cache_bytes{`) && strings.Contains(line, `"dev"`) {
				answers = strings.Fields(line)[1]
			}
		}
		return answers
	}
	fills := func(expected func(bytes float64) bool) {
		t.Helper()
		for i := range 200 {
			f.call(t, "dev", "eth_getBalance", fmt.Sprintf(`["0x%040x","0x1"]`, i))
		}
		for end := time.Now().Add(20 * time.Second); !expected(number(t, kept())); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(end) { // what doesn't fit falls out beside the calls
				t.Fatalf("%s bytes are kept", kept())
			}
		}
	}
	fills(func(bytes float64) bool { return bytes >= 10_000 })
	f.reload(t, yaml("4KiB"))
	fills(func(bytes float64) bool { return bytes <= 5_000 })
	f.reload(t, yaml("0"))
	for _, want := range []string{
		`msg="configuration changed" change="networks.dev.cache: 4MiB becomes 4KiB"`,
		`msg="configuration change needs a restart" change="networks.dev.cache: 4KiB becomes 0`,
	} {
		if !strings.Contains(f.Logs.String(), want) {
			t.Errorf("the log lacks %s", want)
		}
	}
}

func number(t *testing.T, text string) float64 {
	t.Helper()
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestReady: a network without a node is not ready, on both listeners, and its calls
// are refused with 503 until a node is there. The server is: its other networks work.
func TestReady(t *testing.T) {
	node := harness.Start(t, nil)
	var up atomic.Bool
	gate := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !up.Load() {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		http.Redirect(w, r, "/never", http.StatusTemporaryRedirect)
	}))
	defer gate.Close()
	f := startFront(t, "networks:\n"+network("main", "", gate.URL)+"  - {name: dev, embedded: {}}\n")
	f.ready(t)
	for _, base := range []string{f.RPC, f.Admin} {
		for path, want := range map[string]string{
			"": "200 ok", "/dev": "200 ok", "/storage": "200 ok", "/main": "503 not ready: network main has no node", "/other": "404 no network or service is named other",
		} {
			status, body := get(t, base+"/readyz"+path)
			if got := fmt.Sprintf("%d %s", status, strings.TrimSpace(body)); got != want {
				t.Errorf("%s/readyz%s says %s, want %s", base, path, got, want)
			}
		}
	}
	if a := f.call(t, "main", "eth_gasPrice", "[]"); a.status != http.StatusServiceUnavailable || !strings.HasPrefix(a.error, "no node available") {
		t.Errorf("a call is answered with %+v", a)
	}
	if a := f.call(t, "dev", "eth_chainId", "[]"); a.status != http.StatusOK {
		t.Errorf("the other network answers %+v", a)
	}
	f.reload(t, "networks:\n"+network("main", "", node.URL("devnet", key))+"  - {name: dev, embedded: {}}\n")
	f.await(t, "/readyz/main")
	if a := f.call(t, "main", "eth_gasPrice", "[]"); a.status != http.StatusOK {
		t.Errorf("with a node: %+v", a)
	}
}

// TestRemoteOnly: without an embedded network no chain is opened.
func TestRemoteOnly(t *testing.T) {
	node := harness.Start(t, nil)
	f := startFront(t, "networks:\n"+network("main", "", node.URL("devnet", key)))
	f.ready(t)
	if !strings.Contains(f.Logs.String(), "embedded=0 remote=1") {
		t.Errorf("the start logs:\n%s", f.Logs)
	}
	if status, body := get(t, f.Admin+"/nodes"); status != http.StatusOK || !strings.Contains(body, `"name":"n0"`) || strings.Contains(body, key) {
		t.Errorf("/nodes says %d %s", status, body)
	}
}

// TestDrain: requests that wait for a node when the server is told to end are answered.
func TestDrain(t *testing.T) {
	node := harness.Start(t, nil)
	slow := slowNode(t, node.URL("devnet", key), 300*time.Millisecond)
	cfg := "networks:\n" + network("main", "    cache: 0\n", slow)
	f := &front{}
	file := startFile(t, cfg)
	loaded := load(t, file)
	var err error
	if f.Service, err = harness.Launch(t.TempDir(), func(c *config.Config) { *c = *loaded }); err != nil {
		t.Fatal(err)
	}
	f.ready(t)
	const requests = 20
	results := make(chan answer, requests)
	var sent atomic.Int64
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{WroteRequest: func(httptrace.WroteRequestInfo) { sent.Add(1) }})
	for i := range requests {
		go func() {
			a, err := f.try(ctx, "main", "eth_getBalance", fmt.Sprintf(`["0x%040x","latest"]`, i))
			if err != nil {
				a.error = err.Error()
			}
			results <- a
		}()
	}
	for end := time.Now().Add(20 * time.Second); sent.Load() < requests && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // they wait for the node now
	if err := f.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	for range requests {
		if a := <-results; a.result == "" {
			t.Errorf("a request was dropped: %+v", a)
		}
	}
}
