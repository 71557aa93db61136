package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/server"
)

// accountCmd are the commands about accounts.
type accountCmd struct {
	Create      accountCreate      `cmd:"" help:"Create an account. The command prompts for the password, or reads it from a line of input."`
	List        accountList        `cmd:"" help:"List the accounts."`
	Show        accountShow        `cmd:"" help:"Show an account: its plan, card, keys and the credits used today."`
	Plan        accountPlan        `cmd:"" help:"Move an account to another plan."`
	Development accountDevelopment `cmd:"" help:"Grant the scope development to all keys of an account: they can change and trace embedded chains. --off withdraws it."`
	Password    accountPassword    `cmd:"" help:"Set an account's password and end its sessions. The command prompts for it, or reads it from a line of input."`
	Reset       accountReset       `cmd:"" help:"Print a link for an account's owner to choose a new password. It works once, for 24 hours."`
	Verify      accountVerify      `cmd:"" help:"Print a link for an account's owner to verify the e-mail address."`
	Email       accountEmail       `cmd:"" help:"Print a link for an account's owner to move to another e-mail address."`
	Role        accountRole        `cmd:"" help:"Change the role of an account: operator or member."`
	Operator    accountOperator    `cmd:"" help:"Make an account an operator (on) or a member (off)."`
	Suspend     accountSuspend     `cmd:"" help:"Suspend an account: its keys and sessions stop working until you resume it with --off."`
	Delete      accountDelete      `cmd:"" help:"Delete an account permanently, with its keys and pins; --export saves what is stored about it first."`
	Export      accountExport      `cmd:"" help:"Print all that is stored about an account as JSON, with its pins."`
	Card        accountCard        `cmd:"" help:"Add a billing card to an account. The command prompts for it, or reads three lines of input: number, expiry (MM/YY), security code."`
}

// page is how many accounts or audit entries are read at once.
const page = 1000

type accountCreate struct {
	Email         string `arg:"" help:"The e-mail address."`
	Plan          string `placeholder:"PLAN" help:"The plan; without it the configured default_plan."`
	PasswordStdin bool   `xor:"password" help:"Read the password from the first line of input."`
	NoPassword    bool   `xor:"password" help:"Create an account that can't sign in."`
	Operator      bool   `help:"Make the account an operator."`
	Development   bool   `help:"Grant the scope development to the account's keys."`
	JSON          bool   `name:"json" help:"Print JSON."`
}

// Run makes the account.
func (cmd *accountCreate) Run(a *app) error {
	return a.withControl(true, func(c *control) error {
		n := server.NewAccount{Email: cmd.Email, Plan: cmd.Plan, Operator: cmd.Operator, Development: cmd.Development}
		if !cmd.NoPassword {
			if !cmd.PasswordStdin && a.stdin.terminal() == nil {
				return invalid("there is no terminal to ask for the password: use --password-stdin or --no-password")
			}
			var err error
			if n.Password, err = a.stdin.password(a.stderr); err != nil {
				return err
			}
		}
		account, err := c.Accounts.Create(a.ctx, c.actor, n)
		if err != nil {
			return err
		}
		return a.printAccount(account, cmd.JSON)
	})
}

type accountPassword struct {
	Account       string `arg:"" help:"The account: its id or e-mail address."`
	PasswordStdin bool   `help:"Read the password from the first line of input."`
}

// Run sets the password.
func (cmd *accountPassword) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if !cmd.PasswordStdin && a.stdin.terminal() == nil {
			return invalid("there is no terminal to ask for the password: use --password-stdin")
		}
		password, err := a.stdin.password(a.stderr)
		if err != nil {
			return err
		}
		return c.Accounts.SetPassword(a.ctx, c.actor, account.ID, password)
	})
}

type accountList struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// Run prints one account a line.
func (cmd *accountList) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		list := newLister(a.stdout, cmd.JSON, "ID", "EMAIL", "PLAN", "CARD", "CREATED")
		for after := ""; ; {
			accounts, err := c.Accounts.List(a.ctx, after, page)
			if err != nil {
				return err
			}
			for _, account := range accounts {
				after = account.ID
				if err := list.add(viewAccount(account), account.ID, account.Email, account.Plan, describeCard(account.Card), at(account.Created)); err != nil {
					return err
				}
			}
			if len(accounts) < page {
				return list.end()
			}
			if err := list.flush(); err != nil {
				return err
			}
		}
	})
}

type accountShow struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run prints all about an account.
func (cmd *accountShow) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		keys, err := c.Accounts.Keys(a.ctx, account.ID)
		if err != nil {
			return err
		}
		used, err := c.usedToday(account.ID, "")
		if err != nil {
			return err
		}
		if cmd.JSON {
			return writeJSON(a.stdout, struct {
				accountView
				CreditsToday int64     `json:"credits_today"`
				Limits       *planView `json:"limits"`
				Keys         []keyView `json:"keys"`
			}{viewAccount(account), used, viewPlan(c.Plans, account.Plan), viewKeys(keys)})
		}
		return c.showAccount(account, keys, used)
	})
}

