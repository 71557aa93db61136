package main

import (
	"fmt"
	"io"
	"log/slog"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// rehearse is serve --dry-run.
func (cmd serveCmd) rehearse(a *app, cfg *config.Config) error {
	if cfg.Store.Postgres == "" && !server.HasData(cfg) {
		return noData(cfg)
	}
	log := obs.NewLogger(a.stderr, cfg.Log.Format, max(logLevel(cfg.Log.Level), slog.LevelWarn))
	r, err := server.Rehearse(a.ctx, cfg, log)
	if err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(a.stdout, r)
	}
	return printRehearsal(a.stdout, r)
}

func printRehearsal(w io.Writer, r *server.RehearsalReport) error {
	t := newTable(w)
	t.row("data folder", fmt.Sprintf("%s, format %s", safe(r.Data), step(r.Format, r.FormatTo)))
	t.row("account store", fmt.Sprintf("%s, tables %s", r.Database, step(r.Tables, r.TablesTo)))
	if r.Tried {
		t.row("tried", fmt.Sprintf("on a copy of %s, in %.1f s", size(r.Bytes), r.Seconds))
	}
	if err := t.flush(); err != nil {
		return err
	}
	if err := printAlso(w, r.Notes); err != nil {
		return err
	}
	verdict := "A start of this version changes no format."
	if r.Changes() {
		verdict = "A start of this version makes these changes. An older version can't open the data after that: back up first."
		if r.Tables == r.TablesTo {
			verdict = "A start of this version records the format. Nothing else changes."
		}
	}
	_, err := fmt.Fprintln(w, verdict+" Nothing was changed now.")
	return err
}

// step shows a number, and the one that follows it.
func step(from, to int) string {
	if from == to {
		return fmt.Sprint(from)
	}
	return fmt.Sprintf("%d -> %d", from, to)
}
