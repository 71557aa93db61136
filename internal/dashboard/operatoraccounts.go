package dashboard

import (
	"net/http"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// pageSize is how many rows a page of a list has.
const pageSize = 50

// accountsData is a page of the list of accounts.
type accountsData struct {
	Query    string
	Accounts []*nodegate.Account
	After    string // the address that the next page begins after; "" on the last page

	Plans       []string
	Email       string // that was typed for a new account
	Plan        string // that was chosen for it
	NewOperator bool
	Problem     string
}

func accountsPage(v *visit) error { return showAccounts(v, http.StatusOK, accountsData{}) }

func showAccounts(v *visit, status int, d accountsData) error {
	query := v.req.FormValue("q")
	list, err := v.cfg.Accounts.Search(v.req.Context(), query, v.req.FormValue("after"), pageSize+1)
	if err != nil {
		return err
	}
	d.Query, d.Accounts, d.Plans = query, list, v.cfg.Accounts.PlanNames()
	if d.Plan == "" {
		d.Plan = v.cfg.Accounts.StandardPlan()
	}
	if len(list) > pageSize {
		d.Accounts = list[:pageSize]
		d.After = d.Accounts[pageSize-1].Email
	}
	return v.showStatus(status, "operator-accounts", d)
}

// oneAccountData is all that an operator sees of an account. No key's text is in it.
type oneAccountData struct {
	Account   *nodegate.Account
	CardValid bool
	Plans     []string
	Statement *account.Statement
	Meters    []meterView
	KeyCount  nodegate.KeyCount
	Keys      []keyState // some of them, live ones first
	Audit     []nodegate.AuditEntry
	Problem   string
}

// keyState is a key without its text.
type keyState struct {
	ID, Name string
	Created  time.Time
	Revoked  time.Time
}

func oneAccountPage(v *visit) error { return showAccount(v, http.StatusOK, "") }

func showAccount(v *visit, status int, problem string) error {
	ctx, id, now := v.req.Context(), v.req.PathValue("id"), time.Now()
	a, err := v.cfg.Accounts.Find(ctx, id)
	if err != nil {
		return err
	}
	d := oneAccountData{Account: a, CardValid: a.Card.Valid(now), Plans: v.cfg.Accounts.PlanNames(), Problem: problem}
	if d.Statement, err = v.cfg.Accounts.Statement(ctx, a.ID, now); err != nil {
		return err
	}
	standing, err := v.cfg.Reports.Standing(ctx, a.ID, d.Statement.Plan, now)
	if err != nil {
		return err
	}
	d.Meters = meters(&standing)
	if err := d.addKeys(v); err != nil {
		return err
	}
	if d.Audit, err = v.cfg.Accounts.AuditBefore(ctx, a.ID, 0, pageSize); err != nil {
		return err
	}
	return v.showStatus(status, "operator-account", d)
}

// addKeys reads the keys that are shown, and counts all.
func (d *oneAccountData) addKeys(v *visit) (err error) {
	if d.KeyCount, err = v.cfg.Accounts.CountKeys(v.req.Context(), d.Account.ID); err != nil {
		return err
	}
	keys, err := v.cfg.Accounts.ListKeys(v.req.Context(), nodegate.KeyQuery{AccountID: d.Account.ID, Limit: mostChoices})
	for _, k := range keys {
		d.Keys = append(d.Keys, keyState{ID: k.ID, Name: k.Name, Created: k.Created, Revoked: k.Revoked})
	}
	return err
}

func setPlan(v *visit) error {
	id := v.req.PathValue("id")
	return afterChange(v, v.cfg.Accounts.SetPlan(v.req.Context(), v.actor(), id, v.req.PostFormValue("plan")), "plan")
}

func setPassword(v *visit) error {
	id := v.req.PathValue("id")
	handOver(v)
	return afterChange(v, v.cfg.Accounts.SetPassword(v.req.Context(), v.actor(), id, v.req.PostFormValue("password")), "password-set")
}

// afterChange goes back to the account, or shows what its operator can mend.
func afterChange(v *visit, err error, done string) error {
	if err == nil {
		return v.seeOther("/operator/accounts/" + v.req.PathValue("id") + "?done=" + done)
	}
	if e := nodegate.AsError(err); e.Code == nodegate.InvalidInput || e.Code == nodegate.RateLimited {
		return showAccount(v, statusOf(e.Code), sentence(e.Msg))
	}
	return err
}
