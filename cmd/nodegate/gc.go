package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// gcCmd removes content that nobody needs any more.
type gcCmd struct {
	DryRun bool `help:"Print what would be removed, without removing it."`
	JSON   bool `name:"json" help:"Print JSON."`
}

// Run has the running server collect, or does it here when none runs.
func (cmd *gcCmd) Run(a *app) error {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	report, err := askServer(a.ctx, cfg, cmd.DryRun)
	if errors.Is(err, syscall.ECONNREFUSED) {
		report, err = collectHere(a.ctx, cfg, obs.NewLogger(a.stderr, cfg.Log.Format, max(logLevel(cfg.Log.Level), slog.LevelWarn)), cmd.DryRun)
	}
	if err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(a.stdout, report)
	}
	return cmd.print(a.stdout, report)
}

// collected is what a collection did, as the admin listener answers it.
type collected struct {
	Pins     int      `json:"pins"`
	Loose    int      `json:"loose"`
	Blocks   int      `json:"blocks"`
	Bytes    int64    `json:"bytes"`
	Segments int      `json:"segments"`
	Freed    int64    `json:"freed"`
	Unknown  []string `json:"unknown,omitempty"`
}

// askServer uses the admin listener: the store belongs to the server while it runs. It
// names the data folder, so that a server with another one refuses.
func askServer(ctx context.Context, cfg *config.Config, dryRun bool) (c collected, err error) {
	data, err := filepath.Abs(cfg.Data)
	if err != nil {
		return c, err
	}
	query := url.Values{"dry-run": {strconv.FormatBool(dryRun)}, "data": {data}}
	status, body, err := askAdmin(ctx, cfg, http.MethodPost, "/storage/gc?"+query.Encode())
	if err != nil {
		return c, err
	}
	switch text := safe(strings.TrimSpace(string(body))); status {
	case http.StatusOK:
		return c, json.Unmarshal(body, &c)
	case http.StatusConflict:
		return c, otherFolder(adminHost(cfg.AdminListen), text, safe(data))
	default:
		return c, &nodegate.Error{Code: nodegate.Busy, Msg: "the server answers: " + text}
	}
}

// otherFolder refuses to collect what the command doesn't mean.
func otherFolder(host, theirs, ours string) error {
	return &nodegate.Error{Code: nodegate.BadConfig, Msg: fmt.Sprintf("the server at %s uses the data folder %s, not %s: nothing was collected. "+
		"To collect there, use --data %s. To collect %s, name its server with --admin-listen, or stop this one", host, theirs, ours, theirs, ours)}
}

// collectHere opens the storage itself.
func collectHere(ctx context.Context, cfg *config.Config, log *slog.Logger, dryRun bool) (collected, error) {
	if !server.HasData(cfg) {
		return collected{}, noData(cfg)
	}
	r, err := server.Collect(ctx, cfg, log, dryRun)
	return collected(r), err
}

func (cmd *gcCmd) print(w io.Writer, c collected) error {
	did := "collected"
	if cmd.DryRun {
		did = "would collect"
	}
	_, err := fmt.Fprintf(w, "%s %d blocks of %d bytes (%d unpinned roots, %d uploads without a pin); %d bytes of disk freed\n", did, c.Blocks, c.Bytes, c.Pins, c.Loose, c.Freed)
	if len(c.Unknown) > 0 {
		_, err = fmt.Fprintf(w, "nothing is deleted while pinned content is damaged: %s\n", strings.Join(c.Unknown, ", "))
	}
	return err
}
