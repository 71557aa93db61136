package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/nodegate/nodegate"
)

type accountRole struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Role    string `arg:"" enum:"operator,member" help:"operator or member."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run changes the role.
func (cmd *accountRole) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if err := c.Accounts.SetOperator(a.ctx, c.actor, account.ID, cmd.Role == "operator"); err != nil {
			return err
		}
		return c.printAgain(account.ID, cmd.JSON)
	})
}

type accountOperator struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	State   string `arg:"" enum:"on,off" help:"on or off."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run changes the role, in the words of the other switches.
func (cmd *accountOperator) Run(a *app) error {
	role := accountRole{Account: cmd.Account, Role: "member", JSON: cmd.JSON}
	if cmd.State == "on" {
		role.Role = "operator"
	}
	return role.Run(a)
}

type accountSuspend struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Off     bool   `help:"Resume the account."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run suspends the account, or ends that.
func (cmd *accountSuspend) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if err := c.Accounts.SetSuspended(a.ctx, c.actor, account.ID, !cmd.Off); err != nil {
			return err
		}
		return c.printAgain(account.ID, cmd.JSON)
	})
}

func describeSuspended(account *nodegate.Account) string {
	if account.Suspended.IsZero() {
		return "no"
	}
	return "since " + at(account.Suspended)
}

type accountDelete struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Export  string `placeholder:"FILE" help:"First write all that is stored about the account to this file, as JSON. The file must not exist."`
	Yes     bool   `help:"Delete without asking."`
}

// Run deletes the account. It asks first: nothing brings an account back.
func (cmd *accountDelete) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if err := cmd.confirm(a, account); err != nil {
			return err
		}
		if cmd.Export != "" {
			if err := c.exportTo(cmd.Export, account); err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "exported %s to %s\n", safe(account.Email), safe(cmd.Export))
		}
		if err := c.Accounts.Delete(a.ctx, c.actor, account.ID); err != nil {
			return err
		}
		fmt.Fprintf(a.stdout, "deleted %s (%s)\n", safe(account.Email), account.ID)
		return nil
	})
}

func (cmd *accountDelete) confirm(a *app, account *nodegate.Account) error {
	if cmd.Yes {
		return nil
	}
	if a.stdin.terminal() == nil {
		return invalid("no terminal to confirm on: add --yes to delete " + safe(account.Email))
	}
	answer, err := a.stdin.ask(a.stderr, "type "+safe(account.Email)+" to delete the account", false)
	if err != nil {
		return err
	}
	if answer != account.Email {
		return invalid("nothing was deleted: this is not the account's address")
	}
	return nil
}

type accountExport struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
}

// Run prints the export.
func (cmd *accountExport) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		return c.export(a.stdout, account)
	})
}

func (c *control) export(w io.Writer, account *nodegate.Account) error {
	return c.Accounts.WriteExport(c.app.ctx, w, account.ID, func(each func(nodegate.Pin) bool) error { return c.eachPin(account.ID, each) })
}

// exportTo writes the export to a new file that only this user can read. Without a whole one
// there is none.
func (c *control) exportTo(path string, account *nodegate.Account) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return invalid("the file " + safe(path) + " exists: nothing was deleted. Choose another name for the export")
	}
	if err != nil {
		return err
	}
	if err := errors.Join(c.export(f, account), f.Sync(), f.Close()); err != nil {
		_ = os.Remove(path)
		return fmt.Errorf("can't export, and nothing was deleted: %w", err)
	}
	return nil
}
