package main

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/nodegate/nodegate/internal/server"
)

// restoreCmd puts a backup into an empty data folder.
type restoreCmd struct {
	Path           string `arg:"" name:"dir|file" help:"The backup."`
	Snapshot       string `placeholder:"NAME" help:"Which backup in a folder to restore; the newest by default."`
	PassphraseFile string `placeholder:"FILE" help:"Read the passphrase of an encrypted backup from this file (also NODEGATE_BACKUP_PASSPHRASE)."`
	JSON           bool   `name:"json" help:"Print JSON."`
}

// Run restores into the configured data folder.
func (cmd *restoreCmd) Run(a *app) error {
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	passphrase, err := readPassphrase(cmd.PassphraseFile)
	if err != nil {
		return err
	}
	cfg, err := a.load()
	if err != nil {
		return err
	}
	r, err := server.Restore(ctx, cfg, cmd.Path, passphrase, cmd.Snapshot)
	if err != nil {
		return err
	}
	if cmd.JSON {
		return writeJSON(a.stdout, r)
	}
	_, err = fmt.Fprintf(a.stdout, "Backup %s of %s restored into %s: %d files of %d bytes. Start nodegate with this data folder.\n",
		r.Snapshot, r.Created.Format(time.DateTime), safe(r.Data), r.Files, r.Bytes)
	return errors.Join(err, printAlso(a.stdout, r.Elsewhere))
}
