package dashboard

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/nodegate/nodegate"
)

func keyRoutes() []route {
	return []route{
		{pattern: "GET /keys", who: members, serve: keysPage},
		{pattern: "POST /keys", who: members, serve: createKey, audited: true},
		{pattern: "GET /keys/{id}", who: members, serve: keyPage},
		{pattern: "GET /keys/{id}/issued", who: members, serve: issuedPage},
		{pattern: "GET /keys/{id}/settings", who: members, serve: keySettingsPage},
		{pattern: "POST /keys/{id}/settings", who: members, serve: changeKeySettings, audited: true},
		{pattern: "GET /keys/{id}/rotate", who: members, serve: rotatePage},
		{pattern: "POST /keys/{id}/rotate", who: members, serve: rotateKey, audited: true},
		{pattern: "POST /keys/{id}/revoke", who: members, serve: revokeKey, audited: true},
	}
}

// keysPerPage bounds the list.
const keysPerPage = 50

// keysData is the list of keys with the form for a new one.
type keysData struct {
	nodegate.KeyCount
	Keys        []keyRow // of this page
	Today       int64    // credits that all keys used today
	Page, Pages int
	Name        string // what was typed
	Problem     string
	Most        int64 // keys that the plan allows; 0 is no bound
}

// Before and After are the pages beside this one; 0 is none.
func (d keysData) Before() int { return d.Page - 1 }

// After is described at Before.
func (d keysData) After() int {
	if d.Page >= d.Pages {
		return 0
	}
	return d.Page + 1
}

func keysPage(v *visit) error { return showKeys(v, http.StatusOK, keysData{}) }

// showKeys fills the list in: live keys first, then by age, newest first.
func showKeys(v *visit, status int, d keysData) (err error) {
	if d.KeyCount, err = v.cfg.Accounts.CountKeys(v.req.Context(), v.account.ID); err != nil {
		return err
	}
	d.Pages = max(1, (int(d.Live+d.Revoked)+keysPerPage-1)/keysPerPage)
	page, _ := strconv.Atoi(v.req.URL.Query().Get("page"))
	d.Page = min(max(1, page), d.Pages)
	keys, err := v.listKeys(nodegate.KeyQuery{Skip: (d.Page - 1) * keysPerPage, Limit: keysPerPage})
	if err != nil {
		return err
	}
	if d.Keys, d.Today, err = keyRows(v, keys); err != nil {
		return err
	}
	d.Most = v.plan().Keys
	return v.showStatus(status, "keys", d)
}

func createKey(v *visit) error {
	name := v.req.PostFormValue("name")
	issued, err := v.cfg.Accounts.CreateKey(v.req.Context(), v.actor(), v.account.ID, name, nodegate.KeySettings{})
	if err != nil {
		problem, other := mendable(err, nodegate.QuotaReached, nodegate.AccountBusy, nodegate.Forbidden)
		if other != nil {
			return other
		}
		return showKeys(v, http.StatusUnprocessableEntity, keysData{Name: name, Problem: problem})
	}
	return toIssued(v, issued, false)
}

// mendable is what is wrong with what the user typed, or what the user can do something
// about; anything else stays an error.
func mendable(err error, codes ...nodegate.Code) (problem string, other error) {
	if e := nodegate.AsError(err); e.Code == nodegate.InvalidInput || slices.Contains(codes, e.Code) {
		return sentence(e.Msg), nil
	}
	return "", err
}

// key is the one that the address names, of who is signed in and nobody else.
func (v *visit) key() (*nodegate.Key, error) {
	return v.cfg.Accounts.Key(v.req.Context(), v.account.ID, v.req.PathValue("id"))
}
