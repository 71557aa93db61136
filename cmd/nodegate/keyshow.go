package main

import (
	"strconv"

	"github.com/nodegate/nodegate"
)

type keyShow struct {
	ofAccount
	ID   string `arg:"" help:"The key's id."`
	JSON bool   `name:"json" help:"Print JSON."`
}

// Run prints all about a key but its value and its secret, which can't be read again.
func (cmd *keyShow) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		k, err := c.Accounts.Key(a.ctx, account.ID, cmd.ID)
		if err != nil {
			return noKey(err, account, cmd.ID)
		}
		used, err := c.usedToday(account.ID, k.ID)
		if err != nil {
			return err
		}
		if cmd.JSON {
			return writeJSON(a.stdout, struct {
				keyView
				CreditsToday int64 `json:"credits_today"`
			}{viewKey(k), used})
		}
		return c.showKey(account, k, used)
	})
}

func (c *control) showKey(account *nodegate.Account, k *nodegate.Key, used int64) error {
	v := viewKey(k)
	t := newTable(c.app.stdout)
	t.row("id", v.ID)
	t.row("account", account.Email)
	t.row("name", v.Name)
	t.row("key", v.Prefix+"...")
	t.row("state", v.state())
	t.row("created", at(v.Created))
	t.row("settings", describeSettings(k.Settings))
	t.row("credits used today", strconv.FormatInt(used, 10))
	return t.flush()
}
