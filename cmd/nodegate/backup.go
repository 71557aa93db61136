package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

// backupCmd copies the data folder, beside a running server or without one.
type backupCmd struct {
	Path           string `arg:"" name:"dir|file" help:"A folder, which later backups add to, or a new file that ends in .tar."`
	Verify         bool   `help:"Verify a backup against its checksums instead of creating one."`
	Keep           int    `default:"7" placeholder:"N" help:"How many backups to keep in a folder: 7 by default, 0 keeps all."`
	PassphraseFile string `placeholder:"FILE" help:"Encrypt with the passphrase in this file (also NODEGATE_BACKUP_PASSPHRASE)."`
	JSON           bool   `name:"json" help:"Print JSON."`
}

// Run makes or verifies a backup.
func (cmd *backupCmd) Run(a *app) error {
	ctx, stop := signal.NotifyContext(a.ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	passphrase, err := readPassphrase(cmd.PassphraseFile)
	if err != nil {
		return err
	}
	if cmd.Verify {
		return cmd.verify(ctx, a, passphrase)
	}
	if cmd.Keep < 0 {
		return invalid("--keep is a number of backups, or 0 for all")
	}
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if !server.HasData(cfg) {
		return noData(cfg)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r, err := server.Backup(ctx, cfg, func(ctx context.Context) (*server.RunningServer, error) { return holdServer(ctx, cfg, cancel) },
		server.BackupOptions{Path: cmd.Path, Passphrase: passphrase, Version: readBuild().version, Keep: cmd.Keep})
	if err != nil {
		return interrupted(ctx, err)
	}
	if cmd.JSON {
		return writeJSON(a.stdout, r)
	}
	return cmd.print(a.stdout, r)
}

// interrupted says why a backup ended early, where the reason is not its own.
func interrupted(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	switch {
	case cause == nil:
		return err
	case errors.Is(cause, context.Canceled):
		return &nodegate.Error{Code: nodegate.Timeout, Msg: "interrupted: there is no new backup, and earlier ones are unchanged"}
	}
	return cause
}

func (cmd *backupCmd) print(w io.Writer, r *server.BackupReport) error {
	how := "no server runs on it"
	if r.Running {
		how = "beside the running server"
	}
	_, err := fmt.Fprintf(w, "Backup %s written to %s (%s): %d files of %d bytes, %d bytes new.\n", r.Snapshot, safe(r.Path), how, r.Files, r.Bytes, r.New)
	if err == nil && r.Removed > 0 {
		_, err = fmt.Fprintf(w, "Removed %d older backups (--keep %d).\n", r.Removed, cmd.Keep)
	}
	return errors.Join(err, printAlso(w, r.Elsewhere))
}

// printAlso names what else has to be done.
func printAlso(w io.Writer, list []string) (err error) {
	for _, line := range list {
		_, e := fmt.Fprintf(w, "Note: %s.\n", safe(line))
		err = errors.Join(err, e)
	}
	return err
}

// verify prints what was read. Damage is a failure.
func (cmd *backupCmd) verify(ctx context.Context, a *app, passphrase string) error {
	v, err := server.VerifyBackup(ctx, cmd.Path, passphrase)
	if err != nil {
		return err
	}
	if cmd.JSON {
		err = writeJSON(a.stdout, map[string]any{
			"snapshots": v.Snapshots, "files": v.Files, "chunks": v.Chunks, "bytes": v.Bytes, "damaged": append([]string{}, v.Damaged...),
		})
	} else {
		for _, line := range v.Damaged {
			fmt.Fprintln(a.stdout, safe(line))
		}
		_, err = fmt.Fprintf(a.stdout, "verified %d backups: %d files in %d chunks of %d bytes\n", v.Snapshots, v.Files, v.Chunks, v.Bytes)
	}
	if err == nil && len(v.Damaged) > 0 {
		err = &nodegate.Error{Code: nodegate.Damaged, Msg: fmt.Sprintf("%d parts of the backup are damaged or missing: remove the files listed above and run the backup again to write the missing parts", len(v.Damaged))}
	}
	return err
}

const passphraseVariable = "NODEGATE_BACKUP_PASSPHRASE"

// readPassphrase takes the passphrase from a file or the environment. Arguments are seen by
// everybody on the machine.
func readPassphrase(file string) (string, error) {
	text := os.Getenv(passphraseVariable)
	if file != "" {
		data, err := os.ReadFile(file)
		if err != nil {
			return "", &nodegate.Error{Code: nodegate.BadConfig, Msg: "can't read the passphrase in " + safe(file), Err: err}
		}
		if text = strings.TrimRight(string(data), "\r\n"); text == "" {
			return "", invalid("the passphrase in " + safe(file) + " is empty")
		}
	}
	return text, nil
}

// holdServer asks the running server to take part. It does until the backup ends; when the
// server goes away first, so does the backup.
func holdServer(ctx context.Context, cfg *config.Config, cancel context.CancelCauseFunc) (*server.RunningServer, error) {
	data, err := filepath.Abs(cfg.Data)
	if err != nil {
		return nil, err
	}
	query := "?" + url.Values{"data": {data}}.Encode()
	res, err := postAdmin(ctx, cfg, "/backup"+query, data)
	if err != nil {
		return nil, err
	}
	lines := json.NewDecoder(res.Body)
	s := &server.RunningServer{}
	if err := lines.Decode(&s.Held); err != nil {
		_ = res.Body.Close()
		return nil, err
	}
	go func() {
		defer res.Body.Close()
		_, err := io.Copy(io.Discard, res.Body) // until the server or the context ends
		cancel(&nodegate.Error{Code: nodegate.Busy, Msg: "the server stopped during the backup: start it and run the backup again", Err: err})
	}()
	s.Network = func(ctx context.Context, name string) (io.ReadCloser, error) {
		res, err := postAdmin(ctx, cfg, "/backup/networks/"+url.PathEscape(name)+query, data)
		if err != nil {
			return nil, err
		}
		return res.Body, nil
	}
	return s, nil
}

// postAdmin sends a request about this data folder to the running server.
func postAdmin(ctx context.Context, cfg *config.Config, path, data string) (*http.Response, error) {
	host := adminHost(cfg.AdminListen)
	res, err := openAdmin(ctx, cfg, http.MethodPost, path)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return nil, &nodegate.Error{Code: nodegate.BadConfig, Msg: "a server uses the data folder " + safe(data) + ", and its admin listener is not at " + host + ": name it with --admin-listen or --config, or stop the server"}
	}
	if err != nil || res.StatusCode == http.StatusOK {
		return res, err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxAdminAnswer))
	text := safe(strings.TrimSpace(string(body)))
	if res.StatusCode == http.StatusConflict {
		return nil, &nodegate.Error{Code: nodegate.BadConfig, Msg: "the server at " + host + " uses the data folder " + text + ", not " + safe(data) + ": name its own server with --admin-listen, or stop this one"}
	}
	return nil, &nodegate.Error{Code: nodegate.Busy, Msg: "the server at " + host + " answers: " + text}
}
