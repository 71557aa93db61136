package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/disk"
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
		if err := disk.WriteFile(hidden, []byte(credentials(cfg, srv)+"\n  Delete this file when you have stored them.\n")); err != nil {
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
