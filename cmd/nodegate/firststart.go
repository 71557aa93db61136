package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
)

// credentialsFile holds what the first start made, where output is no terminal.
const credentialsFile = "first-start.txt"

// welcome prints the banner. Credentials go to a terminal or into a file, never into
// the log of a service manager.
func (a *app) welcome(cfg *config.Config, srv *server.Server, log *slog.Logger) {
	hidden := ""
	if srv.First() != nil && !onTerminal(a.stdout) {
		hidden = filepath.Join(cfg.Data, credentialsFile)
		if err := writePrivate(hidden, credentials(cfg, srv)+"\n  Delete this file when you have stored them.\n"); err != nil {
			email := srv.First().Email
			log.Error("can't write the credentials of the first account: set a password with nodegate account password "+email+
				" and create a key with nodegate key create --account "+email, "file", hidden, "err", err)
		}
	}
	fmt.Fprint(a.stdout, banner(cfg, srv, readBuild(), hidden))
}

func onTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && f != nil && isTerminal(f)
}

// writePrivate puts a file in place whole, readable by its owner only.
func writePrivate(path, text string) error {
	temp, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	_, err = temp.WriteString(text)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
