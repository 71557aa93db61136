package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/cache"
	"github.com/nodegate/nodegate/internal/chain"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/dashboard"
	"github.com/nodegate/nodegate/internal/edge"
	"github.com/nodegate/nodegate/internal/eth"
	"github.com/nodegate/nodegate/internal/journal"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/plainhttp"
	"github.com/nodegate/nodegate/internal/web"
)

// Build says what is running.
type Build struct{ Version, Commit string }

// Addresses are the base URLs the server listens on.
type Addresses struct{ RPC, Storage, Admin string }

// Server is the whole service.
type Server struct {
	cfg     *config.Config // of the start
	build   Build
	log     *slog.Logger
	metrics *obs.Metrics
	edge    *edge.Edge
	lock    *folderLock

	chains   []*chain.Node
	chainOf  map[string]*chain.Node // by network
	embedded []nodegate.Network
	fronts   map[string]*cache.Front // of the embedded ones that have a cache
	costs    atomic.Pointer[nodegate.Costs]
	shown    atomic.Pointer[[]dashboard.Network]

	reload    sync.Mutex     // held by a reload from begin to end
	live      *config.Config // what is in force; changed with reload and mu held
	mu        sync.Mutex
	remotes   map[string]*remote // by name; changed only by a reload, with mu held
	retired   sync.WaitGroup     // networks that are served no more and not closed yet
	closing   chan struct{}
	closeOnce sync.Once

	control  *Control
	accounts accounts
	first    *FirstStart // made at this start, or nil
	storage  storageSide

	public                *plainhttp.Server
	admin                 *http.Server
	publicAddr, adminAddr string

	serving atomic.Bool
	failed  chan error
}

// The listeners' time limits. A header gets 5 s; a body 12 s, and more while it
// keeps coming (see web.ReadBody); an idle connection two minutes.
const (
	headerTime     = 5 * time.Second
	bodyTime       = 12 * time.Second
	idleTime       = 2 * time.Minute
	maxHeaderBytes = 12 << 10 // net/http allows 4 KiB more: 16 in all
)

// New opens the data folder and starts the networks. Nothing listens yet.
func New(cfg *config.Config, log *slog.Logger, build Build) (*Server, error) {
	s := &Server{
		cfg: cfg, live: cfg, build: build, log: log, metrics: obs.NewMetrics(), failed: make(chan error, 2),
		fronts: map[string]*cache.Front{}, chainOf: map[string]*chain.Node{}, remotes: map[string]*remote{}, closing: make(chan struct{}),
	}
	costs := costsOf(cfg)
	s.costs.Store(&costs)
	if err := s.open(); err != nil {
		return nil, errors.Join(err, s.Close(context.Background()))
	}
	log.Debug("built", "version", build.Version, "commit", build.Commit, "embedded", len(s.chains), "remote", len(s.remotes))
	return s, nil
}

func (s *Server) open() error {
	chain.RouteLogs(s.log)
	var err error
	if s.lock, err = lockFolder(s.cfg.Data); err != nil {
		return err
	}
	if err := s.openAccounts(context.Background()); err != nil {
		return err
	}
	if err := s.openStorage(context.Background()); err != nil {
		return err
	}
	if err := s.openNetworks(); err != nil {
		return err
	}
	s.metrics.Caches(s.showCaches)
	pages, err := s.openDashboard()
	if err != nil {
		return err
	}
	s.edge = edge.New(edge.Config{
		Networks:             s.networks(),
		DefaultNetwork:       s.cfg.DefaultNetwork,
		Auth:                 s.accounts.door,
		Meter:                s.accounts.meter,
		Usage:                s.accounts.usage,
		Journal:              s.accounts.journal,
		Costs:                *s.costs.Load(),
		TrustedProxies:       s.trustedProxies(),
		Methods:              eth.Methods(),
		BodyBytes:            int64(s.cfg.Limits.BodyBytes),
		BatchItems:           s.cfg.Limits.BatchItems,
		ResponseBytes:        int(s.cfg.Limits.ResponseBytes),
		SubscriptionsPerConn: s.cfg.Limits.SubscriptionsPerConn,
		Log:                  s.log,
		LogRequests:          s.cfg.Log.Requests,
		Metrics:              s.metrics,
		Ready:                s.ready,
		Elsewhere:            pages,
	})
	return nil
}

