package storage_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/dbtest"
)

// The nodes behind the engine kubo are servers of our own here, whose gateway speaks
// Kubo's API. With KUBO_API=URL the scripts run over that node instead.

// asNode is a tenant as an endpoint of the engine kubo.
func (n *tenant) asNode() config.KuboEndpoint {
	basic := base64.StdEncoding.EncodeToString([]byte(n.key + ":" + n.secret))
	return config.KuboEndpoint{URL: n.base, Headers: map[string]config.Secret{"Authorization": config.Secret("Basic " + basic)}}
}

// overKubo is the configuration of a server in front of nodes.
func overKubo(nodes ...config.KuboEndpoint) func(*config.Config) {
	return func(c *config.Config) {
		c.Storage.Engine, c.Storage.Kubo.Endpoints = "kubo", nodes
	}
}

// both makes two changes to a configuration.
func both(a, b func(*config.Config)) func(*config.Config) {
	return func(c *config.Config) { a(c); b(c) }
}

// Every script has the same answers over the engine kubo.
func TestKuboScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	node := config.KuboEndpoint{URL: os.Getenv("KUBO_API")}
	if node.URL == "" {
		node = start(t, nil).tenant(t, "node", "unlimited").asNode()
	}
	s := start(t, both(overKubo(node), func(c *config.Config) { c.Storage.Gateway = "keys" }))
	for _, name := range files {
		base := strings.TrimSuffix(filepath.Base(name), ".txt")
		t.Run(base, func(t *testing.T) {
			players := map[string]*tenant{}
			for _, p := range readScript(t, name) {
				n := players[p.tenant]
				if n == nil {
					n = s.tenant(t, base+"-"+p.tenant, "unlimited")
					players[p.tenant] = n
				}
				if got := play(t, n, p); !matches(p.want, got) {
					t.Errorf("line %d: --> %s %s\n%s\nwant\n%s", p.line, p.method, p.to, strings.Join(got, "\n"), strings.Join(p.want, "\n"))
				}
			}
		})
	}
}

// Large files, a large directory and a range come back through both servers.
func TestKuboLarge(t *testing.T) {
	node := newTenant(t).asNode()
	n := start(t, overKubo(node)).tenant(t, "large", "unlimited")
	content := pattern(7, 20<<20)
	id := n.add(t, "", file("large", content))[0]
	if got := n.ok(t, "cat?arg="+id); got != string(content) {
		t.Errorf("%d bytes came back", len(got))
	}
	if got := n.ok(t, "cat?arg="+id+"&offset=5000000&length=300000"); got != string(content[5000000:5300000]) {
		t.Errorf("%d bytes of a range came back", len(got))
	}
	var parts []part
	for i := range 500 {
		parts = append(parts, file(fmt.Sprintf("many/%d", i), pattern(i+10, 2000)))
	}
	list := n.add(t, "", parts...)
	root := list[len(list)-1]
	if got := n.ok(t, "cat?arg="+root+"/317"); got != string(pattern(327, 2000)) {
		t.Errorf("%d bytes of a file in a directory came back", len(got))
	}
	single := make([]part, 300)
	for i := range single {
		single[i] = file(fmt.Sprint("single", i), pattern(i+1000, 500))
	}
	n.add(t, "", single...)
	if got := len(n.pins(t)); got != 302 {
		t.Errorf("%d pins, want 302", got)
	}
}

// tampering is a proxy that changes answers of a node.
func tampering(t *testing.T, node config.KuboEndpoint, change func(w http.ResponseWriter, req *http.Request, next http.Handler)) config.KuboEndpoint {
	t.Helper()
	to, err := url.Parse(node.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) { change(w, req, proxy) }))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	return config.KuboEndpoint{URL: s.URL, Headers: node.Headers}
}

