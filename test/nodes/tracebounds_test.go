package nodes_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	otlp "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/nodegate/nodegate/test/harness"
)

// TestStrangersTakeNoTraces: requests that are refused use up nothing of what clients may ask for,
// and have no spans.
func TestStrangersTakeNoTraces(t *testing.T) {
	collector := startReceiver(t)
	f := startFront(t, fmt.Sprintf("tracing: {url: %s/v1/traces, sample: 0%%, client_traces: 5}\nstorage: {engine: \"off\"}\nnetworks: [{name: main, embedded: {}}]\n", collector.URL))
	f.ready(t)
	const strange, traces = "5bf92f3577b34da6a3ce929d0e0e47", 20
	address := f.URL("main", strings.Repeat("a", 32))
	for i := range traces {
		if a := f.tracedAt(t, address, fmt.Sprintf("%s%02x", strange, i), okCall); a.status != http.StatusUnauthorized {
			t.Fatalf("a stranger got %d %s", a.status, a.result)
		}
	}
	f.tracedAt(t, f.URL("main", key), clientTrace+"00", okCall)
	collector.await(t, clientTrace+"00") // spans come in the order in which they ended
	collector.mu.Lock()
	defer collector.mu.Unlock()
	for _, s := range collector.spans {
		if strings.HasPrefix(hex.EncodeToString(s.TraceId), strange) {
			t.Errorf("a stranger has the span %s", s.Name)
		}
	}
}

// okCall is a call that every network answers.
const okCall = `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`

// TestSpansOfABatch: the first calls of a batch have spans, and the batch's own says how many
// don't.
func TestSpansOfABatch(t *testing.T) {
	collector := startReceiver(t)
	node := harness.Start(t, nil)
	f := startFront(t, fmt.Sprintf("tracing: {url: %s/v1/traces, sample: 0%%}\nstorage: {engine: \"off\"}\nnetworks: [{name: main, nodes: [{name: first, url: %s}]}]\n", collector.URL, node.URL("devnet", key)))
	f.ready(t)
	f.awaitNodes(t, 1)
	call := `{"jsonrpc":"2.0","id":1,"method":"` + tracedCall + `","params":["0x%040x","latest"]}`
	var calls []string
	for i := range 500 {
		calls = append(calls, fmt.Sprintf(call, i+1))
	}
	if a := f.tracedAt(t, f.URL("main", key), clientTrace+"00", "["+strings.Join(calls, ",")+"]"); a.status != http.StatusOK || strings.Count(a.result, `"result"`) != len(calls) {
		t.Fatalf("%d %.200s", a.status, a.result)
	}
	spans := collector.await(t, clientTrace+"00")
	counts := map[string]int{}
	for _, s := range spans {
		counts[s.Name]++
	}
	if counts["call "+tracedCall] != 32 || counts["node first"] > 2*32 {
		t.Errorf("the batch has the spans %v", counts)
	}
	root := spans[slices.IndexFunc(spans, func(s *otlp.Span) bool { return s.Name == "rpc batch" })]
	if got := countOf(root, "nodegate.calls_left_out"); got != 500-32 {
		t.Errorf("%d calls are said to have no span", got)
	}
	if _, text := get(t, f.Admin+"/metrics"); !strings.Contains(text, `nodegate_trace_spans_dropped_total{reason="queue full"} 0`) {
		t.Error("the metrics don't say how many spans were dropped")
	}
}

// countOf is an attribute of a span; 0 if it has none of that name.
func countOf(s *otlp.Span, name string) int64 {
	for _, a := range s.Attributes {
		if a.Key == name {
			return a.Value.GetIntValue()
		}
	}
	return 0
}
