package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/ipfs/blockstore"
	"github.com/nodegate/nodegate/internal/ipfs/gateway"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/internal/ipfs/unixfs"
	"github.com/nodegate/nodegate/internal/ipfs/uploads"
	"github.com/nodegate/nodegate/internal/localca"
	"github.com/nodegate/nodegate/internal/web"
)

// storageSide is the storage plane of a running server.
type storageSide struct {
	*common
	figures nodegate.UsageReader
	engine  engine       // nil when there is no gateway
	repair  *kubo.Repair // nil with another engine, or when it is off
	gateway *gateway.Gateway
	leaving *departures
	parts   *uploads.Uploads
	server  *web.Server
	addr    string
	stop    context.CancelFunc
	ended   sync.WaitGroup
}

// OpenBlocks opens the block store of a configuration.
func OpenBlocks(ctx context.Context, cfg *config.Config, log *slog.Logger) (*blockstore.Store, error) {
	undo := cfg.Storage.Undo
	if undo == 0 {
		undo = -1 // at once; the store's own zero is its default
	}
	return blockstore.Open(ctx, blockstore.Config{
		Dir: filepath.Join(cfg.Data, "storage"), Undo: undo, Reserve: int64(cfg.Storage.Reserve), Links: unixfs.Links, Log: log,
	})
}

// stored lets objects work on the embedded store.
type stored struct{ *blockstore.Store }

func (s stored) Begin(accountID string, quota int64) unixfs.Batch {
	return s.Store.Begin(accountID, quota)
}

// open opens the engine and builds the gateway over it.
func (s *storageSide) open(ctx context.Context, a *accounts, memory *budget.Budget) error {
	if s.cfg.Storage.Engine == "off" {
		return nil
	}
	var err error
	if s.engine, err = openEngine(ctx, s.cfg, a.control.Store, s.log); err != nil {
		return err
	}
	s.figures, a.control.stored = a.control.Store, s.engine.Stored
	s.leaving = &departures{common: s.common, store: a.control.Store, pins: s.engine}
	if s.cfg.Storage.Engine == "kubo" {
		s.leaving.turn = turns(a.control.Store)
	}
	if s.parts, err = uploads.Load(uploads.Config{Dir: filepath.Join(s.cfg.Data, "uploads"), MaxSize: int64(s.cfg.Storage.MaxFile), Guard: guardOf(s.cfg)}); err != nil {
		return err
	}
	s.watchNodes()
	s.prepareRepair(a.control.Store)
	s.gateway = gateway.New(s.withReading(gateway.Config{
		Auth: a.auth, Usage: a.usage, RequestLog: a.requests, Engine: s.engine, Memory: memory,
		Limits: unixfs.Limits{Parts: s.cfg.Storage.MaxParts, FileBytes: int64(s.cfg.Storage.MaxFile)},
		Reads:  unixfs.ReadLimits{Nodes: s.cfg.Storage.MaxNodes, Bytes: int64(s.cfg.Storage.MaxRead)}, Requests: s.cfg.Storage.MaxRequests, Heavy: s.cfg.Storage.MaxHeavy, CompressBytes: int64(s.cfg.Storage.MaxCompress),
		Timeout: s.cfg.Storage.Timeout, TrustedProxies: s.trustedProxies(), Moved: s.movedIn, Log: s.log,
		PinRequests: a.control.Store, Quota: a.control.quotaOf,
	}))
	return nil
}

// figuresTime bounds the reading of an account's figures.
const figuresTime = 5 * time.Second

func (s *storageSide) movedIn(accountID string, month time.Time) (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), figuresTime)
	defer cancel()
	f, err := s.figures.Figures(ctx, accountID, month)
	return f.Moved, err
}

// start serves, and begins to collect and to repair.
func (s *storageSide) start(ln net.Listener, on *listeners) {
	srv := on.httpServer(s.gateway)
	srv.ReadTimeout = 0 // an upload may take as long as it moves; see web.Paced
	s.server = web.NewServer(srv)
	go on.serve("storage", s.server, ln)
	ctx, cancel := context.WithCancel(context.Background())
	s.stop = cancel
	s.ended.Go(func() { s.collectEvery(ctx) })
	s.ended.Go(func() { s.gateway.RunPins(ctx) })
	s.ended.Go(func() { s.leaving.run(ctx) })
	s.ended.Go(func() { s.parts.Run(ctx) })
	if s.repair != nil {
		s.ended.Go(func() { s.repair.Run(ctx) })
	}
}