// A file whose end is damaged, missing or breaks off on its node is never a whole
// answer: the connection breaks off, and no wrong byte was sent.
func TestKuboBrokenInTheMiddle(t *testing.T) {
	content := pattern(3, 3<<20)
	for name, answer := range map[string]http.HandlerFunc{
		"wrong bytes": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 262158)) },
		"missing": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, `{"Message":"block was not found locally (offline): ipld: could not find it","Code":0,"Type":"error"}`)
		},
		"an error behind the bytes": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Trailer", "X-Stream-Error")
			_, _ = io.WriteString(w, "x")
			w.Header().Set("X-Stream-Error", "failed to fetch all nodes")
		},
		"cut": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			broken, seen := false, map[string]bool{}
			node := tampering(t, newTenant(t).asNode(), func(w http.ResponseWriter, req *http.Request, next http.Handler) {
				arg := req.URL.Query().Get("arg")
				mu.Lock()
				fails := broken && strings.HasSuffix(req.URL.Path, "block/get") && len(seen) >= 8 && !seen[arg]
				if !fails {
					seen[arg] = true
				}
				mu.Unlock()
				if fails {
					answer(w, req)
					return
				}
				next.ServeHTTP(w, req)
			})
			n := start(t, overKubo(node)).tenant(t, "reader", "unlimited")
			id := n.add(t, "", file("f", content))[0]
			mu.Lock()
			broken = true
			clear(seen)
			mu.Unlock()
			a := n.do("cat?arg=" + id)
			if a.status == http.StatusOK && a.err == nil {
				t.Fatalf("a whole answer of %d bytes", len(a.body))
			}
			if a.status == http.StatusOK && !bytes.HasPrefix(content, []byte(a.body)) {
				t.Error("wrong bytes were sent")
			}
		})
	}
}

// While no node answers the server says so: 503 to clients, not ready to balancers.
func TestKuboAway(t *testing.T) {
	node, err := launch(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := start(t, overKubo(node.tenant(t, "node", "unlimited").asNode()))
	n := s.tenant(t, "one", "unlimited")
	id := n.add(t, "", file("f", []byte("before")))[0]
	get := func(url string) (int, string) {
		res, err := http.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		return res.StatusCode, string(text)
	}
	if status, _ := get(s.RPC + "/readyz/storage"); status != http.StatusOK {
		t.Errorf("ready: %d", status)
	}
	if err := node.Close(); err != nil {
		t.Fatal(err)
	}
	until := time.Now().Add(20 * time.Second)
	status, text := get(s.RPC + "/readyz/storage")
	for ; status == http.StatusOK && time.Now().Before(until); status, text = get(s.RPC + "/readyz/storage") {
		time.Sleep(100 * time.Millisecond)
	}
	if status != http.StatusServiceUnavailable || !strings.Contains(text, "storage node") {
		t.Errorf("readyz: %d %s", status, text)
	}
	if status, text := get(s.RPC + "/readyz"); status != http.StatusOK {
		t.Errorf("JSON-RPC is not ready because storage is not: %d %s", status, text)
	}
	n.fails(t, "cat?arg="+id, http.StatusServiceUnavailable, "no storage node answers")
	if a := n.upload("add", file("f", []byte("after"))); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("add: %d %s", a.status, a.body)
	}
	if got := n.pins(t); len(got) != 1 { // they are not on the node
		t.Errorf("pins: %v", got)
	}
	if _, text := get(s.Admin + "/metrics"); !strings.Contains(text, `nodegate_storage_node_up{node="1"} 0`) || strings.Contains(text, strings.TrimPrefix(node.base, "http://")) {
		t.Error("the metrics don't tell, or tell too much")
	}
	if strings.Contains(s.Logs.String(), "Basic ") {
		t.Error("the log holds credentials")
	}
}

// onPostgres puts a server's accounts and pins into a database.
func onPostgres(dsn string) func(*config.Config) {
	return func(c *config.Config) {
		c.Store.Postgres, c.Pepper = config.Secret(dsn), "0123456789abcdef0123456789abcdef"
	}
}

