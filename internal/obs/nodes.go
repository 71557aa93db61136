package obs

import (
	"errors"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Nodes are the metrics of remote nodes, of all networks together.
type Nodes struct {
	requests *prometheus.CounterVec
	latency  *prometheus.HistogramVec
	extra    *prometheus.CounterVec
	ejected  *prometheus.CounterVec
	differed *prometheus.CounterVec
	up       *prometheus.GaugeVec
	head     *prometheus.GaugeVec
	lag      *prometheus.GaugeVec
	inFlight *prometheus.GaugeVec
	cordoned *prometheus.GaugeVec
}

// Nodes registers the metrics of remote nodes; a second network finds the first one's.
func (m *Metrics) Nodes() *Nodes {
	node := []string{"network", "node"}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return shared(m.registry, prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, node))
	}
	return &Nodes{
		requests: shared(m.registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_node_requests_total", Help: "Requests to remote nodes by outcome, including retries and hedged requests.",
		}, []string{"network", "node", "method", "outcome"})),
		latency: shared(m.registry, prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "nodegate_node_duration_seconds", Help: "Latency of a remote node.",
			Buckets: remoteSteps(),
		}, []string{"network", "node", "method"})),
		extra: shared(m.registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_node_extra_total", Help: "Requests to remote nodes beyond the first of a call, by reason: part is a part of a split log query, agree a call that several nodes must agree on.",
		}, []string{"network", "node", "reason"})),
		ejected: shared(m.registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_node_ejections_total", Help: "How often a remote node was ejected, after consecutive failures or for a false response.",
		}, node)),
		differed: shared(m.registry, prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "nodegate_node_disagreements_total", Help: "Responses of a remote node that other nodes contradicted, where several must agree. If no response won, all of them count.",
		}, node)),
		up:       gauge("nodegate_node_up", "1 while a remote node is used, 0 while it is not."),
		cordoned: gauge("nodegate_node_cordoned", "1 while an operator keeps client calls away from a remote node."),
		head:     gauge("nodegate_node_head", "The newest block of a remote node."),
		lag:      gauge("nodegate_node_lag_blocks", "How many blocks a remote node is behind the best one."),
		inFlight: gauge("nodegate_node_in_flight", "Requests that a remote node has not answered yet."),
	}
}

// shared registers a metric, or finds the one that is registered under its name.
func shared[C prometheus.Collector](r *prometheus.Registry, c C) C {
	var twice prometheus.AlreadyRegisteredError
	if err := r.Register(c); errors.As(err, &twice) {
		if first, ok := twice.ExistingCollector.(C); ok {
			return first
		}
	}
	return c
}

// Node are the metrics of one remote node. A nil one counts nothing.
type Node struct {
	all     *Nodes
	labels  []string // network and node
	ejected prometheus.Counter
	// differed is there from the start, as ejected is: a rate needs the zero before the first.
	differed prometheus.Counter
	methods  sync.Map // of method and outcome to *nodeMethod
}

type methodOutcome struct{ method, outcome string }

type nodeMethod struct {
	count   prometheus.Counter
	latency prometheus.Observer
}

// Node returns the metrics of a node.
func (n *Nodes) Node(network, name string) *Node {
	return &Node{
		all: n, labels: []string{network, name}, ejected: n.ejected.WithLabelValues(network, name), differed: n.differed.WithLabelValues(network, name),
	}
}

// Done counts one request, with its trace if it has one. The caller bounds the methods.
func (n *Node) Done(method, outcome string, took time.Duration, traceID string) {
	if n == nil {
		return
	}
	key := methodOutcome{method, outcome}
	found, ok := n.methods.Load(key)
	if !ok {
		found, _ = n.methods.LoadOrStore(key, &nodeMethod{
			count:   n.all.requests.WithLabelValues(n.labels[0], n.labels[1], method, outcome),
			latency: n.all.latency.WithLabelValues(n.labels[0], n.labels[1], method),
		})
	}
	m := found.(*nodeMethod)
	m.count.Inc()
	observe(m.latency, took, traceID)
}

// Extra counts a request beyond the first of a call.
func (n *Node) Extra(reason string) {
	if n != nil {
		n.all.extra.WithLabelValues(n.labels[0], n.labels[1], reason).Inc()
	}
}

// Ejected counts that the node was put aside.
func (n *Node) Ejected() {
	if n != nil {
		n.ejected.Inc()
	}
}

// Disagreed counts that the node's answer was not that of others.
func (n *Node) Disagreed() {
	if n != nil {
		n.differed.Inc()
	}
}

// Set shows how the node is.
func (n *Node) Set(up, cordoned bool, head, lag uint64, inFlight int64) {
	if n == nil {
		return
	}
	number := map[bool]float64{true: 1}
	n.all.up.WithLabelValues(n.labels...).Set(number[up])
	n.all.cordoned.WithLabelValues(n.labels...).Set(number[cordoned])
	n.all.head.WithLabelValues(n.labels...).Set(float64(head))
	n.all.lag.WithLabelValues(n.labels...).Set(float64(lag))
	n.all.inFlight.WithLabelValues(n.labels...).Set(float64(inFlight))
}

// Forget takes the state of a node that is no longer configured out of the metrics;
// what it has done stays counted.
func (n *Node) Forget() {
	if n == nil {
		return
	}
	for _, g := range []*prometheus.GaugeVec{n.all.up, n.all.cordoned, n.all.head, n.all.lag, n.all.inFlight} {
		g.DeleteLabelValues(n.labels...)
	}
}
