package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// drainTime is how long requests may take to end after a signal. Service
// managers commonly kill after ten seconds.
const drainTime = 9 * time.Second

// serveCmd runs the service until a signal or a failure.
type serveCmd struct {
	DryRun bool `help:"Rehearse an upgrade: print what a start of this version would change, try it on a copy, and change nothing."`
	JSON   bool `name:"json" help:"Print JSON, with --dry-run."`
}

// Run builds, starts and stops the server.
func (cmd serveCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if cmd.DryRun {
		return cmd.rehearse(a, cfg)
	}
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal drains. It also takes our handler away, so that the second
	// one has its usual effect and ends the process at once.
	context.AfterFunc(ctx, stop)

	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP) // before anything is started: by default it ends the process
	defer signal.Stop(again)

	log := obs.NewLogger(a.stderr, cfg.Log.Format, logLevel(cfg.Log.Level))
	if cfg.EmptyFile() {
		log.Warn("the configuration file is empty: all settings have their defaults", "file", cfg.Files()[0])
	}
	if err := server.AwaitStore(ctx, cfg, log); err != nil {
		if ctx.Err() != nil {
			return nil // stopped while it waited
		}
		return err
	}
	srv, err := start(cfg, log)
	if err != nil {
		return err
	}
	a.welcome(cfg, srv, log)
	return a.follow(ctx, cfg, srv, log, again)
}

// follow reads the configuration again whenever it is asked to or a file of it has
// changed, until the server ends.
func (a *app) follow(ctx context.Context, cfg *config.Config, srv *server.Server, log *slog.Logger, again <-chan os.Signal) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	r := newReloader(cfg, a.load, srv.Reload, log)
	r.count = srv.CountReload
	go r.run(reading, again)
	return wait(ctx, srv, cfg.ShutdownDelay, log)
}

// start returns a server that listens. A server that could not start is closed
// again, so that it leaves no lock in the data folder.
func start(cfg *config.Config, log *slog.Logger) (*server.Server, error) {
	b := readBuild()
	server.TuneRuntime()
	srv, err := server.New(cfg, log, server.Build{Version: b.version, Commit: b.commit})
	if err != nil {
		return nil, err
	}
	if err := srv.Start(); err != nil {
		return nil, errors.Join(err, drain(srv))
	}
	return srv, nil
}

// wait blocks until the context ends or the server fails, then closes the server: after a delay, in
// which balancers see at /readyz that it leaves.
func wait(ctx context.Context, srv *server.Server, delay time.Duration, log *slog.Logger) error {
	var failure error
	select {
	case <-ctx.Done():
		log.Info("draining; a second signal stops at once", "delay", delay, "limit", drainTime)
		srv.Leave()
		select {
		case <-time.After(delay):
		case failure = <-srv.Failed():
		}
	case failure = <-srv.Failed():
	}
	return errors.Join(failure, drain(srv))
}

func drain(srv *server.Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), drainTime)
	defer cancel()
	return srv.Close(ctx)
}

// logLevel can't fail: the configuration lets only these names pass.
func logLevel(name string) slog.Level {
	switch name {
	case "debug":
		return slog.LevelDebug
	case "warn":
		return slog.LevelWarn
	case "error":
		return slog.LevelError
	}
	return slog.LevelInfo
}
