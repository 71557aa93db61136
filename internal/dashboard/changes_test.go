package dashboard

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// TestChangesAreLimited: an account makes its burst of changes and then one a second. Other
// accounts are apart.
func TestChangesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Dashboard{}
		change := func(id string) error {
			v := &visit{Dashboard: d, route: route{audited: true}, account: &nodegate.Account{ID: id}}
			return admitChange(v)
		}
		for i := range changesAtOnce {
			if err := change("a"); err != nil {
				t.Fatalf("change %d: %v", i, err)
			}
		}
		e := nodegate.AsError(change("a"))
		if e.Code != nodegate.RateLimited || e.RetryAfter != time.Second || !strings.Contains(e.Msg, "try again") {
			t.Errorf("after the burst: %+v", e)
		}
		if err := change("b"); err != nil {
			t.Errorf("another account: %v", err)
		}
		time.Sleep(time.Second)
		if err := change("a"); err != nil {
			t.Errorf("a second later: %v", err)
		}
		if err := change("a"); err == nil {
			t.Error("two changes in a second")
		}
	})
}

// TestManyChanges: the audit log gets no row from changes beyond the limit, and all kinds
// of changes share it.
func TestManyChanges(t *testing.T) {
	d, cookie, keys := crowded(t, 0, 1)
	page := "/keys/" + keys[0].ID
	paths := []string{"/keys", page + "/settings", page + "/rotate"}
	before := len(entriesOf(t, d, keys[0].AccountID))
	form := url.Values{"name": {"x"}, "value": {"on"}, "overlap": {"1h"}}
	begun := time.Now()
	var refused int
	for i := range 2 * changesAtOnce {
		got := d.ask(http.MethodPost, paths[i%len(paths)], cookie, form)
		if got.Code != http.StatusTooManyRequests {
			continue
		}
		refused++
		if got.Header().Get("Retry-After") != "01" || !strings.Contains(got.Body.String(), "Too many changes") {
			t.Fatalf("the refusal is %v %s", got.Header(), got.Body)
		}
	}
	most := changesAtOnce + int(time.Since(begun).Seconds()) + 1
	if n := len(entriesOf(t, d, keys[0].AccountID)) - before; n > most || n < changesAtOnce || n+refused != 2*changesAtOnce {
		t.Errorf("%d entries of at most %d, %d refused", n, most, refused)
	}
}

func entriesOf(t *testing.T, d *booth, accountID string) []nodegate.AuditEntry {
	t.Helper()
	list, err := d.store.AuditBefore(t.Context(), accountID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestEveryChangeCounts: who adds a change says whether the audit log gets an entry of it.
func TestEveryChangeCounts(t *testing.T) {
	others := []string{ // bounded by credits, quotas and attempts, or not in the audit log
		"POST /login", "POST /signup", "POST /logout", "POST /try", "POST /try/faucet", "POST /try/socket", "POST /files", "POST /files/unpin", "POST /files/undo",
		"POST /files/rename", "POST /files/folder", "POST /files/pin", "POST /files/uploads", "POST /files/uploads/{id}", "POST /files/uploads/{id}/finish", "POST /files/uploads/{id}/cancel",
		"POST /login/reset", "POST /login/link/{token}", "POST /billing/card/begin", "POST /operator/audit/verify",
	}
	for _, r := range routes() {
		if r.changes() && r.audited == slices.Contains(others, r.pattern) || !r.changes() && r.audited {
			t.Errorf("%s: audited is %v", r.pattern, r.audited)
		}
	}
}