// listen serves TLS; on a loopback address plain HTTP beside it.
func (s *storageSide) listen(on *listeners) (net.Listener, error) {
	ln, err := on.listen("storage", s.cfg.StorageListen, "--storage-listen", on.slots)
	if err != nil {
		return nil, err
	}
	tlsConfig, err := s.tlsConfig(ln.Addr())
	if err != nil {
		_ = ln.Close()
		return nil, err
	}
	if loopback(ln.Addr()) {
		return web.Either(ln, tlsConfig), nil
	}
	return web.Secure(ln, tlsConfig, textAnswer(http.StatusBadRequest, httpsOnly)), nil
}

// textAnswer is a whole HTTP/1.1 response of one line.
func textAnswer(status int, line string) []byte {
	return fmt.Appendf(nil, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		status, http.StatusText(status), len(line)+1, line)
}

func loopback(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// tlsConfig uses the configured certificate, or one of the local authority.
func (s *storageSide) tlsConfig(at net.Addr) (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	if t := s.cfg.Storage.TLS; t.Cert != "" {
		pair, err := tls.LoadX509KeyPair(t.Cert, t.Key)
		if err != nil {
			return nil, &nodegate.Error{Op: "server.tls", Code: nodegate.BadConfig, Msg: "can't use the certificate in storage.cert and storage.key", Err: err}
		}
		c.Certificates = []tls.Certificate{pair}
		s.showCertificate("storage", &pair)
		return c, nil
	}
	ca, err := OpenAuthority(s.cfg, at)
	if err != nil {
		return nil, err
	}
	c.GetCertificate = ca.Certificate
	return c, nil
}

// OpenAuthority opens the local authority of a data folder, for certificates of
// this machine's own names, the configured hosts, the websites below them and, where there
// is one, a listener's address.
func OpenAuthority(cfg *config.Config, at net.Addr) (*localca.Authority, error) {
	hosts := []string{"localhost", "127.0.0.1", "::1"}
	if at != nil {
		if p, err := netip.ParseAddrPort(at.String()); err == nil && !p.Addr().IsUnspecified() && !p.Addr().IsLoopback() {
			hosts = append(hosts, p.Addr().String())
		}
	}
	host, _, _ := net.SplitHostPort(cfg.StorageListen)
	for _, host := range slices.Concat([]string{host}, cfg.Storage.Hosts, siteNames(cfg)) {
		if ip, err := netip.ParseAddr(host); host != "" && !slices.Contains(hosts, host) && (err != nil || !ip.IsUnspecified() && !ip.IsLoopback()) {
			hosts = append(hosts, host)
		}
	}
	return localca.Open(cfg.Data, hosts)
}

// siteNames are the names that the read gateway has beyond the listener's.
func siteNames(cfg *config.Config) (names []string) {
	if cfg.Storage.Gateway == "off" {
		return nil
	}
	for _, host := range cfg.Storage.GatewayHosts {
		names = append(names, host, "*.ipfs."+host)
	}
	return names
}

// collectEvery removes what nobody needs, now and then.
func (s *storageSide) collectEvery(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Storage.Collect)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		report, err := s.engine.Collect(ctx, false)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, nodegate.Conflict): // one runs, or a backup; the next tick comes
		case err != nil:
			s.log.Error("garbage collection failed", "err", err)
		case report.Bytes > 0 || len(report.Unknown) > 0:
			s.log.Info("garbage collected", "roots", report.Pins, "blocks", report.Blocks, "bytes", report.Bytes, "freed", report.Freed, "unreadable", len(report.Unknown))
		}
	}
}

// collectNow is the admin listener's POST /storage/gc. Whoever names a data folder that is
// not this server's is refused and gets the name of this one.
func (s *storageSide) collectNow(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost || s.engine == nil {
		http.Error(w, "POST, with the storage gateway on", http.StatusMethodNotAllowed)
		return
	}
	query := req.URL.Query()
	if data := query.Get("data"); data != "" && !sameFolder(data, s.cfg.Data) {
		own, _ := filepath.Abs(s.cfg.Data)
		http.Error(w, own, http.StatusConflict)
		return
	}
	report, err := s.engine.Collect(req.Context(), query.Get("dry-run") == "true")
	if err != nil {
		e := nodegate.AsError(err)
		http.Error(w, e.Msg, web.Status(e.Code))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(report)
}

// close stops the listener and then the store.
func (s *storageSide) close(ctx context.Context) error {
	var errs []error
	if s.server != nil {
		errs = append(errs, shutdown(ctx, s.server))
	}
	if s.stop != nil {
		s.stop()
		s.ended.Wait()
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Close())
	}
	return errors.Join(errs...)
}
