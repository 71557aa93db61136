package main

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/user"
	"strconv"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// control is the account store, opened for one command. A server may run on the
// same store: it follows what changes here within a second.
type control struct {
	*server.Control
	app   *app
	cfg   *config.Config
	actor nodegate.Actor
}

// withControl opens the store for do and closes it again. Only a command that
// makes accounts may make the store: any other would find nothing in a new one.
func (a *app) withControl(mayMake bool, do func(*control) error) (err error) {
	cfg, err := a.load()
	if err != nil {
		return err
	}
	if !mayMake && !server.HasStore(cfg) {
		return noData(cfg)
	}
	log := obs.NewLogger(a.stderr, cfg.Log.Format, max(logLevel(cfg.Log.Level), slog.LevelWarn))
	opened, err := server.OpenControl(a.ctx, cfg, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, opened.Close()) }()
	return do(&control{Control: opened, app: a, cfg: cfg, actor: nodegate.Actor{Name: "command line", From: userName()}})
}

// noData refuses a folder that no server has used.
func noData(cfg *config.Config) error {
	return &nodegate.Error{Code: nodegate.BadConfig, Msg: fmt.Sprintf("no nodegate data in %s: use --data or --config to name the server's data folder, or start nodegate there first", safe(cfg.Data))}
}

// userName is who runs the command, for the audit log.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "user " + strconv.Itoa(os.Getuid())
}

// find returns an account by its id or e-mail address.
//
// Returns NotFound.
func (c *control) find(idOrEmail string) (*nodegate.Account, error) {
	account, err := c.Accounts.Find(c.app.ctx, idOrEmail)
	if errors.Is(err, nodegate.NotFound) {
		return nil, notFound(fmt.Sprintf("there is no account %q: nodegate account list shows all", obs.Redact(idOrEmail)))
	}
	return account, err
}

// noKey says where to look for a key that account doesn't have. Somebody else's
// key and none at all are the same.
func noKey(err error, account *nodegate.Account, id string) error {
	if errors.Is(err, nodegate.NotFound) {
		return notFound(fmt.Sprintf("%s has no live key with the id %q: nodegate key list --account %s shows its keys", safe(account.Email), obs.Redact(id), safe(account.Email)))
	}
	return err
}

func notFound(msg string) error { return &nodegate.Error{Code: nodegate.NotFound, Msg: msg} }

func invalid(msg string) error { return &nodegate.Error{Code: nodegate.InvalidInput, Msg: msg} }