// Two servers on one Postgres and one node are one storage: pins are seen by both,
// the quota holds over both, and nobody takes away what another account pins.
func TestKuboTwoServers(t *testing.T) {
	dsn := dbtest.Postgres(t)
	node := newTenant(t).asNode()
	small := func(c *config.Config) {
		c.Storage.Undo = 0
		c.Plans["small"] = config.Plan{StoredBytes: 100_000}
	}
	first := start(t, both(both(overKubo(node), onPostgres(dsn)), small))
	second := start(t, both(both(overKubo(node), onPostgres(dsn)), small))
	a := first.tenant(t, "two-a", "unlimited")
	a2 := &tenant{second, a.name, a.key, a.secret}
	b2 := second.tenant(t, "two-b", "unlimited")

	content := []byte("seen by both servers")
	id := a.add(t, "pin-name=mine", file("f", content))[0]
	if got := a2.pins(t)[id].Name; got != "mine" {
		t.Errorf("the pin's name on the other server is %q", got)
	}
	if got := a2.ok(t, "cat?arg="+id); got != string(content) {
		t.Errorf("the other server reads %q", got)
	}
	b2.add(t, "", file("f", content))
	a2.ok(t, "pin/rm?arg="+id)
	if len(a.pins(t)) != 0 {
		t.Error("the first server has a pin that the second one took off")
	}
	collectOn(t, first)
	collectOn(t, second)
	if got := b2.pins(t); len(got) != 1 || b2.ok(t, "cat?arg="+id) != string(content) {
		t.Errorf("the other account's pins: %v", got)
	}

	c := first.tenant(t, "two-c", "small")
	c2 := &tenant{second, c.name, c.key, c.secret}
	var wait sync.WaitGroup
	for i, n := range []*tenant{c, c2, c, c2, c, c2, c, c2} {
		wait.Go(func() {
			if r := n.upload("add", file("f", pattern(i+50, 40_000))); r.status != http.StatusOK && r.status != http.StatusRequestEntityTooLarge {
				t.Errorf("%d %s", r.status, r.body)
			}
		})
	}
	wait.Wait()
	if got := len(c.pins(t)); got != 2 {
		t.Errorf("%d uploads passed, want the two that fit", got)
	}
}

// collectOn has a server collect, as nodegate gc does.
func collectOn(t *testing.T, s *service) (report struct{ Pins, Loose int }) {
	t.Helper()
	res, err := http.Post(s.Admin+"/storage/gc", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || json.NewDecoder(res.Body).Decode(&report) != nil {
		t.Fatalf("gc: %d", res.StatusCode)
	}
	return report
}

// What nobody pins any more is unpinned on the node, by a running server and by the
// command beside none.
func TestKuboCollects(t *testing.T) {
	node := start(t, nil).tenant(t, "node", "unlimited")
	var cfg *config.Config
	s, err := launch(t.TempDir(), both(overKubo(node.asNode()), func(c *config.Config) { c.Storage.Undo, cfg = 0, c }))
	if err != nil {
		t.Fatal(err)
	}
	n := s.tenant(t, "one", "unlimited")
	id := n.add(t, "", file("f", []byte("let go")))[0]
	kept := n.add(t, "", file("f", []byte("kept")))[0]
	n.ok(t, "pin/rm?arg="+id)
	if r := collectOn(t, s); r.Pins != 1 {
		t.Errorf("collected %+v", r)
	}
	if got := node.pins(t); len(got) != 1 || got[kept].Type != "recursive" {
		t.Errorf("the node's pins: %v", got)
	}
	n.ok(t, "pin/rm?arg="+kept)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for _, dryRun := range []bool{true, false} {
		if r, err := server.Collect(t.Context(), cfg, slog.New(slog.DiscardHandler), dryRun); err != nil || r.Pins != 1 || r.Bytes == 0 {
			t.Errorf("collected %+v, %v", r, err)
		}
		if got := len(node.pins(t)); (got == 0) == dryRun {
			t.Errorf("a dry run %v leaves %d pins", dryRun, got)
		}
	}
}
