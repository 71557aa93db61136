package dashboard

import (
	"errors"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// createAccount makes an account for somebody. Without a password its owner can't sign in
// before an operator sets one, or passes a link on.
func createAccount(v *visit) error {
	n := account.NewAccount{
		Email: v.req.PostFormValue("email"), Password: v.req.PostFormValue("password"), Plan: v.req.PostFormValue("plan"), Operator: v.req.PostFormValue("operator") != "",
	}
	handOver(v)
	a, err := v.cfg.Accounts.Create(v.req.Context(), v.actor(), n)
	if err == nil {
		return v.seeOther("/operator/accounts/" + a.ID + "?done=account-created")
	}
	problem, other := mendable(err, nodegate.Conflict, nodegate.RateLimited)
	if other != nil {
		return other
	}
	return showAccounts(v, statusOf(nodegate.AsError(err).Code), accountsData{Email: n.Email, Plan: n.Plan, NewOperator: n.Operator, Problem: problem})
}

// another refuses what operators can't do to themselves by a slip.
func another(v *visit) error {
	if v.req.PathValue("id") != v.account.ID {
		return nil
	}
	return &nodegate.Error{Op: "dashboard.operator", Code: nodegate.InvalidInput, Msg: "you can't change your own account here: ask another operator, or use the command line"}
}

func setRole(v *visit) error {
	err := another(v)
	if err == nil {
		err = v.cfg.Accounts.KeepOperator().SetOperator(v.req.Context(), v.actor(), v.req.PathValue("id"), v.req.PostFormValue("role") == "operator")
	}
	return afterChange(v, err, "role")
}

func suspendAccount(v *visit) error { return setSuspended(v, true, "suspended") }

func resumeAccount(v *visit) error { return setSuspended(v, false, "resumed") }

func setSuspended(v *visit, on bool, done string) error {
	err := another(v)
	if err == nil {
		err = v.cfg.Accounts.KeepOperator().SetSuspended(v.req.Context(), v.actor(), v.req.PathValue("id"), on)
	}
	return afterChange(v, err, done)
}

// deleteAccount asks for the address of the account: nobody deletes one by a slip.
func deleteAccount(v *visit) error {
	err := another(v)
	if err != nil {
		return afterChange(v, err, "")
	}
	a, err := v.cfg.Accounts.Find(v.req.Context(), v.req.PathValue("id"))
	if err != nil {
		return err
	}
	if v.req.PostFormValue("email") != a.Email {
		return afterChange(v, &nodegate.Error{Op: "dashboard.operator", Code: nodegate.InvalidInput, Msg: "enter the e-mail address of the account to delete it"}, "")
	}
	err = v.cfg.Accounts.KeepOperator().Delete(v.req.Context(), v.actor(), a.ID)
	if errors.Is(err, nodegate.InvalidInput) {
		return afterChange(v, err, "")
	}
	if err != nil {
		return err
	}
	return v.seeOther("/operator/accounts?done=account-deleted")
}

func revokeOthersKey(v *visit) error {
	return afterChange(v, v.cfg.Accounts.RevokeKey(v.req.Context(), v.actor(), v.req.PathValue("id"), v.req.PostFormValue("key")), "revoked")
}
