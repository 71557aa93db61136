package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestOperatorRoutes walks the table: whoever is no operator finds nothing there, in
// the words of an address that has no page, and nothing changes.
func TestOperatorRoutes(t *testing.T) {
	d := newBooth(t, nil)
	target, member := d.person(t, "member@example.com", false)
	_, operator := d.person(t, "operator@example.com", true)
	nothing := d.ask(http.MethodGet, "/no-such-page", member, nil)
	before := d.entries(t)
	walked := 0
	for _, r := range d.routes {
		if !strings.Contains(r.pattern, " /operator") {
			if r.who == operators {
				t.Errorf("%s is for operators and not below /operator: put it there", r.pattern)
			}
			continue
		}
		walked++
		method, path, _ := strings.Cut(r.pattern, " ")
		path = strings.ReplaceAll(path, "{id}", target.ID)
		form := url.Values{"plan": {"unlimited"}, "password": {"a password of my own"}}
		got := d.ask(method, path, member, form)
		if got.Code != http.StatusNotFound || got.Body.String() != nothing.Body.String() {
			t.Errorf("%s: a member gets %d: %s", r.pattern, got.Code, got.Body)
		}
		if got := d.ask(method, path, "", form); got.Code != http.StatusSeeOther || !strings.HasPrefix(got.Header().Get("Location"), "/login") {
			t.Errorf("%s: a stranger gets %d", r.pattern, got.Code)
		}
		if d.entries(t) != before {
			t.Fatalf("%s changed something", r.pattern)
		}
		if method == http.MethodGet && !r.landing {
			want := http.StatusOK
			if strings.HasSuffix(path, "/reset") { // there is no link to show
				want = http.StatusSeeOther
			}
			if got := d.ask(method, path, operator, nil); got.Code != want {
				t.Errorf("%s: an operator gets %d: %s", r.pattern, got.Code, got.Body)
			}
		}
	}
	if walked < 8 {
		t.Errorf("only %d routes were walked", walked)
	}
	if body := d.ask(http.MethodGet, "/", member, nil).Body.String(); strings.Contains(body, "/operator") {
		t.Error("a member's menu has the operator's pages")
	}
	if body := d.ask(http.MethodGet, "/", operator, nil).Body.String(); !strings.Contains(body, `href="/operator"`) {
		t.Error("an operator's menu has no operator's pages")
	}
}

