package obs

import "github.com/prometheus/client_golang/prometheus"

// Spans shows how many spans of traces were dropped: those that found the queue full, and those
// that the collector didn't accept.
func (m *Metrics) Spans(dropped func() (full, refused int64)) {
	counter := func(reason string, value func() int64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "nodegate_trace_spans_dropped_total", ConstLabels: prometheus.Labels{"reason": reason},
			Help: "Spans of traces that the collector did not get, by reason: queue full, or not accepted.",
		}, func() float64 { return float64(value()) })
	}
	m.registry.MustRegister(
		counter("queue full", func() int64 { full, _ := dropped(); return full }),
		counter("not accepted", func() int64 { _, refused := dropped(); return refused }))
}
