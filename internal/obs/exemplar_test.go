package obs

import (
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
)

// TestExemplars: the latencies of calls, storage requests and remote nodes name the trace of a
// traced request, and of no other.
func TestExemplars(t *testing.T) {
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	for name, done := range map[string]func(m *Metrics, trace string){
		"nodegate_rpc_duration_seconds": func(m *Metrics, trace string) { m.Method("net", "eth_call").DoneTraced(nil, time.Millisecond, trace) },
		"nodegate_storage_duration_seconds": func(m *Metrics, trace string) {
			m.Storage([]string{"add"}).Done("add", nil, time.Millisecond, 1, 1, trace)
		},
		"nodegate_node_duration_seconds": func(m *Metrics, trace string) {
			m.Nodes().Node("net", "a").Done("eth_call", "ok", time.Millisecond, trace)
		},
	} {
		for _, given := range []string{trace, ""} {
			m := NewMetrics()
			done(m, given)
			if got, observed := exemplarOf(t, m, name); got != given || observed != 1 {
				t.Errorf("%s of trace %q: exemplar %q, %d observations", name, given, got, observed)
			}
		}
	}
}

// exemplarOf is the trace in a histogram, and how much was observed.
func exemplarOf(t *testing.T, m *Metrics, name string) (trace string, observed uint64) {
	t.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, series := range f.GetMetric() {
			observed += series.GetHistogram().GetSampleCount()
			for _, b := range series.GetHistogram().GetBucket() {
				trace += traceOf(b.GetExemplar())
			}
		}
	}
	return trace, observed
}

func traceOf(e *dto.Exemplar) (trace string) {
	for _, l := range e.GetLabel() {
		if l.GetName() == "trace_id" {
			trace = l.GetValue()
		}
	}
	return trace
}
