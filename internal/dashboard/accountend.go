package dashboard

import (
	"net/http"

	"github.com/nodegate/nodegate"
)

// exportAccount sends all that is kept about the account, as a file.
func exportAccount(v *visit) error {
	var pins func(each func(nodegate.Pin) bool) error
	if v.cfg.Files != nil {
		pins = func(each func(nodegate.Pin) bool) error { return v.cfg.Files.Each(v.req.Context(), v.account.ID, each) }
	}
	file := &exportFile{w: v.w}
	err := v.cfg.Accounts.WriteExport(v.req.Context(), file, v.account.ID, pins)
	if err != nil && file.begun {
		panic(http.ErrAbortHandler) // a part must not pass for the whole
	}
	return err
}

// exportFile is the download. It begins with the first bytes, so that an error before them can
// be answered with a page.
type exportFile struct {
	w     http.ResponseWriter
	begun bool
}

func (f *exportFile) Write(b []byte) (int, error) {
	if !f.begun {
		f.begun = true
		h := f.w.Header()
		h.Set("Content-Type", "application/json")
		h.Set("Content-Disposition", `attachment; filename="nodegate-account.json"`)
	}
	return f.w.Write(b)
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
