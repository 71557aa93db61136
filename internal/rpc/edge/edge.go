package edge

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/tracing"
)

// Config is what the edge serves and its bounds.
type Config struct {
	Networks       []nodegate.Network
	DefaultNetwork string // reached by /v3 without a network; "" is none
	Auth           nodegate.Authenticator
	Limiter        *ratelimit.Limiter
	Usage          *usage.Recorder
	RequestLog     *requestlog.Log // nil keeps no requests
	Memory         *budget.Budget  // of bodies and answers; nil is no bound
	Costs          nodegate.Costs
	Methods        []string       // counted one by one in metrics and usage
	TrustedProxies []netip.Prefix // whose X-Forwarded-For is believed

	BodyBytes            int64
	BatchItems           int
	ResponseBytes        int
	SubscriptionsPerConn int
	Bounds               Bounds // of accounts, and of all together

	Log         *slog.Logger
	LogRequests bool // one line for each
	Metrics     *obs.Metrics
	Tracer      *tracing.Tracer         // nil traces nothing
	Ready       func(part string) error // see obs.Ready
	StatusPage  bool                    // Elsewhere has a page at /status, also beside a network of that name
	Elsewhere   http.Handler            // what is not JSON-RPC: the dashboard; nil is none
}

// Edge serves JSON-RPC. It is an http.Handler.
type Edge struct {
	cfg      Config
	site     atomic.Pointer[site]
	ids      *obs.RequestIDs
	bodies   sync.Pool // *exchange
	frames   sync.Pool // *[]byte, for events
	in, out  prometheus.Counter
	ready    http.Handler
	date     httpDate
	large    largeLane
	slowdown slowdown
	bodyPace *bodyPace

	sockets  sync.WaitGroup
	entering sync.Mutex // of those who count themselves into sockets
	shares   *shares
	parties  parties
	workers  workers
	draining chan struct{} // closed when the server shuts down
	drained  atomic.Bool
	base     context.Context // of every WebSocket
	cut      context.CancelFunc
}

// requestTime bounds one request with all the calls of its batch.
const requestTime = 30 * time.Second

// New builds the front end.
func New(cfg Config) *Edge {
	e := &Edge{cfg: cfg, ids: obs.NewRequestIDs(), draining: make(chan struct{}), shares: newShares(cfg.Bounds)}
	e.slowdown.proxies = cfg.TrustedProxies
	e.bodyPace = newBodyPace(cfg.Bounds.BodyRate)
	e.large = newLargeLane(background.Cores())
	e.in, e.out = cfg.Metrics.Traffic()
	e.ready = obs.Ready(cfg.Ready)
	e.base, e.cut = context.WithCancel(context.Background())
	e.bodies.New = func() any { return new(exchange) }
	e.frames.New = func() any { return new([]byte) }
	e.parties = parties{edge: e, open: map[partyKey]*party{}}
	e.workers = workers{jobs: make(chan *exchange), done: e.base.Done()}
	e.Serve(cfg.Networks, cfg.DefaultNetwork, cfg.Costs)
	return e
}

// Drain tells the open WebSockets to end, with 1001, and takes no new ones.
func (e *Edge) Drain() {
	e.entering.Lock()
	defer e.entering.Unlock()
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
	e.workers.all.Wait()
}
