package main

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

// benchNetwork is the name of the measured network; a key's path follows it.
const (
	benchNetwork = "bench"
	benchPath    = "/" + benchNetwork + "/v3/"
	benchWSPath  = "/" + benchNetwork + "/ws/v3/"
)

// nodegateServer is the whole service.
type nodegateServer struct {
	server *server.Server
}

// defaultConfig is what a newcomer starts, except for ports and folder.
func defaultConfig(c childFlags) *config.Config {
	cfg := config.Default()
	cfg.Data = c.data
	cfg.Listen, cfg.AdminListen, cfg.StorageListen = "127.0.0.1:0", "127.0.0.1:0", "127.0.0.1:0"
	return cfg
}

// benchConfig serves the benchmark's chain and leaves every other setting at its default.
func benchConfig(c childFlags) *config.Config {
	cfg := defaultConfig(c)
	cfg.Networks = []config.Network{{
		Name: benchNetwork, Dialect: "spec", Cache: cfg.Networks[0].Cache, Embedded: &config.Embedded{Genesis: c.genesis, Chain: c.chain},
	}}
	cfg.DefaultNetwork = benchNetwork
	return cfg
}

func openNodegate(cfg *config.Config, log *slog.Logger) (served, error) {
	server.TuneRuntime()
	srv, err := server.New(cfg, log, server.Build{Version: "bench"})
	if err != nil {
		return nil, err
	}
	s := &nodegateServer{server: srv}
	if err := srv.Start(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *nodegateServer) hello() hello {
	at := s.server.Addresses()
	h := hello{RPC: at.RPC, Admin: at.Admin}
	if first := s.server.FirstKey(); first != nil { // the measured server starts on an empty folder
		h.Key = first.Value
	}
	return h
}

func (s *nodegateServer) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return s.server.Close(ctx)
}
