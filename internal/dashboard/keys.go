package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"

	"github.com/nodegate/nodegate"
)

func keyRoutes() []route {
	return []route{
		{pattern: "GET /keys", who: members, serve: keysPage},
		{pattern: "POST /keys", who: members, serve: createKey},
		{pattern: "GET /keys/{id}", who: members, serve: keyPage},
		{pattern: "GET /keys/{id}/settings", who: members, serve: keySettingsPage},
		{pattern: "POST /keys/{id}/settings", who: members, serve: changeKeySettings},
		{pattern: "GET /keys/{id}/rotate", who: members, serve: rotatePage},
		{pattern: "POST /keys/{id}/rotate", who: members, serve: rotateKey},
		{pattern: "POST /keys/{id}/revoke", who: members, serve: revokeKey},
	}
}

// keysPerPage bounds the list.
const keysPerPage = 100

// keysData is the list of keys with the form for a new one.
type keysData struct {
	Keys          []*nodegate.Key // of this page
	Live, Revoked int64
	Page, Pages   int
	Name          string // what was typed
	Problem       string
	Most          int64 // keys that the plan allows; 0 is no bound
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

// showKeys fills the list in: what works first, then by age, newest first.
func showKeys(v *visit, status int, d keysData) error {
	keys, err := v.cfg.Accounts.Keys(v.req.Context(), v.account.ID)
	if err != nil {
		return err
	}
	slices.SortStableFunc(keys, func(a, b *nodegate.Key) int {
		return cmp.Or(cmp.Compare(ended(a), ended(b)), b.Created.Compare(a.Created))
	})
	for _, k := range keys {
		d.Revoked += ended(k)
	}
	d.Live, d.Most = int64(len(keys))-d.Revoked, v.plan().Keys
	d.Pages = max(1, (len(keys)+keysPerPage-1)/keysPerPage)
	page, _ := strconv.Atoi(v.req.URL.Query().Get("page"))
	d.Page = min(max(1, page), d.Pages)
	from := (d.Page - 1) * keysPerPage
	d.Keys = keys[from:min(len(keys), from+keysPerPage)]
	return v.showStatus(status, "keys", d)
}

// ended is 1 for a key that is revoked.
func ended(k *nodegate.Key) int64 {
	if k.Live() {
		return 0
	}
	return 1
}

func createKey(v *visit) error {
	name := v.req.PostFormValue("name")
	issued, err := v.cfg.Accounts.CreateKey(v.req.Context(), v.actor(), v.account.ID, name, nodegate.KeySettings{})
	if err != nil {
		problem, other := mendable(err, nodegate.QuotaReached, nodegate.AccountBusy)
		if other != nil {
			return other
		}
		return showKeys(v, http.StatusUnprocessableEntity, keysData{Name: name, Problem: problem})
	}
	return showIssued(v, issued, "Key created")
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
