package main

import (
	"fmt"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/server"
)

type accountReset struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run prints the link.
func (cmd *accountReset) Run(a *app) error {
	return a.printLink(nodegate.LinkReset, cmd.Account, "", cmd.JSON)
}

type accountVerify struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run prints the link.
func (cmd *accountVerify) Run(a *app) error {
	return a.printLink(nodegate.LinkVerify, cmd.Account, "", cmd.JSON)
}

type accountEmail struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Email   string `arg:"" help:"The new e-mail address."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run prints the link.
func (cmd *accountEmail) Run(a *app) error {
	return a.printLink(nodegate.LinkEmail, cmd.Account, cmd.Email, cmd.JSON)
}

// printLink makes a link for somebody's account. Whoever opens it needs nothing else, so it
// goes to the output alone.
func (a *app) printLink(purpose nodegate.LinkPurpose, idOrEmail, email string, asJSON bool) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(idOrEmail)
		if err != nil {
			return err
		}
		token, link, err := c.Accounts.NewLink(a.ctx, c.actor, purpose, account.ID, email)
		if err != nil {
			return err
		}
		url := server.LinkURL(c.cfg, token)
		if asJSON {
			return writeJSON(a.stdout, struct {
				URL     string    `json:"url"`
				Email   string    `json:"email"`
				Expires time.Time `json:"expires"`
			}{url, link.Email, link.Expires})
		}
		fmt.Fprintln(a.stdout, url)
		fmt.Fprintf(a.stderr, "The link works once, until %s. Send it only to the owner of %s.\n", at(link.Expires), safe(link.Email))
		return nil
	})
}
