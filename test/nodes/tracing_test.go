package nodes_test

import (
	"bytes"
	"cmp"
	"compress/gzip"
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
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/nodegate/nodegate/test/harness"
)

// receiver is a collector of traces: OTLP over HTTP.
type receiver struct {
	*httptest.Server
	mu    sync.Mutex
	raw   bytes.Buffer // all that came
	spans []*otlp.Span
	auth  string
}

func startReceiver(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if err := r.take(req); err != nil {
			t.Error(err)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) take(req *http.Request) error {
	var body io.Reader = req.Body
	if req.Header.Get("Content-Encoding") == "gzip" {
		var err error
		if body, err = gzip.NewReader(req.Body); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	var export collector.ExportTraceServiceRequest
	if err := proto.Unmarshal(data, &export); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.auth = req.Method + " " + req.URL.Path + " " + req.Header.Get("Authorization")
	r.raw.Write(data)
	for _, resource := range export.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			r.spans = append(r.spans, scope.Spans...)
		}
	}
	return nil
}

// await waits for the request's own span, which ends last, and returns the spans of its trace by the
// time that they began.
func (r *receiver) await(t *testing.T, trace string) []*otlp.Span {
	t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		r.mu.Lock()
		list := slices.DeleteFunc(slices.Clone(r.spans), func(s *otlp.Span) bool { return hex.EncodeToString(s.TraceId) != trace })
		r.mu.Unlock()
		if slices.ContainsFunc(list, func(s *otlp.Span) bool { return s.Kind == otlp.Span_SPAN_KIND_SERVER }) {
			slices.SortStableFunc(list, func(a, b *otlp.Span) int { // of two that began together, the outer one ends last
				return cmp.Or(cmp.Compare(a.StartTimeUnixNano, b.StartTimeUnixNano), cmp.Compare(b.EndTimeUnixNano, a.EndTimeUnixNano))
			})
			return list
		}
	}
	t.Fatalf("trace %s did not come", trace)
	return nil
}

// failing passes requests on to a node, and fails those for one method. heard are the
// traceparents that came with them.
func failing(t *testing.T, node *harness.Service, method string) (address string, heard func() []string) {
	t.Helper()
	target, err := url.Parse(node.URL("devnet", key))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var parents []string
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		if parent := req.Header.Get("Traceparent"); parent != "" {
			mu.Lock()
			parents = append(parents, parent)
			mu.Unlock()
		}
		if method != "" && bytes.Contains(body, []byte(`"`+method+`"`)) {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		proxy.ServeHTTP(w, req)
	}))
	t.Cleanup(s.Close)
	return s.URL, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(parents)
	}
}

const (
	clientTrace = "4bf92f3577b34da6a3ce929d0e0e47" // and two digits more
	clientSpan  = "00f067aa0ba902b7"
	tracedCall  = "eth_getBalance"
)

// TestTrace follows one request through two attempts: a collector gets its spans, below the
// client's, and a node that gets traceparent can continue the trace.
func TestTrace(t *testing.T) {
	node := harness.Start(t, nil)
	broken, hidden := failing(t, node, tracedCall)
	sound, heard := failing(t, node, "")
	otlpServer := startReceiver(t)
	f := startFront(t, fmt.Sprintf(`
log: {requests: true}
tracing: {url: %s/v1/traces, authorization: Bearer collector-token, sample: 0%%, client_traces: 100}
storage: {engine: "off"}
networks:
  - name: main
    hedge: {off: true}
    nodes:
      - {name: first, url: %s, hide_trace: true}
      - {name: second, url: %s, role: backup}
`, otlpServer.URL, broken, sound))
	f.ready(t)
	f.awaitNodes(t, 2)
	trace, spans := f.twoAttempts(t, otlpServer)
	shown := showTrace(t, spans)
	holdPage(t, shown)
	if len(hidden()) != 0 {
		t.Errorf("a node with hide_trace got %q", hidden())
	}
	attempt := spans[slices.IndexFunc(spans, func(s *otlp.Span) bool { return s.Name == "node second" })]
	if want := "00-" + trace + "-" + hex.EncodeToString(attempt.SpanId) + "-01"; !slices.Contains(heard(), want) {
		t.Errorf("the node got %q, want %s", heard(), want)
	}
	if text := f.openMetrics(t); !strings.Contains(text, `# {trace_id="`+trace+`"}`) {
		t.Error("no bucket has the trace as its exemplar")
	}
	otlpServer.mu.Lock()
	defer otlpServer.mu.Unlock()
	for _, secret := range []string{key, node.Host(), strings.TrimPrefix(sound, "http://"), "collector-token"} {
		if bytes.Contains(otlpServer.raw.Bytes(), []byte(secret)) {
			t.Errorf("the spans hold %s", secret)
		}
	}
	if otlpServer.auth != "POST /v1/traces Bearer collector-token" {
		t.Errorf("the collector got %q", otlpServer.auth)
	}
	if log := f.Logs.String(); !strings.Contains(log, "id=order-17.3") || !strings.Contains(log, "trace=0x"+trace) {
		t.Errorf("the log line lacks the ID or the trace:\n%s", log)
	}
}