// Start listens on both addresses before it returns, so that a taken port is an
// error here and not a line in the log later.
func (s *Server) Start() error {
	var err error
	var public, admin net.Listener
	if public, s.publicAddr, err = s.listen(s.cfg.Listen, s.cfg.TLS); err != nil {
		return err
	}
	s.public = plainhttp.New(s.edge, s.httpServer(s.edge))
	go s.serve(s.public, public)
	if err := s.startStorage(); err != nil {
		return err
	}
	if admin, s.adminAddr, err = s.listen(s.cfg.AdminListen, config.TLS{}); err != nil {
		return err
	}
	pages := http.NewServeMux()
	pages.HandleFunc("/storage/gc", s.collectNow)
	pages.HandleFunc("/nodes", s.nodesNow)
	pages.Handle("/", obs.AdminHandler(s.metrics, s.ready))
	s.admin = s.httpServer(pages)
	go s.serve(s.admin, admin)
	s.serving.Store(true)
	return nil
}

// listen binds an address.
func (s *Server) listen(addr string, cert config.TLS) (ln net.Listener, url string, err error) {
	if ln, err = net.Listen("tcp", addr); err != nil {
		return nil, "", &nodegate.Error{Op: "server.listen", Code: nodegate.BadConfig, Msg: "can't listen on " + addr + ": is the port taken? Another one is set with --listen or --admin-listen", Err: err}
	}
	url = ln.Addr().String()
	ln = web.Limit(ln, s.cfg.Limits.ConnsPerIP)
	if cert.Cert == "" {
		return ln, "http://" + url, nil
	}
	ln, err = secure(ln, cert)
	return ln, "https://" + url, err
}

func (s *Server) httpServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// listener is a server of either kind.
type listener interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

func (s *Server) serve(srv listener, ln net.Listener) {
	if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		s.failed <- fmt.Errorf("listener %s: %w", ln.Addr(), err)
	}
}

func secure(ln net.Listener, cert config.TLS) (net.Listener, error) {
	pair, err := tls.LoadX509KeyPair(cert.Cert, cert.Key)
	if err != nil {
		_ = ln.Close()
		return nil, &nodegate.Error{Op: "server.tls", Code: nodegate.BadConfig, Msg: "can't use the certificate in tls.cert and tls.key", Err: err}
	}
	return tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}), nil
}

// Failed delivers the error of a listener that stopped by itself.
func (s *Server) Failed() <-chan error { return s.failed }

// Addresses are known once Start has returned; port 0 is resolved in them.
func (s *Server) Addresses() Addresses {
	return Addresses{RPC: s.publicAddr, Storage: s.storage.addr, Admin: s.adminAddr}
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
func (s *Server) Control() *Control { return s.control }

// Journal holds the latest requests of keys.
func (s *Server) Journal() *journal.Journal { return s.accounts.journal }

// ready is what balancers ask: is traffic welcome?
func (s *Server) ready() error {
	if !s.serving.Load() {
		return errors.New("not serving")
	}
	errs := []error{s.nodesReady(), s.storage.ready()}
	for _, c := range s.chains {
		errs = append(errs, c.Ready())
	}
	return errors.Join(errs...)
}

// Close drains: no new requests, what is under way is finished while ctx lasts,
// WebSockets get 1001, then the pools of nodes and the chains close. A part of the time is kept for
// what was recorded last, which must not be lost to a client that won't leave.
func (s *Server) Close(ctx context.Context) error {
	s.serving.Store(false)
	drain, cancel := shortened(ctx, flushTime)
	defer cancel()
	var errs []error
	if s.public != nil {
		s.edge.Drain()
		errs = append(errs, shutdown(drain, s.public))
		s.edge.Close(drain) // WebSockets are not the HTTP server's to wait for
	}
	if s.admin != nil {
		errs = append(errs, shutdown(drain, s.admin))
	}
	s.closeRemotes() // before the stores: the pools tell other servers about heads
	errs = append(errs, s.storage.close(drain), s.accounts.close(ctx))
	for _, c := range s.chains {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, s.control.Close(), s.lock.release())...)
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
