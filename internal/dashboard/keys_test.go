package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// TestKeysBound: the page shows how many keys the plan allows, and says at the bound
// what to do.
func TestKeysBound(t *testing.T) {
	plans := map[string]nodegate.Plan{"free": {Name: "free", Keys: 2}}
	d := newBooth(t, nil)
	d.cfg.Accounts = account.New(account.Config{Store: d.store, Vault: testVault(t), Plans: plans, DefaultPlan: "free"})
	_, member := d.person(t, "member@example.com", false)
	for range 2 {
		if got := d.ask(http.MethodPost, "/keys", member, url.Values{"name": {"one"}}); got.Code != http.StatusSeeOther {
			t.Fatalf("a key: %d", got.Code)
		}
	}
	if page := d.ask(http.MethodGet, "/keys", member, nil).Body.String(); !strings.Contains(page, "2 active of 2 that the plan allows") {
		t.Error("the page doesn't show the bound")
	}
	got := d.ask(http.MethodPost, "/keys", member, url.Values{"name": {"third"}})
	if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "The account has 2 API keys and its plan allows 2: revoke one") {
		t.Errorf("a third key: %d %s", got.Code, got.Body)
	}
}

// noKeysOf is a store that can't list all keys of an account at once.
type noKeysOf struct {
	*sqlstore.Store
	t testing.TB
}

func (s noKeysOf) KeysOf(context.Context, string) ([]*nodegate.Key, error) {
	s.t.Error("all keys of the account are loaded")
	return nil, nil
}

// crowded is a dashboard with an account of many keys, oldest first: revoked ones, then
// live ones.
func crowded(t testing.TB, revoked, live int) (d *booth, cookie string, keys []*nodegate.Key) {
	d = newBooth(t, nil)
	d.cfg.Accounts = account.New(account.Config{Store: noKeysOf{d.store, t}, Vault: testVault(t), Plans: map[string]nodegate.Plan{"free": {Name: "free"}}, DefaultPlan: "free"})
	d.cfg.Grant = func(_ context.Context, accountID, keyID string) (*nodegate.Grant, error) {
		return &nodegate.Grant{AccountID: accountID, KeyID: keyID}, nil
	}
	a, cookie := d.person(t, "member@example.com", false)
	for i := range revoked + live {
		issued, err := d.cfg.Accounts.CreateKey(t.Context(), nodegate.Actor{Name: "test"}, a.ID, fmt.Sprintf("number %d.", i), nodegate.KeySettings{})
		if err == nil && i < revoked {
			err = d.cfg.Accounts.RevokeKey(t.Context(), nodegate.Actor{Name: "test"}, a.ID, issued.Key.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, issued.Key)
	}
	return d, cookie, keys
}

// TestPagesOfKeys: a page has fifty keys, those that work first, and links to its neighbors.
func TestPagesOfKeys(t *testing.T) {
	d, cookie, _ := crowded(t, 30, 90)
	for _, c := range []struct {
		path, first, last string
		rows              int
		links             []string
	}{
		{"/keys", "number 119.", "number 70.", 50, []string{"page=2"}},
		{"/keys?page=2", "number 69.", "number 20.", 50, []string{"page=1", "page=3"}},
		{"/keys?page=3", "number 19.", "number 0.", 20, []string{"page=2"}},
		{"/keys?page=99", "number 19.", "number 0.", 20, []string{"page=2"}},
	} {
		page := d.ask(http.MethodGet, c.path, cookie, nil).Body.String()
		if n := strings.Count(page, `<td><a href="/keys/`); n != c.rows || strings.Index(page, c.first) > strings.Index(page, c.last) {
			t.Errorf("%s has %d keys, want %d from %s to %s", c.path, n, c.rows, c.first, c.last)
		}
		if n := strings.Count(page, `href="/keys?page=`); n != len(c.links) {
			t.Errorf("%s has %d links, want %v", c.path, n, c.links)
		}
		for _, want := range append(c.links, c.first, c.last, "90 active, 30 revoked", `<nav aria-label="Pages of keys"`) {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q", c.path, want)
			}
		}
	}
}

// TestKeyChoicesBounded: no page lists more keys than anybody would look through, and a
// key that the address names is always among them.
func TestKeyChoicesBounded(t *testing.T) {
	d, cookie, keys := crowded(t, 1, mostChoices+20)
	oldest := keys[1].ID
	for _, path := range []string{"/requests", "/requests?key=" + oldest} {
		page := d.ask(http.MethodGet, path, cookie, nil)
		if n := strings.Count(page.Body.String(), `<option value="k`); page.Code != http.StatusOK || n > mostChoices+1 {
			t.Errorf("%s: %d, %d keys", path, page.Code, n)
		}
	}
	if page := d.ask(http.MethodGet, "/requests?key="+oldest, cookie, nil).Body.String(); !strings.Contains(page, oldest+`" selected`) {
		t.Error("the oldest key can't be chosen")
	}
	if got := d.ask(http.MethodGet, "/requests?key="+keys[0].ID, cookie, nil); got.Code != http.StatusNotFound {
		t.Errorf("a revoked key without requests: %d", got.Code)
	}
	for _, path := range []string{"/", "/usage?by=key", "/usage?key=" + oldest} {
		if got := d.ask(http.MethodGet, path, cookie, nil); got.Code != http.StatusOK {
			t.Errorf("%s: %d", path, got.Code)
		}
	}
}