// twoAttempts makes calls until one is tried on both nodes, and returns its trace. On a busy
// machine the first node may be out of use for a moment.
func (f *front) twoAttempts(t *testing.T, to *receiver) (trace string, spans []*otlp.Span) {
	t.Helper()
	for i := range 50 {
		trace = fmt.Sprintf("%s%02x", clientTrace, i)
		answered := f.traced(t, trace, tracedCall, fmt.Sprintf(`["0x%040x","latest"]`, i+1))
		if answered.status != http.StatusOK || answered.header.Get("X-Request-Id") != "order-17.3" {
			t.Fatalf("%d %s, with the ID %q", answered.status, answered.result, answered.header.Get("X-Request-Id"))
		}
		spans = to.await(t, trace)
		if slices.ContainsFunc(spans, func(s *otlp.Span) bool { return s.Name == "node first" }) {
			return trace, spans
		}
		f.awaitNodes(t, 2)
	}
	t.Fatal("no call was tried on both nodes")
	return "", nil
}

// openMetrics are the metrics as Prometheus asks for them.
func (f *front) openMetrics(t *testing.T) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, f.Admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	res, err := http.DefaultClient.Do(req)
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

// awaitNodes waits until so many nodes of the network are in use.
func (f *front) awaitNodes(t *testing.T, want int) {
	t.Helper()
	var body string
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if _, body = get(t, f.Admin+"/nodes"); strings.Count(body, `"healthy":true`) == want {
			return
		}
	}
	t.Fatalf("not all nodes are in use: %s", body)
}

// traced makes a call that is a part of the client's trace.
func (f *front) traced(t *testing.T, trace, method, params string) answer {
	t.Helper()
	return f.tracedAt(t, f.URL("main", key), trace, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`)
}

// tracedAt posts a body that is a part of the client's trace.
func (f *front) tracedAt(t *testing.T, address, trace, body string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Traceparent", "00-"+trace+"-"+clientSpan+"-01")
	req.Header.Set("X-Request-Id", "order-17.3")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{status: res.StatusCode, header: res.Header, result: string(text)}
}

// shownSpan is a span as docs/tracing.md shows it: IDs, times and what differs between runs are
// left out.
type shownSpan struct {
	Name       string         `json:"name"`
	Parent     string         `json:"parent"`
	Kind       string         `json:"kind"`
	Status     string         `json:"status"`
	Attributes map[string]any `json:"attributes"`
}

func showTrace(t *testing.T, spans []*otlp.Span) string {
	t.Helper()
	names := map[string]string{clientSpan: "the client's span"}
	for _, s := range spans {
		names[hex.EncodeToString(s.SpanId)] = s.Name
	}
	var lines []string
	for _, s := range spans {
		shown := shownSpan{Name: s.Name, Parent: names[hex.EncodeToString(s.ParentSpanId)], Attributes: map[string]any{}}
		shown.Kind = strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_"))
		shown.Status = strings.ToLower(strings.TrimPrefix(s.Status.GetCode().String(), "STATUS_CODE_"))
		for _, a := range s.Attributes {
			if text := a.Value.GetStringValue(); text != "" {
				shown.Attributes[a.Key] = text
			} else {
				shown.Attributes[a.Key] = a.Value.GetIntValue()
			}
		}
		line, err := json.Marshal(shown)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, "  "+string(line))
	}
	return "[\n" + strings.Join(lines, ",\n") + "\n]\n"
}

// holdPage wants the trace in the documentation.
func holdPage(t *testing.T, shown string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tracing.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "```json\n"+shown+"```\n") {
		t.Errorf("docs/tracing.md doesn't show the trace:\n%s", shown)
	}
}
