package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/method"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/operatoralert"
	"github.com/nodegate/nodegate/internal/rpc/chain"
	"github.com/nodegate/nodegate/internal/rpc/edge"
	"github.com/nodegate/nodegate/internal/rpc/fastpath"
	"github.com/nodegate/nodegate/internal/web"
)

// Build says what is running.
type Build struct{ Version, Commit string }

// Addresses are the base URLs the server listens on.
type Addresses struct{ RPC, Storage, Admin string }

// Server is the whole service: it joins the planes and their listeners.
type Server struct {
	common
	build Build
	lock  *folderLock

	memory   *budget.Budget // of all requests
	pace     collector
	accounts *accounts
	storage  *storageSide
	networks *networks
	edge     *edge.Edge

	listeners  *listeners
	public     *web.Server
	publicAddr string
	admin      *admin

	reloads *obs.Reloads
	alerts  *operatoralert.Watch // nil reports nothing
	first   *FirstStart          // made at this start, or nil
	serving atomic.Bool
}

// New opens the data folder and starts the networks. Nothing listens yet.
func New(cfg *config.Config, log *slog.Logger, build Build) (*Server, error) {
	s := &Server{common: common{cfg: cfg, log: log, metrics: obs.NewMetrics()}, build: build}
	s.accounts = &accounts{common: &s.common}
	s.storage = &storageSide{common: &s.common}
	s.networks = newNetworks(&s.common)
	s.listeners = &listeners{common: &s.common, failed: make(chan error, 3)}
	s.admin = &admin{common: &s.common, storage: s.storage, networks: s.networks, ready: s.ready, backups: newBackupAdmin(&s.common, s.accounts, s.storage, s.networks)}
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close(context.Background()))
	}
	log.Debug("built", "version", build.Version, "commit", build.Commit, "embedded", len(s.networks.chains), "remote", len(s.networks.remotes))
	return s, nil
}

func (s *Server) open() error {
	chain.RouteLogs(s.log)
	s.openMemory()
	var err error
	if s.tracer, err = openTracer(s.cfg, s.build, s.log); err != nil {
		return err
	}
	if s.lock, err = lockFolder(s.cfg.Data); err != nil {
		return err
	}
	if err := s.accounts.open(context.Background()); err != nil {
		return err
	}
	if err := writeFormat(s.cfg); err != nil {
		return err
	}
	s.admin.cordons = s.cordons()
	s.admin.status = &statusAdmin{operator: s.operator(), started: time.Now(), at: s.Addresses}
	if err := s.storage.open(context.Background(), s.accounts, s.memory); err != nil {
		return err
	}
	if s.networks.elsewhere, err = claimNetworks(context.Background(), s.cfg, s.accounts.control.Store, s.log); err != nil {
		return err
	}
	if err := s.networks.open(s.accounts.shared(), &s.pace); err != nil {
		return err
	}
	s.metrics.Caches(s.networks.showCaches)
	s.metrics.Ledgers((&ledgerAdmin{networks: s.networks}).show)
	s.observe()
	pages, err := s.openDashboard()
	if err != nil {
		return err
	}
	s.edge = edge.New(edge.Config{
		Networks:             s.networks.list(),
		DefaultNetwork:       s.cfg.DefaultNetwork,
		Auth:                 s.accounts.auth,
		Limiter:              s.accounts.limiter,
		Usage:                s.accounts.usage,
		RequestLog:           s.accounts.requests,
		Memory:               s.memory,
		Costs:                *s.networks.costs.Load(),
		TrustedProxies:       s.trustedProxies(),
		Methods:              method.Counted(),
		BodyBytes:            int64(s.cfg.Limits.BodyBytes),
		BatchItems:           s.cfg.Limits.BatchItems,
		ResponseBytes:        int(s.cfg.Limits.ResponseBytes),
		SubscriptionsPerConn: s.cfg.Limits.SubscriptionsPerConn,
		Bounds:               boundsOf(&s.cfg.Limits),
		Log:                  s.log,
		LogRequests:          s.cfg.Log.Requests,
		Metrics:              s.metrics,
		Tracer:               s.tracer,
		Ready:                s.ready,
		Elsewhere:            pages,
		StatusPage:           s.cfg.Dashboard.On && s.cfg.Dashboard.Status,
	})
	return nil
}

// Start listens on all addresses before it returns, so that a taken port is an
// error here and not a line in the log later. The first account is created after that
// and before anybody is served: its password and secret are shown once, so nothing
// may fail between creating and showing them.
func (s *Server) Start() error {
	s.listeners.slots = web.NewSlots(web.Descriptors(), web.UsedDescriptors())
	b, err := s.bind()
	if err != nil {
		return errors.Join(err, b.close())
	}
	if s.accounts.fresh {
		if s.first, err = s.accounts.control.firstStart(context.Background()); err != nil {
			return errors.Join(err, b.close())
		}
	}
	s.serveAll(b)
	return s.startAlerts()
}

