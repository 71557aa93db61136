package account

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func TestCreate(t *testing.T) {
	d := newDesk(t)
	long := strings.Repeat("x", 250) + "@example.com"
	for _, c := range []struct {
		name  string
		n     NewAccount
		email string
		code  nodegate.Code
		says  string
	}{
		{"plain", NewAccount{Email: "one@example.com"}, "one@example.com", 0, ""},
		{"case and space", NewAccount{Email: "  Two@EXAMPLE.Com\n"}, "two@example.com", 0, ""},
		{"local host", NewAccount{Email: "dev@localhost", Plan: "unlimited"}, "dev@localhost", 0, ""},
		{"other letters", NewAccount{Email: "Jürgen@exämple.com"}, "jürgen@exämple.com", 0, ""},
		{"password of 10", NewAccount{Email: "three@example.com", Password: "0123456789"}, "three@example.com", 0, ""},
		{"taken", NewAccount{Email: "one@example.com"}, "", nodegate.Conflict, "taken"},
		{"taken in another case", NewAccount{Email: "ONE@example.com"}, "", nodegate.Conflict, "taken"},
		{"empty", NewAccount{}, "", nodegate.InvalidInput, "e-mail address"},
		{"no host", NewAccount{Email: "one"}, "", nodegate.InvalidInput, "e-mail address"},
		{"a name before", NewAccount{Email: "One <x@example.com>"}, "", nodegate.InvalidInput, "e-mail address"},
		{"a comment", NewAccount{Email: "x@example.com(c)"}, "", nodegate.InvalidInput, "e-mail address"},
		{"two", NewAccount{Email: "x@example.com,y@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"quoted", NewAccount{Email: `"x"@example.com`}, "", nodegate.InvalidInput, "e-mail address"},
		{"line break", NewAccount{Email: "x\r\n@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"escape", NewAccount{Email: "x\x1b[31m@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"one-byte escape", NewAccount{Email: "x\u009b31m@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"reversed text", NewAccount{Email: "x\u202e@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"zero byte", NewAccount{Email: "x\x00@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"not UTF-8", NewAccount{Email: "x\xff@example.com"}, "", nodegate.InvalidInput, "e-mail address"},
		{"too long", NewAccount{Email: long}, "", nodegate.InvalidInput, "e-mail address"},
		{"short password", NewAccount{Email: "p@example.com", Password: "012345678"}, "", nodegate.InvalidInput, "10 to 1,024"},
		{"long password", NewAccount{Email: "p@example.com", Password: strings.Repeat("x", 1025)}, "", nodegate.InvalidInput, "10 to 1,024"},
		{"no such plan", NewAccount{Email: "p@example.com", Plan: "gold"}, "", nodegate.InvalidInput, "free, unlimited"},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := d.auditCount(t)
			a, err := d.Create(t.Context(), actor(), c.n)
			if c.code != 0 {
				want(t, err, c.code, c.says)
				if a != nil || d.auditCount(t) != before {
					t.Errorf("an account or an audit entry came of it: %+v", a)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			checkCreated(t, d, a, c.n, c.email)
		})
	}
}

func checkCreated(t *testing.T, d *desk, a *nodegate.Account, n NewAccount, email string) {
	t.Helper()
	plan := n.Plan
	if plan == "" {
		plan = "free"
	}
	for _, name := range []string{a.ID, email, strings.ToUpper(email)} {
		got, err := d.Find(t.Context(), name)
		if err != nil {
			t.Fatalf("find %q: %v", name, err)
		}
		if got.ID != a.ID || got.Email != email || got.Plan != plan || got.Created.IsZero() || got.Version != 1 {
			t.Errorf("found %+v", got)
		}
		if (got.Password != "") != (n.Password != "") || strings.Contains(got.Password+" ", n.Password+" ") && n.Password != "" {
			t.Errorf("the password is kept as %q", got.Password)
		}
	}
	entries, err := d.Audit(t.Context(), int64(d.auditCount(t)-1), 1)
	if err != nil || len(entries) != 1 || entries[0].Action != "account.create" || entries[0].Subject != a.ID || entries[0].Actor != actor().Name || entries[0].From != actor().From {
		t.Errorf("audit has %+v, %v", entries, err)
	}
}

// TestCreateAtOnce lets one of many have the address.
func TestCreateAtOnce(t *testing.T) {
	d := newDesk(t)
	var all sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		all.Go(func() { _, results[i] = d.Create(context.Background(), actor(), NewAccount{Email: "one@example.com"}) })
	}
	all.Wait()
	made := 0
	for _, err := range results {
		if err == nil {
			made++
			continue
		}
		want(t, err, nodegate.Conflict, "taken")
	}
	if made != 1 {
		t.Errorf("%d accounts were made", made)
	}
}

func TestSetPlan(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "one@example.com")
	if err := d.SetPlan(t.Context(), actor(), a.ID, "unlimited"); err != nil {
		t.Fatal(err)
	}
	if got, err := d.Find(t.Context(), a.ID); err != nil || got.Plan != "unlimited" || got.Version != 2 {
		t.Errorf("got %+v, %v", got, err)
	}
	want(t, d.SetPlan(t.Context(), actor(), a.ID, "gold"), nodegate.InvalidInput, "free, unlimited")
	want(t, d.SetPlan(t.Context(), actor(), "a-nobody", "free"), nodegate.NotFound, "")
}

// TestChoosePlan: members choose among the plans that are open to them, with a card where the plan
// wants one, and once an hour, whatever an operator does in between.
func TestChoosePlan(t *testing.T) {
	d := newDesk(t)
	d.SetPlans(map[string]nodegate.Plan{
		"free": {Name: "free", SelfService: true}, "pro": {Name: "pro", SelfService: true, NeedsCard: true}, "custom": {Name: "custom", NeedsCard: true},
	}, "free")
	a := d.customer(t, "one@example.com")
	choose := func(plan string) error { return d.ChoosePlan(t.Context(), actor(), a.ID, plan) }
	want(t, choose("custom"), nodegate.InvalidInput, "ask the operator")
	want(t, choose("gold"), nodegate.InvalidInput, "ask the operator")
	want(t, choose("free"), nodegate.Conflict, "already on the plan free")
	want(t, choose("pro"), nodegate.CardRequired, "requires a valid billing card")
	want(t, d.ChoosePlan(t.Context(), actor(), "a-nobody", "free"), nodegate.NotFound, "")
	if got := d.found(t, a.ID); got.Plan != "free" || !got.PlanChosen.IsZero() {
		t.Errorf("after refusals: %+v", got)
	}
	if _, err := d.PutCard(t.Context(), actor(), nodegate.CardEntry{AccountID: a.ID, Number: "4242424242424242", ExpMonth: 12, ExpYear: 2039, CVC: "123"}); err != nil {
		t.Fatal(err)
	}
	want(t, choose("custom"), nodegate.InvalidInput, "ask the operator")
	if err := choose("pro"); err != nil {
		t.Fatal(err)
	}
	if err := d.SetPlan(t.Context(), actor(), a.ID, "custom"); err != nil {
		t.Fatal(err)
	}
	err := choose("free")
	want(t, err, nodegate.RateLimited, "once an hour")
	if wait := nodegate.AsError(err).RetryAfter; wait <= planRest-time.Minute || wait > planRest {
		t.Errorf("to retry after %s", wait)
	}
	d.chosenAt(t, a.ID, time.Now().Add(-planRest))
	if err := choose("free"); err != nil {
		t.Fatal(err)
	}
	if got := d.found(t, a.ID); got.Plan != "free" {
		t.Errorf("at the end: %+v", got)
	}
	entries, err := d.store.AuditBefore(t.Context(), a.ID, 0, 1)
	if err != nil || len(entries) != 1 || entries[0].Action != "account.plan" || entries[0].Detail != "custom to free" {
		t.Errorf("the audit log has %+v, %v", entries, err)
	}
}

// found reads an account.
func (d *desk) found(t *testing.T, id string) *nodegate.Account {
	t.Helper()
	a, err := d.Find(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// chosenAt moves the time at which a member chose the plan.
func (d *desk) chosenAt(t *testing.T, id string, at time.Time) {
	t.Helper()
	a := d.found(t, id)
	a.PlanChosen = at
	if err := d.store.Save(t.Context(), &nodegate.Change{Account: a, Audit: nodegate.AuditEntry{Action: "test"}}); err != nil {
		t.Fatal(err)
	}
}

func TestList(t *testing.T) {
	d := newDesk(t)
	made := map[string]bool{}
	for _, email := range []string{"a@example.com", "b@example.com", "c@example.com"} {
		made[d.customer(t, email).ID] = true
	}
	for after := ""; ; {
		list, err := d.List(t.Context(), after, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(list) == 0 {
			break
		}
		for _, a := range list {
			delete(made, a.ID)
			after = a.ID
		}
	}
	if len(made) != 0 {
		t.Errorf("not listed: %v", made)
	}
}

// TestChangedIsCalled after each change that was made, and only then.
func TestChangedIsCalled(t *testing.T) {
	d := newDesk(t)
	calls := 0
	d.accounts.saver.changed = func() { calls++ }
	a := d.customer(t, "one@example.com")
	k := d.key(t, a.ID)
	for range 2 {
		if err := d.RevokeKey(t.Context(), actor(), a.ID, k.Key.ID); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = d.Create(t.Context(), actor(), NewAccount{Email: "one@example.com"})
	if calls != 3 {
		t.Errorf("called %d times, want 3: create, key, first revocation", calls)
	}
}
