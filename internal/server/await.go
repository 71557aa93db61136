package server

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

const (
	awaitEvery = time.Second
	awaitLog   = time.Minute // how often the log says so again
)

// errAwait is what /readyz says meanwhile. The log has the reason: whoever asks a public
// listener learns no address.
var errAwait = errors.New("not ready: waiting for Postgres (store.postgres), which doesn't answer")

// AwaitStore returns when the configured Postgres takes connections; at once where there
// is none. Until then both listeners answer: /readyz is 503 with the reason, /healthz is
// fine, and nothing else is served.
//
// Returns what ctx ended with.
func AwaitStore(ctx context.Context, cfg *config.Config, log *slog.Logger) error {
	dsn := string(cfg.Store.Postgres)
	if dsn == "" {
		return nil
	}
	cause := sqlstore.ReachPostgres(ctx, dsn)
	if cause == nil {
		return nil
	}
	servers, at, err := serveWaiting(cfg)
	if err != nil {
		return err
	}
	defer closeAll(servers)
	began, said := time.Now(), time.Time{}
	for cause != nil {
		if time.Since(said) >= awaitLog {
			said = time.Now()
			log.Warn("Postgres does not answer: this server starts when it does, and serves nothing until then", "listen", at.RPC, "admin", at.Admin, "err", cause)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitEvery):
		}
		cause = sqlstore.ReachPostgres(ctx, dsn)
	}
	log.Info("Postgres answers: starting", "waited", time.Since(began).Round(time.Millisecond))
	return nil
}

// serveWaiting listens where the server will, so that balancers and operators see that it
// is there and not ready.
func serveWaiting(cfg *config.Config) (list []*http.Server, at Addresses, err error) {
	public, err := listenWaiting(cfg)
	if err != nil {
		return nil, at, err
	}
	admin, err := net.Listen("tcp", cfg.AdminListen)
	if err != nil {
		return nil, at, errors.Join(cantListen(cfg.AdminListen, "--admin-listen", err), public.Close())
	}
	mux := http.NewServeMux()
	ready := obs.Ready(func(string) error { return errAwait })
	mux.Handle("/readyz", ready)
	mux.Handle("/readyz/", ready)
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		http.Error(w, errAwait.Error(), http.StatusServiceUnavailable)
	})
	healthy := http.NewServeMux()
	healthy.Handle("/", mux)
	healthy.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") })
	for ln, handler := range map[net.Listener]http.Handler{public: mux, admin: healthy} {
		srv := &http.Server{Handler: handler, ReadHeaderTimeout: headerTime, ReadTimeout: bodyTime, IdleTimeout: idleTime, MaxHeaderBytes: maxHeaderBytes, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
		list = append(list, srv)
		go func() { _ = srv.Serve(ln) }()
	}
	return list, Addresses{RPC: public.Addr().String(), Admin: admin.Addr().String()}, nil
}

// listenWaiting listens for the public, with TLS where the server has it.
func listenWaiting(cfg *config.Config) (net.Listener, error) {
	ln, err := net.Listen("tcp", cfg.Listen)
	if err != nil {
		return nil, cantListen(cfg.Listen, "--listen", err)
	}
	if cfg.TLS.Cert == "" {
		return ln, nil
	}
	pair, err := tls.LoadX509KeyPair(cfg.TLS.Cert, cfg.TLS.Key)
	if err != nil {
		return nil, errors.Join(badPair(err), ln.Close())
	}
	return tls.NewListener(ln, &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}), nil
}

func cantListen(addr, flag string, err error) error {
	return &nodegate.Error{
		Op: "server.listen", Code: nodegate.BadConfig, Err: err,
		Msg: "can't listen on " + addr + ": is the port taken? Another one is set with " + flag,
	}
}

func badPair(err error) error {
	return &nodegate.Error{Op: "server.tls", Code: nodegate.BadConfig, Msg: "can't use the certificate in tls.cert and tls.key", Err: err}
}

// closeAll frees the ports.
func closeAll(list []*http.Server) {
	for _, srv := range list {
		_ = srv.Close()
	}
}