// serveAll serves on what was bound.
func (s *Server) serveAll(b bound) {
	plain := fastpath.New(s.edge, web.Readable(s.listeners.httpServer(s.edge)))
	plain.Wrap = func(c net.Conn) net.Conn { return web.RequestConn(c, s.edge.RefuseUnread) }
	s.public = web.Beside(plain, s.listeners.httpServer(s.edge), edge.Crowded(s.edge))
	go s.listeners.serve("JSON-RPC", s.public, b.public)
	if b.storage != nil {
		s.storage.start(b.storage, s.listeners)
	}
	s.admin.start(b.admin, s.listeners)
	s.serving.Store(true)
}

// listenPublic listens for JSON-RPC and the dashboard.
func (s *Server) listenPublic() (net.Listener, error) {
	ln, err := s.listeners.listen("JSON-RPC", s.cfg.Listen, "--listen", s.listeners.slots)
	if err != nil {
		return nil, err
	}
	s.publicAddr = "http://" + ln.Addr().String()
	if s.cfg.TLS.Cert == "" {
		return ln, nil
	}
	pair, err := tls.LoadX509KeyPair(s.cfg.TLS.Cert, s.cfg.TLS.Key)
	if err != nil {
		_ = ln.Close()
		return nil, badPair(err)
	}
	s.publicAddr = "https://" + ln.Addr().String()
	s.showCertificate("JSON-RPC", &pair)
	c := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	return web.Secure(ln, c, s.edge.RefuseUnread(http.StatusBadRequest, httpsOnly)), nil
}

// httpsOnly is what a client is told that speaks plain HTTP to a listener with TLS.
const httpsOnly = "this address serves HTTPS only: use https:// or wss:// in the URL"

// Failed delivers the error of a listener that stopped by itself.
func (s *Server) Failed() <-chan error { return s.listeners.failed }

// Addresses are known once Start has returned; port 0 is resolved in them.
func (s *Server) Addresses() Addresses {
	return Addresses{RPC: s.publicAddr, Storage: s.storage.addr, Admin: s.admin.addr}
}

// First is what this start made in an empty store, or nil. Its secrets can't be read
// again.
func (s *Server) First() *FirstStart { return s.first }

// FirstKey is the key of First, or nil.
func (s *Server) FirstKey() *IssuedKey {
	if s.first == nil {
		return nil
	}
	return s.first.Key
}

// Control is the account side of this server.
func (s *Server) Control() *Control { return s.accounts.control }

// RequestLog holds the latest requests of keys.
func (s *Server) RequestLog() *requestlog.Log { return s.accounts.requests }

// Leave says at /readyz that no traffic is welcome any more, and goes on serving. A balancer that
// sees it sends nothing to connections which Close is about to close.
func (s *Server) Leave() { s.serving.Store(false) }

// Close drains: no new requests, what is in progress is finished while ctx lasts,
// WebSockets get 1012, then the pools of nodes and the chains close. A part of the time is kept for
// what was recorded last, which must not be lost to a client that won't leave.
func (s *Server) Close(ctx context.Context) error {
	s.Leave()
	s.alerts.Close() // what ends from here on is meant to
	drain, cancel := shortened(ctx, flushTime)
	defer cancel()
	var errs []error
	if s.public != nil {
		s.edge.Drain()
		errs = append(errs, shutdown(drain, s.public))
		s.edge.Close(drain) // WebSockets are not the HTTP server's to wait for
	}
	s.admin.backups.end() // else it would be waited for
	if s.admin.server != nil {
		errs = append(errs, shutdown(drain, s.admin.server))
	}
	s.networks.closeRemotes() // before the stores: the pools tell other servers about heads
	errs = append(errs, s.storage.close(drain), s.accounts.close(ctx))
	for _, c := range s.networks.chains {
		errs = append(errs, c.Close())
	}
	_ = s.tracer.Close(ctx) // a collector that is away is in the log, and no reason to fail
	return errors.Join(append(errs, s.accounts.control.Close(), s.lock.release())...)
}

// flushTime is kept of the time to close for writing what was recorded.
const flushTime = 2 * time.Second

// shortened ends some time before ctx does.
func shortened(ctx context.Context, by time.Duration) (context.Context, context.CancelFunc) {
	end, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithDeadline(ctx, end.Add(-by))
}

// shutdown drains a listener and cuts what has not finished when ctx ends.
func shutdown(ctx context.Context, srv listener) error {
	if err := srv.Shutdown(ctx); err != nil {
		return srv.Close()
	}
	return nil
}
