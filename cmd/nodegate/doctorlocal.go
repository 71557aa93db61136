package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

// localTime bounds the questions to the server on this machine.
const localTime = 10 * time.Second

// localChecks are about the server on this machine: whether it runs and is ready, or
// whether one could listen.
func localChecks(ctx context.Context, cfg *config.Config) []server.Check {
	ctx, cancel := context.WithTimeout(ctx, localTime)
	defer cancel()
	status, body, err := askAdmin(ctx, cfg, http.MethodGet, "/status")
	host := adminHost(cfg.AdminListen)
	switch {
	case unasked(err):
		return []server.Check{{Name: "server", Status: server.CheckNote, Detail: "no server at " + host + ": skipped the checks that need a running server"}, portCheck(ctx, cfg)}
	case err != nil:
		return []server.Check{{Name: "server", Status: server.CheckProblem, Detail: "the admin listener at " + host + " doesn't answer: " + err.Error()}}
	}
	var s shownStatus
	if status != http.StatusOK || json.Unmarshal(body, &s) != nil || s.Version == "" {
		return []server.Check{{Name: "server", Status: server.CheckProblem, Detail: fmt.Sprintf("something other than nodegate answers at %s (admin_listen): status %d", host, status)}}
	}
	return []server.Check{runningCheck(ctx, cfg, &s)}
}

// unasked is for an address at which nobody listens, or that is no address yet.
func unasked(err error) bool {
	var address *net.AddrError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.As(err, &address)
}

// runningCheck asks the running server whether it is ready.
func runningCheck(ctx context.Context, cfg *config.Config, s *shownStatus) server.Check {
	c := server.Check{Name: "server", Status: server.CheckProblem}
	status, body, err := askAdmin(ctx, cfg, http.MethodGet, "/readyz")
	ours, _ := filepath.Abs(cfg.Data)
	theirs, _ := filepath.Abs(s.Data)
	switch {
	case err != nil:
		c.Detail = "it stopped answering: " + err.Error()
	case status != http.StatusOK:
		c.Detail = "it runs and is not ready: " + strings.TrimSpace(string(body))
	case len(s.Problems) > 0:
		c.Detail = "it runs, with problems: " + strings.Join(s.Problems, "; ")
	case filepath.IsAbs(s.Data) && ours != theirs:
		c.Status, c.Detail = server.CheckNote, "it runs and is ready, with another data folder: "+s.Data
	default:
		c.Status, c.Detail = server.CheckOK, fmt.Sprintf("%s runs and is ready, JSON-RPC at %s", s.Version, s.Listeners.RPC)
	}
	return c
}

// portCheck tries to listen where the server will.
func portCheck(ctx context.Context, cfg *config.Config) server.Check {
	c := server.Check{Name: "ports", Status: server.CheckOK}
	listen := map[string]string{"listen": cfg.Listen, "admin_listen": cfg.AdminListen}
	if cfg.Storage.Engine != "off" {
		listen["storage_listen"] = cfg.StorageListen
	}
	var free, taken []string
	for _, name := range []string{"listen", "storage_listen", "admin_listen"} {
		address, ok := listen[name]
		if !ok {
			continue
		}
		ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			taken = append(taken, fmt.Sprintf("%s %s: %v", name, address, errors.Unwrap(err)))
			continue
		}
		_ = ln.Close()
		free = append(free, address)
	}
	if c.Detail = "free: " + strings.Join(free, ", "); len(taken) > 0 {
		c.Status, c.Detail = server.CheckProblem, "can't listen: "+strings.Join(taken, "; ")
	}
	return c
}
