package main

import (
	"errors"
	"log/slog"
	"net/url"
	"path/filepath"
	"time"

	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/internal/config"
)

// runChild serves a folder.
func runChild(args []string) error {
	if len(args) != 1 {
		return errors.New("which folder?")
	}
	return child.Serve(func(log *slog.Logger) (child.Server, error) { return child.Open(benchConfig(args[0]), log) })
}

// benchConfig is the default on free ports. Unpinned content goes at the first
// collection, so that there is something to collect; no collection begins by itself
// while the benchmark runs.
func benchConfig(dir string) *config.Config {
	cfg := child.Config(dir)
	cfg.Storage.Undo = 0
	cfg.Storage.Collect = 24 * time.Hour
	return cfg
}

// startServer starts the service on a folder below dir.
func startServer(dir string) (*child.Process, error) { return child.Start(filepath.Join(dir, "data")) }

// targetsOf are the two ways to a server.
func targetsOf(p *child.Process) []*target {
	at, _ := url.Parse(p.Storage) // the server's own
	base := target{host: at.Host, auth: basic(url.UserPassword(p.Key, p.Secret)), usage: p.Usage(), collect: p.Admin + "/storage/gc"}
	plain, secure := base, base
	plain.name, secure.name, secure.tls = "http", "https", true
	return []*target{&plain, &secure}
}

// beforeName is how the report calls another build.
const beforeName = "before"

// beforeOf is the plain way to another build.
func beforeOf(p *child.Process) *target {
	t := targetsOf(p)[0]
	t.name = beforeName
	return t
}
