package storetest

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// addKey saves a new key under limits.
func addKey(t *testing.T, s Store, k *nodegate.Key, limits nodegate.KeyLimits) error {
	return s.Save(t.Context(), &nodegate.Change{Key: k, Keys: limits, Audit: entry("key.create", k.AccountID, k.ID)})
}

// liveKeysBounded has an account with more keys than the bound, as after a change of
// its plan: it keeps them, can change and revoke them, and can't add one until it is
// below the bound.
func liveKeysBounded(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	var keys []*nodegate.Key
	for i := range 4 {
		k := newKey("a", fmt.Sprint("k", i))
		saveKey(t, s, k)
		keys = append(keys, k)
	}
	before := must[int64](t)(s.LastChange(ctx))
	limits := nodegate.KeyLimits{Live: 3}
	is(t, "a key over the bound", addKey(t, s, newKey("a", "more"), limits), nodegate.QuotaReached)
	_, err := s.Key(ctx, "a", "more")
	is(t, "the refused key", err, nodegate.NotFound)
	same(t, "the last change", must[int64](t)(s.LastChange(ctx)), before)
	if err := addKey(t, s, newKey("b", "other"), limits); err != nil {
		t.Errorf("another account's key: %v", err)
	}
	keys[0].Name = "renamed"
	if err := addKey(t, s, keys[0], limits); err != nil {
		t.Errorf("a change of a key that is there: %v", err)
	}
	for i, k := range keys[:2] {
		is(t, fmt.Sprint("after ", i, " revocations"), addKey(t, s, newKey("a", "more"), limits), nodegate.QuotaReached)
		k.Revoked = noon().UTC()
		saveKey(t, s, k)
	}
	if err := addKey(t, s, newKey("a", "more"), limits); err != nil {
		t.Errorf("a key below the bound: %v", err)
	}
	same(t, "all keys", len(must[[]*nodegate.Key](t)(s.KeysOf(ctx, "a"))), 5)
}

// createdKeysBounded revokes each key at once: what was created counts all the same,
// until it is old.
func createdKeysBounded(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	limits := nodegate.KeyLimits{Live: 1, Created: 3, Since: noon().Add(-time.Hour)}
	create := func(id string, at time.Time) error {
		k := newKey("a", id)
		k.Created = at.UTC()
		if err := addKey(t, s, k, limits); err != nil {
			return err
		}
		k.Revoked = noon().UTC()
		saveKey(t, s, k)
		return nil
	}
	for i := range 5 {
		if err := create(fmt.Sprint("old", i), noon().Add(-2*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 3 {
		if err := create(fmt.Sprint("new", i), noon()); err != nil {
			t.Fatal(err)
		}
	}
	err := create("more", noon())
	is(t, "one too many", err, nodegate.AccountBusy)
	if nodegate.AsError(err).RetryAfter <= 0 {
		t.Error("the refusal doesn't say when to try again")
	}
	limits.Since = noon()
	if err := create("later", noon().Add(time.Second)); err != nil {
		t.Errorf("when the others are old: %v", err)
	}
}

// keysInParallel creates many keys at once.
func keysInParallel(t *testing.T, s Store) {
	const most, writers = 5, 20
	saveAccount(t, s, newAccount("a"))
	var all sync.WaitGroup
	var added atomic.Int64
	for i := range writers {
		all.Go(func() {
			switch err := addKey(t, s, newKey("a", fmt.Sprint(i)), nodegate.KeyLimits{Live: most}); {
			case err == nil:
				added.Add(1)
			case !errors.Is(err, nodegate.QuotaReached):
				t.Error(err)
			}
		})
	}
	all.Wait()
	same(t, "keys that were added", added.Load(), int64(most))
	same(t, "keys that are there", len(must[[]*nodegate.Key](t)(s.KeysOf(t.Context(), "a"))), most)
}

// revokedKeysBounded has more revoked keys than the bound: the oldest go with a new key, and
// neither those revoked lately nor live ones, nor another account's.
func revokedKeysBounded(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	for i := range 8 {
		k := newKey(map[bool]string{true: "b", false: "a"}[i == 7], fmt.Sprint("k", i))
		k.Created = noon().Add(time.Duration(i-100) * time.Hour).UTC()
		saveKey(t, s, k)
		switch {
		case i == 0: // live
			continue
		case i == 1:
			k.Revoked = noon().UTC()
		default:
			k.Revoked = noon().Add(-50 * time.Hour).UTC()
		}
		saveKey(t, s, k)
	}
	limits := nodegate.KeyLimits{Revoked: 3, Since: noon().Add(-24 * time.Hour)}
	if err := addKey(t, s, newKey("a", "new"), limits); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, k := range must[[]*nodegate.Key](t)(s.KeysOf(t.Context(), "a")) {
		ids = append(ids, k.ID)
	}
	slices.Sort(ids)
	same(t, "the keys", ids, []string{"k0", "k1", "k4", "k5", "k6", "new"})
	same(t, "the other account's", len(must[[]*nodegate.Key](t)(s.KeysOf(t.Context(), "b"))), 1)
	if err := addKey(t, s, newKey("a", "k2"), limits); err != nil { // nothing is left of the one before
		t.Error(err)
	}
}

// keysInParts lists keys a few at a time: the same as all at once.
func keysInParts(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	for i := range 7 {
		k := newKey("a", fmt.Sprint("k", i*3%7))
		if k.Created = noon().Add(time.Duration(i/2) * time.Hour).UTC(); i == 0 {
			k.Created = time.Time{}
		}
		saveKey(t, s, k)
	}
	var list []*nodegate.Key
	var after *nodegate.Key
	for {
		part := must[[]*nodegate.Key](t)(s.KeysAfter(t.Context(), "a", after, 2))
		if len(part) == 0 {
			break
		}
		list, after = append(list, part...), part[len(part)-1]
	}
	same(t, "the keys", list, must[[]*nodegate.Key](t)(s.KeysOf(t.Context(), "a")))
	same(t, "how many", len(list), 7)
}
