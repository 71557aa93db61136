package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func versions(t *testing.T, s Store) {
	ctx := t.Context()
	a := newAccount("a")
	saveAccount(t, s, a)
	k := newKey("a", "k")
	saveKey(t, s, k)
	staleAccount, staleKey := *a, *k
	for want := int64(2); want <= 4; want++ {
		saveAccount(t, s, a)
		saveKey(t, s, k)
		if a.Version != want || k.Version != want {
			t.Errorf("versions %d and %d, want %d", a.Version, k.Version, want)
		}
	}
	staleAccount.Plan, staleKey.Name = "stale", "stale"
	is(t, "an old account", s.Save(ctx, &nodegate.Change{Account: &staleAccount, Audit: entry("account.save", "a", "a")}), nodegate.Conflict)
	is(t, "an old key", s.Save(ctx, &nodegate.Change{Key: &staleKey, Audit: entry("key.save", "a", "k")}), nodegate.Conflict)
	never := newAccount("never")
	never.Version = 1
	is(t, "a version of an account that is not there", s.Save(ctx, &nodegate.Change{Account: never, Audit: entry("account.save", "never", "never")}), nodegate.Conflict)
	if staleAccount.Version != 1 || staleKey.Version != 1 || never.Version != 1 {
		t.Errorf("a refused save changes the versions to %d, %d and %d", staleAccount.Version, staleKey.Version, never.Version)
	}
	same(t, "the account", must[*nodegate.Account](t)(s.Account(ctx, "a")), a)
	same(t, "the key", must[*nodegate.Key](t)(s.Key(ctx, "a", "k")), k)
}

func failedSave(t *testing.T, s Store) {
	ctx := t.Context()
	a := newAccount("a")
	saveAccount(t, s, a)
	k := newKey("a", "k")
	saveKey(t, s, k)
	before := must[int64](t)(s.LastChange(ctx))
	// The account alone could be saved; the key can't.
	changed, taken := *a, newKey("a", "second")
	changed.Plan = "unlimited"
	taken.Values[0].Digest = k.Values[0].Digest
	c := &nodegate.Change{Account: &changed, Key: taken, Audit: entry("key.create", "a", "second")}
	is(t, "the save", s.Save(ctx, c), nodegate.Conflict)
	if changed.Version != 1 || taken.Version != 0 || c.Audit.Number != 0 || c.Audit.Digest != (nodegate.Digest{}) {
		t.Errorf("a failed save fills in %+v", c)
	}
	same(t, "the account", must[*nodegate.Account](t)(s.Account(ctx, "a")), a)
	same(t, "the last change", must[int64](t)(s.LastChange(ctx)), before)
	same(t, "audit entries", len(must[[]nodegate.AuditEntry](t)(s.Audit(ctx, 0, 100))), 2)
	taken.Values[0].Digest = digestOf("free")
	save(t, s, c)
	same(t, "the next number of the audit log", c.Audit.Number, int64(3))
	same(t, "the last change", must[int64](t)(s.LastChange(ctx)), before+2)
}

func oneWriterWins(t *testing.T, s Store) {
	const writers, rounds = 16, 5
	a := newAccount("a")
	saveAccount(t, s, a)
	for round := range rounds {
		won := winners(t, writers, nodegate.Conflict, func(w int) error {
			mine := *a
			mine.Plan = fmt.Sprint("plan ", w)
			return s.Save(t.Context(), &nodegate.Change{Account: &mine, Audit: entry("account.save", "a", "a")})
		})
		got := must[*nodegate.Account](t)(s.Account(t.Context(), "a"))
		if won != 1 || got.Version != a.Version+1 {
			t.Fatalf("round %d: %d writers won, the version went from %d to %d", round, won, a.Version, got.Version)
		}
		a = got
	}
}

// winners lets many do the same at once, and counts who could. The others must be refused
// with a code.
func winners(t *testing.T, count int, refusal nodegate.Code, do func(int) error) (won int) {
	t.Helper()
	results := make(chan error, count)
	for i := range count {
		go func() { results <- do(i) }()
	}
	for range count {
		switch err := <-results; {
		case err == nil:
			won++
		case !errors.Is(err, refusal):
			t.Error(err)
		}
	}
	return won
}

func accountAndKey(t *testing.T, s Store) {
	ctx := t.Context()
	a, k := newAccount("a"), newKey("a", "k")
	c := &nodegate.Change{Account: a, Key: k, Audit: entry("account.create", "a", "a")}
	save(t, s, c)
	same(t, "the account", must[*nodegate.Account](t)(s.Account(ctx, "a")), a)
	same(t, "the key", must[*nodegate.Key](t)(s.Key(ctx, "a", "k")), k)
	same(t, "the changes", must[[]nodegate.Changed](t)(s.Changes(ctx, 0, 10)), []nodegate.Changed{{Number: 1, AccountID: "a"}, {Number: 2, AccountID: "a", KeyID: "k"}})
	same(t, "the last change", must[int64](t)(s.LastChange(ctx)), int64(2))
}

func auditedOnly(t *testing.T, s Store) {
	c := &nodegate.Change{Audit: entry("session.create", "a", "a")}
	save(t, s, c)
	same(t, "the last change", must[int64](t)(s.LastChange(t.Context())), int64(0))
	same(t, "audit entries", must[[]nodegate.AuditEntry](t)(s.Audit(t.Context(), 0, 10)), []nodegate.AuditEntry{c.Audit})
}

// followersMissNone has writers and a reader that goes on from the last number at
// once. A number that became visible before a smaller one would be a gap.
func followersMissNone(t *testing.T, s Store) {
	const writers, each = 4, 25
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			a := newAccount(fmt.Sprint("account-", w))
			for range each {
				if err := s.Save(t.Context(), &nodegate.Change{Account: a, Audit: entry("account.save", a.ID, a.ID)}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	defer all.Wait()
	last, seen := int64(0), map[string]int{}
	for deadline := time.Now().Add(time.Minute); last < writers*each && !t.Failed(); {
		list, err := s.Changes(t.Context(), last, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			if c.Number != last+1 {
				t.Fatalf("number %d follows %d", c.Number, last)
			}
			last = c.Number
			seen[c.AccountID]++
		}
		if time.Now().After(deadline) {
			t.Fatalf("only %d changes came", last)
		}
	}
	all.Wait()
	for w := range writers {
		same(t, "changes of an account", seen[fmt.Sprint("account-", w)], each)
	}
	same(t, "the last change", must[int64](t)(s.LastChange(t.Context())), last)
	checkChain(t, must[[]nodegate.AuditEntry](t)(s.Audit(t.Context(), 0, 1000)), writers*each)
}
