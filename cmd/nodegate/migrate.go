package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// migrateCmd moves from SQLite to Postgres.
type migrateCmd struct {
	ToConfig string `required:"" placeholder:"FILE" help:"The configuration to move to, with store.postgres or store.postgres_file."`
	DryRun   bool   `help:"Print what would be moved, without moving it."`
	JSON     bool   `name:"json" help:"Print JSON."`
}

// Run moves, with the server stopped.
func (cmd *migrateCmd) Run(a *app) error {
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	from, to, err := cmd.configs(a)
	if err != nil {
		return err
	}
	if !server.HasData(from) {
		return noData(from)
	}
	log := obs.NewLogger(a.stderr, from.Log.Format, max(logLevel(from.Log.Level), slog.LevelWarn))
	r, err := server.Migrate(ctx, from, to, log, cmd.DryRun)
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return &nodegate.Error{Code: nodegate.Timeout, Msg: "interrupted: run the command again to continue; the source is unchanged", Err: err}
	}
	if err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(a.stdout, r)
	}
	return cmd.print(a, r)
}

// configs loads both configurations. The environment is the one of the destination: there
// it may name a Postgres, which the source has none of.
func (cmd *migrateCmd) configs(a *app) (from, to *config.Config, err error) {
	env := slices.DeleteFunc(os.Environ(), func(line string) bool { return strings.HasPrefix(line, "NODEGATE_STORE_") })
	if from, err = loadConfig(config.Options{File: a.cli.ConfigFile, Env: env, Flags: a.cli.flags()}); err != nil {
		return nil, nil, err
	}
	to, err = loadConfig(config.Options{File: cmd.ToConfig, Env: os.Environ()})
	return from, to, err
}

func (cmd *migrateCmd) print(a *app, r *server.MigrateReport) error {
	if r.Before {
		_, err := fmt.Fprintf(a.stdout, "Nothing to do: an earlier run moved everything from %s. Start nodegate with --config %s.\n", safe(r.From), safe(cmd.ToConfig))
		return err
	}
	head := "Moved from %s to Postgres (%s):\n\n"
	if r.DryRun {
		head = "Would move from %s to Postgres (%s):\n\n"
	}
	fmt.Fprintf(a.stdout, head, safe(r.From), safe(r.To))
	t := newTable(a.stdout)
	for _, m := range r.Moved {
		t.row(m.Kind, strconv.FormatInt(m.Count, 10))
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.stdout)
	if err := printAlso(a.stdout, r.Notes); err != nil || r.DryRun {
		return err
	}
	_, err := fmt.Fprintf(a.stdout, "The audit log verifies, and the source is unchanged. Start nodegate with --config %s.\n", safe(cmd.ToConfig))
	return err
}
