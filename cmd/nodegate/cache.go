package main

import (
	"fmt"
	"log/slog"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// cacheCmd are the commands about cached responses.
type cacheCmd struct {
	Purge cachePurge `cmd:"" help:"Remove the cached responses that servers share over Redis."`
}

type cachePurge struct {
	Network string `placeholder:"NAME" help:"Remove the responses of this network only."`
	confirmed
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints how many responses were removed.
func (cmd *cachePurge) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if cmd.Network != "" && !hasNetwork(cfg, cmd.Network) {
		return notFound(fmt.Sprintf("there is no network %q; there are %s", cmd.Network, networkNames(cfg)))
	}
	if err := cmd.confirm(a, "Remove the shared responses, for all servers"); err != nil {
		return err
	}
	log := obs.NewLogger(a.stderr, cfg.Log.Format, max(logLevel(cfg.Log.Level), slog.LevelError))
	removed, err := server.PurgeCache(a.ctx, cfg, log, cmd.Network)
	if err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(a.stdout, struct {
			Removed int64 `json:"removed"`
		}{removed})
	}
	_, err = fmt.Fprintf(a.stdout, "removed %d responses from the shared cache\n", removed)
	return err
}

func hasNetwork(cfg *config.Config, name string) bool {
	for i := range cfg.Networks {
		if cfg.Networks[i].Name == name {
			return true
		}
	}
	return false
}
