package dashboard

import (
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
