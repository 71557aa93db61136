package edge

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/meter"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/usage"
)

// Config is what the edge serves and its bounds.
type Config struct {
	Networks       []nodegate.Network
	DefaultNetwork string // reached by /v3 without a network; "" is none
	Auth           nodegate.Authenticator
	Meter          *meter.Meter
	Usage          *usage.Recorder
	Costs          nodegate.Costs
	Methods        []string       // counted one by one in metrics and usage
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed

	BodyBytes            int64
	BatchItems           int
	ResponseBytes        int
	SubscriptionsPerConn int

	Log     *slog.Logger
	Metrics *obs.Metrics
	Ready   func() error
}

// Edge serves JSON-RPC. It is an http.Handler.
type Edge struct {
	cfg      Config
	networks map[string]*network
	ids      *obs.RequestIDs
	bodies   sync.Pool // *exchange
	in, out  prometheus.Counter
	ready    http.Handler
	date     httpDate

	sockets  sync.WaitGroup
	draining chan struct{} // closed when the server shuts down
	drained  atomic.Bool
	base     context.Context // of every WebSocket
	cut      context.CancelFunc
}

// network is a network with what is known of its methods.
type network struct {
	nodegate.Network
	methods map[string]*methodEntry
	other   *obs.Method
}

// methodEntry keeps a method's name, so that a request's bytes need not become a
// new string each time.
type methodEntry struct {
	name    string // as it was called
	rule    string // as limits, allowlists and usage know it: an alias is what it stands for
	counted string // in metrics and usage; "other" where it is not counted by itself
	cost    int64
	metrics *obs.Method
}

// requestTime bounds one request with all the calls of its batch.
const requestTime = 30 * time.Second

// New builds the front end.
func New(cfg Config) *Edge {
	e := &Edge{cfg: cfg, networks: map[string]*network{}, ids: obs.NewRequestIDs(), draining: make(chan struct{})}
	e.in, e.out = cfg.Metrics.Traffic()
	e.ready = obs.Ready(cfg.Ready)
	e.base, e.cut = context.WithCancel(context.Background())
	e.bodies.New = func() any { return new(exchange) }
	for _, n := range cfg.Networks {
		e.networks[n.Name] = e.network(n)
	}
	return e
}

func (e *Edge) network(n nodegate.Network) *network {
	net := &network{Network: n, methods: map[string]*methodEntry{}, other: e.cfg.Metrics.Method(n.Name, obs.Other)}
	for _, name := range e.cfg.Methods {
		m := &methodEntry{name: name, rule: name, counted: name, cost: e.cfg.Costs.Of(name, true), metrics: e.cfg.Metrics.Method(n.Name, name)}
		net.methods[name] = m
		if own, ok := strings.CutPrefix(name, "layer2_"); ok && n.Alias != "" {
			alias := *m
			alias.name = n.Alias + "_" + own
			net.methods[alias.name] = &alias
		}
	}
	return net
}

// method finds a method's entry without making a string of a known name.
func (e *Edge) method(n *network, name []byte) methodEntry {
	if m, ok := n.methods[string(name)]; ok {
		return *m
	}
	text := string(name)
	return methodEntry{name: text, rule: text, counted: obs.Other, cost: e.cfg.Costs.Of(text, false), metrics: n.other}
}

// Drain tells the open WebSockets to end, with 1001, and takes no new ones.
func (e *Edge) Drain() {
	if e.drained.CompareAndSwap(false, true) {
		close(e.draining)
	}
}

// Close drains and waits for the WebSockets; those that have not ended when ctx
// does are cut.
func (e *Edge) Close(ctx context.Context) {
	e.Drain()
	ended := make(chan struct{})
	go func() {
		e.sockets.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
	}
	e.cut()
	<-ended
}