// entries counts the audit log.
func (d *booth) entries(t *testing.T) int {
	t.Helper()
	list, err := d.store.Audit(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestLastOperatorStays: the only operator can't delete the own account by the dashboard.
func TestLastOperatorStays(t *testing.T) {
	d := newBooth(t, nil)
	a, operator := d.person(t, "operator@example.com", true)
	form := url.Values{"password": {boothPassword}}
	got := d.ask(http.MethodPost, "/account/delete", operator, form)
	if got.Code != http.StatusUnprocessableEntity || !strings.Contains(got.Body.String(), "This account is the only operator") {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	b, _ := d.person(t, "second@example.com", true)
	if got := d.ask(http.MethodPost, "/operator/accounts/"+b.ID+"/suspend", operator, nil); got.Code != http.StatusSeeOther {
		t.Errorf("with another operator: %d %s", got.Code, got.Body)
	}
	if got := d.ask(http.MethodPost, "/account/delete", operator, form); got.Code != http.StatusUnprocessableEntity {
		t.Errorf("the other is suspended: %d", got.Code)
	}
	d.person(t, "third@example.com", true)
	if got := d.ask(http.MethodPost, "/account/delete", operator, form); got.Code != http.StatusSeeOther {
		t.Errorf("with another operator: %d %s", got.Code, got.Body)
	}
	if _, err := d.cfg.Accounts.Find(t.Context(), a.ID); err == nil {
		t.Error("the account is still there")
	}
}

const oddMarkup = `<script>alert("1")</script>`

// TestOperatorEscapes puts markup everywhere a page of the operator shows a text.
func TestOperatorEscapes(t *testing.T) {
	d := newBooth(t, func(c *Config) {
		c.Operator.Networks = func(context.Context) []NetworkState {
			return []NetworkState{{Name: oddMarkup, Problem: oddMarkup, Nodes: []NodeState{{Name: oddMarkup, Role: oddMarkup, Client: oddMarkup, Why: oddMarkup}}, Ledger: &LedgerState{Problem: oddMarkup}}}
		}
		c.Operator.System = func(context.Context) System {
			return System{Version: oddMarkup, Commit: oddMarkup, Go: oddMarkup, Database: oddMarkup, Engine: oddMarkup, Config: oddMarkup, Problems: []string{oddMarkup},
				Blocks: &BlockState{ReadOnly: oddMarkup, Index: oddMarkup}, StorageNodes: []StorageNode{{Name: oddMarkup}}}
		}
	})
	_, operator := d.person(t, "operator@example.com", true)
	a := &nodegate.Account{ID: "a-1", Email: "<b>odd</b>@example.com", Plan: oddMarkup, Card: &nodegate.Card{Brand: oddMarkup, LastFour: oddMarkup, ExpMonth: 1}, Created: time.Now()}
	k := &nodegate.Key{ID: oddMarkup, AccountID: "a-1", Name: oddMarkup, Created: time.Now(), Values: []nodegate.KeyValue{{Prefix: "0a1b"}}}
	err := d.store.Save(t.Context(), &nodegate.Change{Account: a, Key: k, Audit: nodegate.AuditEntry{Actor: oddMarkup, From: oddMarkup, Action: oddMarkup, AccountID: "a-1", Subject: oddMarkup, Detail: oddMarkup}})
	if err != nil {
		t.Fatal(err)
	}
	for path, count := range map[string]int{
		"/operator": 7, "/operator/system": 10, "/operator/accounts": 3, "/operator/accounts/a-1": 8, "/operator/audit": 5,
		"/operator/accounts?q=" + url.QueryEscape(oddMarkup): 1,
	} {
		body := d.ask(http.MethodGet, path, operator, nil).Body.String()
		if strings.Contains(body, "<script>alert") || strings.Contains(body, "<b>odd") {
			t.Errorf("%s shows markup as it is", path)
		}
		if n := strings.Count(body, "alert(&#34;1&#34;)") + strings.Count(body, "&lt;b&gt;odd"); n < count {
			t.Errorf("%s shows the text %d times, want %d", path, n, count)
		}
	}
}

// TestAccountsInPages: each account is on one page, in the order of addresses.
func TestAccountsInPages(t *testing.T) {
	d := newBooth(t, nil)
	_, operator := d.person(t, "zz@example.org", true)
	const accounts = 2*pageSize + 3
	for i := range accounts - 1 {
		a := &nodegate.Account{ID: fmt.Sprint("a-", i), Email: fmt.Sprintf("x+%03d@example.com", i), Plan: "free"}
		if err := d.store.Save(t.Context(), &nodegate.Change{Account: a, Audit: nodegate.AuditEntry{Action: "test"}}); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]int{"": accounts, "EXAMPLE.com ": accounts - 1, "+00": 10, "nobody": 0} {
		seen, pages := 0, 0
		for path := "/operator/accounts?q=" + url.QueryEscape(query); path != ""; pages++ {
			body := d.ask(http.MethodGet, path, operator, nil).Body.String()
			seen += strings.Count(body, `<td><a href="/operator/accounts/`)
			_, next, _ := strings.Cut(body, `<a class="button" href="/operator/accounts?`)
			next, _, found := strings.Cut(next, `" rel="next"`)
			path = ""
			if found {
				path = "/operator/accounts?" + strings.ReplaceAll(next, "&amp;", "&")
			}
		}
		if seen != want || pages != max(1, (want+pageSize-1)/pageSize) {
			t.Errorf("%q: %d accounts on %d pages, want %d", query, seen, pages, want)
		}
	}
	first, _, _ := strings.Cut(d.ask(http.MethodGet, "/operator/audit", operator, nil).Body.String(), "Older entries")
	if strings.Count(first, `</td><td data-label="Time">`) != pageSize || !strings.Contains(first, fmt.Sprintf("before=%d", accounts+1-pageSize)) {
		t.Error("the first page of the audit log is another one")
	}
}
