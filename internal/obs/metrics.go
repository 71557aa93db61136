package obs

import (
	"cmp"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/nodegate/nodegate"
)

// Metrics are the service's counters. No label ever holds a key, and methods
// beyond a fixed list are counted together as "other".
type Metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	refused  *prometheus.CounterVec
	sockets  prometheus.Gauge
	slow     prometheus.Counter
	bytes    *prometheus.CounterVec
	cache    *prometheus.CounterVec
	verified *prometheus.CounterVec
	accepts  *prometheus.CounterVec
	conns    *prometheus.CounterVec
	signIns  *prometheus.CounterVec
}

// Other is the label of methods that are not counted one by one.
const Other = "other"

// NewMetrics registers the counters and the runtime's own.
func NewMetrics() *Metrics {
	m := &Metrics{
		registry: prometheus.NewRegistry(),
		signIns:  newSignIns(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_rpc_requests_total", Help: "JSON-RPC calls by network, method and outcome. Calls in batches count individually, and notifications count too.",
		}, []string{"network", "method", "outcome"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nodegate_rpc_duration_seconds", Help: "Latency of a call from the parsed request to its result, without reading the request and writing the response.",
			Buckets: callSteps(),
		}, []string{"network", "method"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_http_refused_total", Help: "HTTP requests and WebSocket handshakes refused before a call was read, and bodies that the account's limits refused, by reason.",
		}, []string{"reason"}),
		sockets: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "nodegate_websockets", Help: "Open WebSocket connections.",
		}),
		slow: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "nodegate_websockets_slow_total", Help: "WebSocket connections closed because the client did not read; each has a line in the log.",
		}),
		bytes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_rpc_bytes_total", Help: "Bytes of bodies and messages: in after inflating, out before compressing. Events of subscriptions count as out.",
		}, []string{"direction"}),
		cache: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_cache_total", Help: "Calls by what the cache did: hit, miss, shared, bypass, or ledger when the ledger answered.",
		}, []string{"network", "method", "outcome"}),
		verified: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_verified_total", Help: "Successful calls by how well the response was verified: roots (ledger or proof), header, agreed (several nodes), or node (not verified).",
		}, []string{"network", "method", "level"}),
		accepts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_accept_errors_total", Help: "Failed accept calls, which are retried. The usual cause is too few file descriptors; see the log.",
		}, []string{"listener"}),
		conns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_connections_refused_total", Help: "Connections closed at once because their address (over=address) or all clients together (over=total) have too many.",
		}, []string{"listener", "over"}),
	}
	m.registry.MustRegister(m.requests, m.latency, m.refused, m.sockets, m.slow, m.bytes, m.cache, m.verified, m.accepts, m.conns, m.signIns,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Follow adds a counter and a gauge that others keep: how often unknown keys were
// looked up in the store, and how many keys are let in.
func (m *Metrics) Follow(lookUps func() int64, keys func() int) {
	m.registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "nodegate_key_lookups_total", Help: "Well-formed API keys that were not in memory and were looked up in the account store: new keys, and guesses.",
		}, func() float64 { return float64(lookUps()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "nodegate_keys", Help: "Active API keys. During a rotation, the old and the new value both count.",
		}, func() float64 { return float64(keys()) }))
}

// Handler serves the metrics in Prometheus' format.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{EnableOpenMetrics: true}) // which has exemplars
}

// Refused counts a request that was refused before it was admitted.
func (m *Metrics) Refused(code nodegate.Code) { m.refused.WithLabelValues(code.String()).Inc() }

// SocketOpened and SocketClosed follow the number of WebSockets.
func (m *Metrics) SocketOpened() { m.sockets.Inc() }

// SocketClosed is SocketOpened's counterpart.
func (m *Metrics) SocketClosed() { m.sockets.Dec() }

// SocketSlow counts a socket that is closed because its peer doesn't read.
func (m *Metrics) SocketSlow() { m.slow.Inc() }

// Traffic returns the counters of bytes read and written.
func (m *Metrics) Traffic() (in, out prometheus.Counter) {
	return m.bytes.WithLabelValues("in"), m.bytes.WithLabelValues("out")
}

// Method are the counters of one method on one network, looked up once.
type Method struct {
	ok      prometheus.Counter
	latency prometheus.Observer
	failed  func(nodegate.Code) prometheus.Counter
	cached  [nodegate.CacheOutcomes]atomic.Pointer[prometheus.Counter] // made at their first use
	cache   func(nodegate.CacheOutcome) prometheus.Counter
	levels  [nodegate.Levels]atomic.Pointer[prometheus.Counter] // the same
	level   func(nodegate.Level) prometheus.Counter
}

// Method returns the counters of a method on a network.
func (m *Metrics) Method(network, method string) *Method {
	return &Method{
		ok:      m.requests.WithLabelValues(network, method, "ok"),
		latency: m.latency.WithLabelValues(network, method),
		failed: func(c nodegate.Code) prometheus.Counter {
			return m.requests.WithLabelValues(network, method, c.String())
		},
		cache: func(o nodegate.CacheOutcome) prometheus.Counter {
			return m.cache.WithLabelValues(network, method, o.String())
		},
		level: func(l nodegate.Level) prometheus.Counter {
			return m.verified.WithLabelValues(network, method, cmp.Or(l.String(), levelNode))
		},
	}
}

// Done counts one call.
func (m *Method) Done(err error, took time.Duration) {
	m.latency.Observe(took.Seconds())
	m.count(err)
}

func (m *Method) count(err error) {
	if err == nil {
		m.ok.Inc()
		return
	}
	m.failed(nodegate.AsError(err).Code).Inc()
}

// DoneTraced is Done for a call of a traced request, whose trace becomes an exemplar.
func (m *Method) DoneTraced(err error, took time.Duration, traceID string) {
	m.count(err)
	observe(m.latency, took, traceID)
}

// observe records a time. The trace of a traced request becomes an exemplar; "" is none.
func observe(to prometheus.Observer, took time.Duration, traceID string) {
	if o, ok := to.(prometheus.ExemplarObserver); ok && traceID != "" {
		o.ObserveWithExemplar(took.Seconds(), prometheus.Labels{"trace_id": traceID})
		return
	}
	to.Observe(took.Seconds())
}

// levelNode is the level of what is the word of a node.
const levelNode = "node"

// Verified counts how well the response to one call was verified.
func (m *Method) Verified(l nodegate.Level) {
	c := m.levels[l].Load()
	if c == nil {
		made := m.level(l)
		c = &made
		m.levels[l].Store(c)
	}
	(*c).Inc()
}

// Cached counts what the cache did with one call, if there is one.
func (m *Method) Cached(o nodegate.CacheOutcome) {
	if o == nodegate.CacheNone {
		return
	}
	c := m.cached[o].Load()
	if c == nil {
		made := m.cache(o)
		c = &made
		m.cached[o].Store(c)
	}
	(*c).Inc()
}
