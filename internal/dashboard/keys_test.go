package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
)

// TestKeysBound: the page shows how many keys the plan allows, and says at the bound
// what to do.
func TestKeysBound(t *testing.T) {
	plans := map[string]nodegate.Plan{"free": {Name: "free", Keys: 2}}
	d := newBooth(t, nil)
	d.cfg.Accounts = account.New(account.Config{Store: d.store, Vault: testVault(t), Plans: plans, DefaultPlan: "free"})
	_, member := d.person(t, "member@example.com", false)
	for range 2 {
		if got := d.ask(http.MethodPost, "/keys", member, url.Values{"name": {"one"}}); got.Code != http.StatusOK {
			t.Fatalf("a key: %d", got.Code)
		}
	}
	if page := d.ask(http.MethodGet, "/keys", member, nil).Body.String(); !strings.Contains(page, "2 in use of 2 that the plan allows") {
		t.Error("the page doesn't show the bound")
	}
	got := d.ask(http.MethodPost, "/keys", member, url.Values{"name": {"third"}})
	if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "The account has 2 API keys and its plan allows 2: revoke one") {
		t.Errorf("a third key: %d %s", got.Code, got.Body)
	}
}

// BenchmarkManyKeys opens the pages of an account with as many keys as a plan allows, and
// as many that are revoked.
func BenchmarkManyKeys(b *testing.B) {
	d := newBooth(b, nil)
	a, cookie := d.person(b, "member@example.com", false)
	for i := range 2000 {
		issued, err := d.cfg.Accounts.CreateKey(b.Context(), nodegate.Actor{Name: "test"}, a.ID, fmt.Sprint("number ", i), nodegate.KeySettings{})
		if err == nil && i%2 == 0 {
			err = d.cfg.Accounts.RevokeKey(b.Context(), nodegate.Actor{Name: "test"}, a.ID, issued.Key.ID)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
	for _, path := range []string{"/keys", "/keys?page=20", "/", "/requests", "/usage?by=key"} {
		b.Run(path, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := d.ask(http.MethodGet, path, cookie, nil); got.Code != http.StatusOK {
					b.Fatal(got.Code)
				}
			}
		})
	}
}
