package dashboard

import (
	"net/http"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// exportAccount sends all that is kept about the account, as a file.
func exportAccount(v *visit) error {
	e, err := v.cfg.Accounts.Export(v.req.Context(), v.account.ID)
	if err != nil {
		return err
	}
	h := v.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Content-Disposition", `attachment; filename="nodegate-account.json"`)
	var pins func(each func(nodegate.Pin) bool) error
	if v.cfg.Files != nil {
		pins = func(each func(nodegate.Pin) bool) error { return v.cfg.Files.Each(v.req.Context(), v.account.ID, each) }
	}
	if err := account.WriteExport(v.w, e, pins); err != nil {
		panic(http.ErrAbortHandler) // a part must not pass for the whole
	}
	return nil
}

// deleteData is the page before the end of an account.
type deleteData struct {
	Keys    nodegate.KeyCount
	Problem string
}

func deletePage(v *visit) error { return showDelete(v, http.StatusOK, "") }

func showDelete(v *visit, status int, problem string) (err error) {
	d := deleteData{Problem: problem}
	if d.Keys, err = v.cfg.Accounts.CountKeys(v.req.Context(), v.account.ID); err != nil {
		return err
	}
	return v.showStatus(status, "accountdelete", d)
}

func deleteOwn(v *visit) error {
	handOver(v)
	if err := v.cfg.Accounts.DeleteOwn(v.req.Context(), v.actor(), v.token, v.req.PostFormValue("password")); err != nil {
		status, problem, other := passwordProblem(err)
		if other != nil {
			return other
		}
		return showDelete(v, status, problem)
	}
	endSession(v)
	return v.seeOther("/login?done=deleted")
}
