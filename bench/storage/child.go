package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// childCommand is the hidden first argument of a process that serves.
const childCommand = "child"

// hello is a child's only line: where it listens and who may come in.
type hello struct{ Storage, Admin, Key, Secret string }

// runChild serves until standard input ends, which it also does when the parent dies.
func runChild(args []string) error {
	signal.Ignore(os.Interrupt, syscall.SIGTERM) // the terminal sends it to both; the parent closes in order
	if len(args) != 1 {
		return errors.New("which folder?")
	}
	server.TuneRuntime()
	srv, err := server.New(benchConfig(args[0]), obs.NewLogger(os.Stderr, "text", slog.LevelError), server.Build{Version: "bench"})
	if err != nil {
		return err
	}
	if err = srv.Start(); err == nil {
		err = json.NewEncoder(os.Stdout).Encode(helloOf(srv))
	}
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return errors.Join(err, srv.Close(ctx))
}

// benchConfig is the default on free ports. Unpinned content goes at the first
// collection, so that there is something to collect; no collection begins by itself
// while the benchmark runs.
func benchConfig(dir string) *config.Config {
	cfg := config.Default()
	cfg.Data = dir
	cfg.Listen, cfg.AdminListen, cfg.StorageListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	cfg.Storage.Undo = 0
	cfg.Storage.Collect = 24 * time.Hour
	return cfg
}

func helloOf(srv *server.Server) hello {
	at := srv.Addresses()
	h := hello{Storage: at.Storage, Admin: at.Admin}
	if first := srv.FirstKey(); first != nil { // only on an empty folder
		h.Key, h.Secret = first.Value, first.Secret
	}
	return h
}
