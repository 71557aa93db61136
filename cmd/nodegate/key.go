package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/obs"
	"github.com/nodegate/nodegate/internal/server"
)

// keyCmd are the commands about API keys.
type keyCmd struct {
	Create keyCreate `cmd:"" help:"Create a key and its secret, and print both. The secret is shown only once."`
	List   keyList   `cmd:"" help:"List the keys of an account by their first four digits."`
	Show   keyShow   `cmd:"" help:"Show a key: its settings, and what it used today."`
	Revoke keyRevoke `cmd:"" help:"Revoke a key permanently."`
	Rotate keyRotate `cmd:"" help:"Replace a key and its secret, and print the new values. The old values work until the overlap ends."`
	Set    keySet    `cmd:"" help:"Change a key's name and settings. Settings that you don't name stay as they are."`
}

// ofAccount is the flag that every command about keys has.
type ofAccount struct {
	Account string `placeholder:"ACCOUNT" help:"The account: its id or e-mail address. It can be left out if there is only one."`
}

// find returns the account that was named, or the only one.
//
// Returns InvalidInput where none was named and there are several.
func (o ofAccount) find(c *control) (*nodegate.Account, error) {
	if o.Account != "" {
		return c.find(o.Account)
	}
	accounts, err := c.Accounts.List(c.app.ctx, "", 2)
	switch {
	case err != nil:
		return nil, err
	case len(accounts) == 0:
		return nil, notFound("there is no account yet: create one with nodegate account create")
	case len(accounts) > 1:
		return nil, invalid("there are several accounts: name one with --account (nodegate account list shows all)")
	}
	return accounts[0], nil
}

type keyCreate struct {
	ofAccount
	Name string `placeholder:"NAME" help:"A name to recognize the key by."`
	settingsFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run makes the key.
func (cmd *keyCreate) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		var settings nodegate.KeySettings
		cmd.apply(&settings)
		issued, err := c.Accounts.CreateKey(a.ctx, c.actor, account.ID, cmd.Name, settings)
		if err != nil {
			return err
		}
		return a.printIssued(issued, cmd.JSON)
	})
}

type keyList struct {
	ofAccount
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints one key a line.
func (cmd *keyList) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		keys, err := c.Accounts.Keys(a.ctx, account.ID)
		if err != nil {
			return err
		}
		return printKeys(a.stdout, keys, cmd.JSON)
	})
}

type keyRevoke struct {
	ofAccount
	ID string `arg:"" help:"The key's id."`
	confirmed
	JSON bool `name:"json" help:"Print JSON."`
}

// Run ends the key.
func (cmd *keyRevoke) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		if err := cmd.confirm(a, "Revoke the key "+safe(obs.Redact(cmd.ID))+" of "+safe(account.Email)+" permanently"); err != nil {
			return err
		}
		if err := c.Accounts.RevokeKey(a.ctx, c.actor, account.ID, cmd.ID); err != nil {
			return noKey(err, account, cmd.ID)
		}
		return c.printKey(account.ID, cmd.ID, cmd.JSON)
	})
}

type keyRotate struct {
	ofAccount
	ID         string        `arg:"" help:"The key's id."`
	Overlap    time.Duration `default:"24h" placeholder:"TIME" help:"How long the old values still work. The default is 24h; 0 ends them at once."`
	KeyOnly    bool          `xor:"only" help:"Rotate only the key."`
	SecretOnly bool          `xor:"only" help:"Rotate only the secret."`
	JSON       bool          `name:"json" help:"Print JSON."`
}

// Run makes the new texts.
func (cmd *keyRotate) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		issued, err := c.Accounts.RotateKey(a.ctx, c.actor, account.ID, cmd.ID,
			server.Rotation{Value: !cmd.SecretOnly, Secret: !cmd.KeyOnly, Overlap: cmd.Overlap})
		if err != nil {
			return noKey(err, account, cmd.ID)
		}
		return a.printIssued(issued, cmd.JSON)
	})
}

type keySet struct {
	ofAccount
	ID   string  `arg:"" help:"The key's id."`
	Name *string `placeholder:"NAME" help:"A name to recognize the key by."`
	settingsFlags
	JSON bool `name:"json" help:"Print JSON."`
}