// TestChooseKey: the request box and the files offer the latest keys, and choose the one
// that is asked for.
func TestChooseKey(t *testing.T) {
	d, _, keys := crowded(t, 1, mostChoices+20)
	a, err := d.cfg.Accounts.Find(t.Context(), "member@example.com")
	if err != nil {
		t.Fatal(err)
	}
	v := &visit{Dashboard: d.Dashboard, req: httptest.NewRequest(http.MethodGet, "/try", nil), account: a}
	for name, c := range map[string]struct{ id, chosen string }{
		"none":     {"", keys[21].ID}, // the first of those that are offered
		"a recent": {keys[100].ID, keys[100].ID},
		"an old":   {keys[1].ID, keys[1].ID},
	} {
		choices, grant, err := v.chooseKey(c.id)
		at := slices.IndexFunc(choices, func(k keyChoice) bool { return k.Chosen })
		if err != nil || len(choices) > mostChoices+1 || at < 0 || choices[at].ID != c.chosen || grant.KeyID != c.chosen {
			t.Errorf("%s: %d choices, number %d is chosen; %v", name, len(choices), at, err)
		}
	}
	for name, id := range map[string]string{"revoked": keys[0].ID, "unknown": "k-none"} {
		if _, _, err := v.chooseKey(id); !errors.Is(err, nodegate.NotFound) {
			t.Errorf("a key that is %s: %v", name, err)
		}
	}
}

// TestRevokedKeyWithRequests: a key that is revoked can be chosen while it has requests to
// show, and the keys that failed most come first.
func TestRevokedKeyWithRequests(t *testing.T) {
	d, cookie, keys := crowded(t, 2, 3)
	var policy atomic.Pointer[nodegate.Policy]
	policy.Store(&nodegate.Policy{})
	grant, _ := nodegate.NewGrant(keys[0].AccountID, keys[0].ID, &policy)
	d.cfg.RequestLog.Record(grant, &requestlog.Entry{At: time.Now(), Method: "eth_call", Outcome: "internal"})
	page := d.ask(http.MethodGet, "/requests", cookie, nil).Body.String()
	if !strings.Contains(page, keys[0].ID+`">number 0. (1 failed) (revoked)`) || strings.Contains(page, keys[1].ID) {
		t.Errorf("the page is %s", page)
	}
}

// TestOperatorSeesSomeKeys: the page of an account is as bounded as the account's own.
func TestOperatorSeesSomeKeys(t *testing.T) {
	d, _, keys := crowded(t, 2, mostChoices)
	_, operator := d.person(t, "operator@example.com", true)
	page := d.ask(http.MethodGet, "/operator/accounts/"+keys[0].AccountID, operator, nil).Body.String()
	if n := strings.Count(page, `<span class="tag good">active<`); n != mostChoices+1 || !strings.Contains(page, "100 active, 2 revoked. This page shows 100, active ones first.") {
		t.Errorf("%d keys are shown: %s", n, page)
	}
}

// TestBusiestKeys: of more keys with requests than are shown, those with the most failures
// stay, and the one that the address names.
func TestBusiestKeys(t *testing.T) {
	hour := map[string]report.Sums{}
	for i := range 2 * mostChoices {
		hour[fmt.Sprint("k", i)] = report.Sums{Requests: 1000, Errors: int64(i)}
	}
	ids := busiest(hour, "k3")
	if len(ids) != mostChoices || ids[0] != "k199" || !slices.Contains(ids, "k3") || !slices.Contains(ids, "k101") || slices.Contains(ids, "k99") {
		t.Errorf("the keys are %v", ids)
	}
	if ids := busiest(nil, "k3"); ids == nil || len(ids) != 0 {
		t.Errorf("without requests they are %v", ids)
	}
}

// TestKeysOfOtherServers: a key whose requests another server answered can be chosen, also
// when it is revoked by now.
func TestKeysOfOtherServers(t *testing.T) {
	d, cookie, keys := crowded(t, 1, 1)
	used := nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: keys[0].AccountID, KeyID: keys[0].ID, Network: "main", Method: "eth_call", Outcome: "timeout"}, At: time.Now().Truncate(time.Minute), Requests: 7}
	if err := d.store.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "another", Number: 1, Rows: []nodegate.Usage{used}}); err != nil {
		t.Fatal(err)
	}
	page := d.ask(http.MethodGet, "/requests", cookie, nil).Body.String()
	if first, second := strings.Index(page, "number 0."), strings.Index(page, "number 1."); first < 0 || second < first {
		t.Errorf("the key of another server's requests is not first: %s", page)
	}
	if got := d.ask(http.MethodGet, "/requests?key="+keys[0].ID, cookie, nil); got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "7 in the last hour, 7 failed") {
		t.Errorf("its own page: %d %s", got.Code, got.Body)
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
