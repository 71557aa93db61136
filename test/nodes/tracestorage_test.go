package nodes_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/test/harness"
)

// heardKubo stands before a Kubo node. The traceparents that it got are by command.
type heardKubo struct {
	url     string
	mu      sync.Mutex
	parents map[string][]string
}

// startKubo starts a server of our own, whose gateway speaks Kubo's API.
func startKubo(t *testing.T, p *pair) *heardKubo {
	t.Helper()
	node := harness.Start(t, nil)
	if err := node.AddStorageKey("node", "unlimited", p.key, p.secret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	target, err := url.Parse("http" + strings.TrimPrefix(node.Server.Addresses().Storage, "https"))
	if err != nil {
		t.Fatal(err)
	}
	k := &heardKubo{parents: map[string][]string{}}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		k.mu.Lock()
		command := strings.TrimPrefix(req.URL.Path, "/api/v0/")
		k.parents[command] = append(k.parents[command], req.Header.Get("Traceparent"))
		k.mu.Unlock()
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	k.url = s.URL
	return k
}

// got tells whether the node got a command as a part of a trace.
func (k *heardKubo) got(command, trace string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.ContainsFunc(k.parents[command], func(parent string) bool { return strings.HasPrefix(parent, "00-"+trace+"-") })
}

// do makes a request to the storage gateway that is a part of a trace.
func (p *pair) do(t *testing.T, method, address, trace string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.SetBasicAuth(p.key, p.secret)
	req.Header.Set("Traceparent", "00-"+trace+"-"+clientSpan+"-01")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode > 299 {
		t.Fatalf("%s %s: %d %s %v", method, address, res.StatusCode, text, err)
	}
	return string(text)
}

// TestStorageTraces: requests to the read gateway and to the pinning service are traced as commands
// are, and a Kubo node can continue the trace. No node is asked for the list of pins, and none is
// while a pin is removed.
func TestStorageTraces(t *testing.T) {
	p := &pair{credential.NewKey(), strings.Repeat("9876543210", 4)}
	kubo, collector := startKubo(t, p), startReceiver(t)
	headers := filepath.Join(t.TempDir(), "headers")
	basic := "Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(p.key+":"+p.secret)) + "\n"
	if err := os.WriteFile(headers, []byte(basic), 0o600); err != nil {
		t.Fatal(err)
	}
	f := startFront(t, fmt.Sprintf(`
tracing: {url: %s/v1/traces, sample: 0%%, client_traces: 100}
storage: {engine: kubo, gateway: keys, kubo: {endpoints: [{url: %s, headers_file: %s}]}}
networks: [{name: main, embedded: {}}]
`, collector.URL, kubo.url, headers))
	f.ready(t)
	if err := f.AddStorageKey("traced", "unlimited", p.key, p.secret, nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	store := "http" + strings.TrimPrefix(f.Server.Addresses().Storage, "https")
	id := p.stored(t, store)
	if text := p.do(t, http.MethodGet, store+"/ipfs/"+id, clientTrace+"01"); text != "content of a trace" {
		t.Errorf("the content is %q", text)
	}
	collector.holds(t, clientTrace+"01", "storage gateway", "admission", "limits", "command", "storage node")
	if !kubo.got("block/get", clientTrace+"01") {
		t.Errorf("the node didn't get the trace of a read: %q", kubo.parents)
	}
	var list struct {
		Results []struct {
			RequestID string `json:"requestid"`
		}
	}
	text := p.do(t, http.MethodGet, store+"/pins", clientTrace+"02")
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Results) != 1 {
		t.Fatalf("the pins are %s: %v", text, err)
	}
	collector.holds(t, clientTrace+"02", "storage pins/ls", "admission", "limits", "command")
	p.do(t, http.MethodDelete, store+"/pins/"+list.Results[0].RequestID, clientTrace+"03")
	collector.holds(t, clientTrace+"03", "storage pins/rm", "admission", "limits", "command")
}

// stored adds a file, and returns its CID.
func (p *pair) stored(t *testing.T, store string) string {
	t.Helper()
	kind, form := upload(t, "content of a trace")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, store+"/api/v0/add", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	req.SetBasicAuth(p.key, p.secret)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var added struct{ Hash string }
	if err := json.NewDecoder(res.Body).Decode(&added); err != nil || added.Hash == "" {
		t.Fatalf("status %d: %v", res.StatusCode, err)
	}
	return added.Hash
}

// holds waits for a trace and wants spans of these names in it.
func (r *receiver) holds(t *testing.T, trace string, names ...string) {
	t.Helper()
	spans := r.await(t, trace)
	for _, name := range names {
		if !slices.ContainsFunc(spans, func(s *otlp.Span) bool { return s.Name == name && hex.EncodeToString(s.TraceId) == trace }) {
			t.Errorf("the trace has no span %q", name)
		}
	}
}