// Run changes what was named.
func (cmd *keySet) Run(a *app) error {
	if cmd.Name == nil && !cmd.given() {
		return invalid("nothing to change: name at least one setting (nodegate help key set lists them)")
	}
	return a.withControl(false, func(c *control) error {
		account, err := cmd.find(c)
		if err != nil {
			return err
		}
		err = c.Accounts.UpdateKey(a.ctx, c.actor, account.ID, cmd.ID, func(name *string, settings *nodegate.KeySettings) {
			if cmd.Name != nil {
				*name = *cmd.Name
			}
			cmd.apply(settings)
		})
		if err != nil {
			return noKey(err, account, cmd.ID)
		}
		return c.printKey(account.ID, cmd.ID, cmd.JSON)
	})
}

// printKey shows a key as it is after a change.
func (c *control) printKey(accountID, id string, asJSON bool) error {
	k, err := c.Accounts.Key(c.app.ctx, accountID, id)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(c.app.stdout, viewKey(k))
	}
	return printKeys(c.app.stdout, []*nodegate.Key{k}, false)
}

func printKeys(w io.Writer, keys []*nodegate.Key, asJSON bool) error {
	list := newLister(w, asJSON, "ID", "NAME", "KEY", "CREATED", "STATE", "SETTINGS")
	for _, k := range keys {
		v := viewKey(k)
		if err := list.add(v, k.ID, k.Name, v.Prefix+"...", at(k.Created), v.state(), describeSettings(k.Settings)); err != nil {
			return err
		}
	}
	return list.end()
}

// printIssued shows texts that can't be read again. The advice goes beside the
// output, so that the output is the texts alone.
func (a *app) printIssued(issued *server.IssuedKey, asJSON bool) error {
	v := viewKey(issued.Key)
	if asJSON {
		return writeJSON(a.stdout, issuedView{v, issued.Value, issued.Secret})
	}
	t := newTable(a.stdout)
	if issued.Value != "" {
		t.row("API key", issued.Value)
	}
	if issued.Secret != "" {
		t.row("secret", issued.Secret)
	}
	t.row("id", v.ID)
	t.row("account", v.Account)
	t.row("name", v.Name)
	t.row("state", v.state())
	t.row("settings", describeSettings(issued.Key.Settings))
	if issued.Secret != "" {
		fmt.Fprintln(a.stderr, "Copy the secret now. It can't be shown again.")
	}
	return t.flush()
}

// keyView is a key in JSON. Its text is never in it.
type keyView struct {
	ID             string               `json:"id"`
	Account        string               `json:"account"`
	Name           string               `json:"name"`
	Prefix         string               `json:"prefix"` // the first four digits
	State          string               `json:"state"`  // live or revoked
	Created        time.Time            `json:"created"`
	Revoked        time.Time            `json:"revoked,omitzero"`
	OldKeyUntil    time.Time            `json:"old_key_until,omitzero"`
	OldSecretUntil time.Time            `json:"old_secret_until,omitzero"`
	Settings       nodegate.KeySettings `json:"settings"`
}

// issuedView is a key in JSON with its new texts.
type issuedView struct {
	keyView
	Value  string `json:"api_key,omitempty"`
	Secret string `json:"api_key_secret,omitempty"`
}

func viewKey(k *nodegate.Key) keyView {
	v := keyView{ID: k.ID, Account: k.AccountID, Name: k.Name, State: "live", Created: k.Created, Revoked: k.Revoked, Settings: k.Settings}
	if !k.Live() {
		v.State = "revoked"
	}
	for i, version := range k.Values {
		if i == 0 {
			v.Prefix = version.Prefix
		} else if k.Live() && version.Expires.After(time.Now()) {
			v.OldKeyUntil = version.Expires
		}
	}
	for _, version := range k.Secrets[min(1, len(k.Secrets)):] {
		if k.Live() && version.Expires.After(time.Now()) {
			v.OldSecretUntil = version.Expires
		}
	}
	return v
}

func viewKeys(keys []*nodegate.Key) []keyView {
	views := make([]keyView, len(keys))
	for i, k := range keys {
		views[i] = viewKey(k)
	}
	return views
}

// state says in words what works.
func (v *keyView) state() string {
	words := []string{v.State}
	if !v.Revoked.IsZero() {
		words[0] += " " + at(v.Revoked)
	}
	if !v.OldKeyUntil.IsZero() {
		words = append(words, "old key until "+at(v.OldKeyUntil))
	}
	if !v.OldSecretUntil.IsZero() {
		words = append(words, "old secret until "+at(v.OldSecretUntil))
	}
	return strings.Join(words, ", ")
}