// usedToday is what the account, or one key of it, has spent since 00:00 UTC.
func (c *control) usedToday(accountID, keyID string) (int64, error) {
	today := nodegate.ByDay.Start(time.Now())
	rows, err := c.Store.Usage(c.app.ctx, nodegate.UsageQuery{AccountID: accountID, KeyID: keyID, From: today, To: today.AddDate(0, 0, 1), By: nodegate.ByDay})
	used := int64(0)
	for i := range rows {
		used += rows[i].Credits
	}
	return used, err
}

func (c *control) showAccount(account *nodegate.Account, keys []*nodegate.Key, used int64) error {
	t := newTable(c.app.stdout)
	t.row("account", account.ID)
	t.row("email", account.Email)
	t.row("plan", account.Plan+describePlan(c.Plans[account.Plan]))
	t.row("card", describeCard(account.Card))
	t.row("operator", yesNo(account.Operator))
	t.row("suspended", describeSuspended(account))
	t.row("verified", yesNo(!account.Unverified))
	t.row("development", yesNo(account.Development))
	t.row("password", yesNo(account.Password != ""))
	t.row("created", at(account.Created))
	t.row("credits used today", strconv.FormatInt(used, 10))
	t.row("keys", strconv.Itoa(len(keys)))
	if err := t.flush(); err != nil || len(keys) == 0 {
		return err
	}
	fmt.Fprintln(c.app.stdout)
	return printKeys(c.app.stdout, keys, false)
}

type accountPlan struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Plan    string `arg:"" help:"The plan, as the configuration names it."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run moves the account.
func (cmd *accountPlan) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if err := c.Accounts.SetPlan(a.ctx, c.actor, account.ID, cmd.Plan); err != nil {
			return err
		}
		return c.printAgain(account.ID, cmd.JSON)
	})
}

type accountDevelopment struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Off     bool   `help:"Withdraw the scope."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run grants the scope, or withdraws it.
func (cmd *accountDevelopment) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if err := c.Accounts.SetDevelopment(a.ctx, c.actor, account.ID, !cmd.Off); err != nil {
			return err
		}
		return c.printAgain(account.ID, cmd.JSON)
	})
}

type accountCard struct {
	Account string `arg:"" help:"The account: its id or e-mail address."`
	Remove  bool   `help:"Remove the card."`
	JSON    bool   `name:"json" help:"Print JSON."`
}

// Run adds a card, or removes it.
func (cmd *accountCard) Run(a *app) error {
	return a.withControl(false, func(c *control) error {
		account, err := c.find(cmd.Account)
		if err != nil {
			return err
		}
		if cmd.Remove {
			err = c.Accounts.RemoveCard(a.ctx, c.actor, account.ID)
		} else {
			err = c.putCard(account)
		}
		if err != nil {
			return err
		}
		return c.printAgain(account.ID, cmd.JSON)
	})
}

func (c *control) putCard(account *nodegate.Account) error {
	if c.cfg.Payment.Processor == "stripe" {
		return invalid("Stripe accepts cards only in its own form: sign in to the dashboard and add the card there")
	}
	entry, err := c.app.askCard()
	if err != nil {
		return err
	}
	entry.AccountID = account.ID
	_, err = c.Accounts.PutCard(c.app.ctx, c.actor, entry)
	return err
}

// askCard reads a card. What it is worth is the processor's to say.
func (a *app) askCard() (e nodegate.CardEntry, err error) {
	if e.Number, err = a.stdin.ask(a.stderr, "card number", true); err != nil {
		return e, err
	}
	expiry, err := a.stdin.ask(a.stderr, "expiry (MM/YY)", false)
	if err != nil {
		return e, err
	}
	if e.ExpMonth, e.ExpYear, err = readExpiry(expiry); err != nil {
		return e, err
	}
	e.CVC, err = a.stdin.ask(a.stderr, "security code", true)
	return e, err
}

func readExpiry(text string) (month, year int, err error) {
	before, after, _ := strings.Cut(strings.TrimSpace(text), "/")
	month, errMonth := strconv.Atoi(strings.TrimSpace(before))
	year, errYear := strconv.Atoi(strings.TrimSpace(after))
	if errMonth != nil || errYear != nil {
		return 0, 0, invalid("the expiry is not a month and a year like 08/30")
	}
	return month, year, nil
}

// printAgain shows an account as it is after a change.
func (c *control) printAgain(id string, asJSON bool) error {
	account, err := c.find(id)
	if err != nil {
		return err
	}
	return c.app.printAccount(account, asJSON)
}

func (a *app) printAccount(account *nodegate.Account, asJSON bool) error {
	if asJSON {
		return writeJSON(a.stdout, viewAccount(account))
	}
	t := newTable(a.stdout)
	t.row("account", account.ID)
	t.row("email", account.Email)
	t.row("plan", account.Plan)
	t.row("card", describeCard(account.Card))
	return t.flush()
}
