package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// AuditKey is the key of the audit chain that the opened stores must use.
const AuditKey = "storetest's key of the audit chain"

// Store is all that a store does for the service.
type Store interface {
	nodegate.AccountStore
	nodegate.KeyStore
	nodegate.Saver
	nodegate.ChangeStore
	nodegate.AuditStore
	nodegate.SessionStore
	nodegate.LinkStore
	nodegate.DepartedStore
	nodegate.MetaStore
	nodegate.LeaseStore
	nodegate.UsageWriter
	nodegate.UsageReader
	nodegate.AlertStore
	nodegate.PinStore
	nodegate.PinRequestStore
	Close() error
}

// test is one part of the suite.
type test struct {
	name string
	run  func(*testing.T, Store)
}

// signInTests are about sessions, links and the end of accounts.
func signInTests() []test {
	return []test{
		{"sessions", sessions},
		{"ending sessions", endingSessions},
		{"sessions of an account", sessionsOf},
		{"links work once", linksOnce},
		{"one of many uses a link", oneUsesLink},
		{"newer links replace older ones", linksReplaced},
		{"changes end links and sessions", changesEnd},
		{"accounts are deleted", accountsDeleted},
	}
}

// Run tests a store. open returns an empty one for each test and closes it after
// the test.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for _, c := range append(signInTests(), []test{
		{"accounts round trip", accountsRoundTrip},
		{"accounts are listed in pages", accountsInPages},
		{"accounts are found by their addresses", accountsLike},
		{"the last operator stays", keepOperator},
		{"an address is taken", addressIsTaken},
		{"a card comes and goes", cardComesAndGoes},
		{"keys round trip", keysRoundTrip},
		{"keys change", keysChange},
		{"keys of other accounts", keysOfOthers},
		{"keys by digest", keysByDigest},
		{"keys of an account, oldest first", keysOldestFirst},
		{"live keys in pages", liveKeysInPages},
		{"keys of an account in pages", keysInPages},
		{"keys of an account by id", keysByID},
		{"keys are counted", keysCounted},
		{"live keys are bounded", liveKeysBounded},
		{"created keys are bounded", createdKeysBounded},
		{"revoked keys are bounded", revokedKeysBounded},
		{"keys in parts", keysInParts},
		{"the bound of keys holds in parallel", keysInParallel},
		{"what is not there", notThere},
		{"when keys were used last", lastUsed},
		{"versions", versions},
		{"a failed save leaves nothing", failedSave},
		{"one of many writers wins", oneWriterWins},
		{"account and key at once", accountAndKey},
		{"a change of nothing is only audited", auditedOnly},
		{"followers miss no change", followersMissNone},
		{"the audit chain", auditChain},
		{"the latest audit entries", auditBefore},
		{"odd texts", oddTexts},
		{"meta values are set once", metaOnce},
		{"meta values are replaced", metaReplaced},
		{"meta values are deleted", metaDeleted},
		{"a lease has one holder", leaseHolder},
		{"usage adds up", usageAddsUp},
		{"usage is selected", usageSelected},
		{"usage is summed", usageSummed},
		{"usage of others is not summed", othersNotSummed},
		{"sums of old usage go", oldSumsGo},
		{"batches count once", batchesOnce},
		{"batches of many servers", manyServers},
		{"spent credits", spentCredits},
		{"usage by day", usageByDay},
		{"alerts are sent once", alertsOnce},
		{"alerts of past days go", alertsGo},
		{"storage figures", storageFigures},
		{"old usage goes", oldUsageGoes},
		{"purge forgets sessions and batches", purgeForgets},
		{"pins round trip", pinsRoundTrip},
		{"pins are listed in pages", pinsInPages},
		{"pins keep their names", pinsKeepNames},
		{"pins change whole or not at all", pinsWholeOrNot},
		{"unpinned pins come back", pinsComeBack},
		{"pins need a claim", pinsNeedClaim},
		{"claims count and end", claimsCount},
		{"loose bytes count and end", looseCounts},
		{"the quota holds in parallel", quotaInParallel},
		{"pins expire", pinsExpire},
		{"held content is listed in pages", heldContent},
		{"content is removed when nobody needs it", contentRemoved},
		{"claims and removals exclude each other", claimsAndRemovals},
		{"odd names of pins", oddPinNames},
		{"pins add up, whatever happens", pinsAddUp},
		{"pin requests round trip", pinRequestsRoundTrip},
		{"pin requests are bounded", pinRequestsBounded},
		{"pin requests are created one after the other", pinRequestsInOrder},
		{"pin requests are claimed once", pinRequestsClaimed},
		{"a cancelled call is Busy", cancelledCall},
	}...) {
		t.Run(c.name, func(t *testing.T) { c.run(t, open(t)) })
	}
}

// noon is a time with microseconds, in another zone than UTC.
func noon() time.Time {
	return time.Date(2026, 3, 14, 12, 0, 0, 123_456_000, time.FixedZone("far", -5*3600))
}

func digestOf(text string) (d nodegate.Digest) {
	copy(d[:], fmt.Sprintf("%-32s", text))
	return d
}

// newAccount is an account with every field but the card.
func newAccount(id string) *nodegate.Account {
	return &nodegate.Account{ID: id, Email: id + "@example.com", Password: "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA", Plan: "free", Created: noon().UTC()}
}

func newKey(accountID, id string) *nodegate.Key {
	return &nodegate.Key{
		ID: id, AccountID: accountID, Name: "key " + id, Created: noon().UTC(),
		Values: []nodegate.KeyValue{{Digest: digestOf("value " + id), Sealed: []byte("sealed " + id), Prefix: "0a1b"}},
	}
}

// entry is an audit entry about a subject.
func entry(action, account, subject string) nodegate.AuditEntry {
	return nodegate.AuditEntry{At: noon(), Actor: "ann@example.com", From: "192.0.2.7", Action: action, AccountID: account, Subject: subject, Detail: "a detail"}
}

func save(t *testing.T, s Store, c *nodegate.Change) {
	t.Helper()
	if err := s.Save(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func saveAccount(t *testing.T, s Store, a *nodegate.Account) {
	t.Helper()
	save(t, s, &nodegate.Change{Account: a, Audit: entry("account.save", a.ID, a.ID)})
}

func saveKey(t *testing.T, s Store, k *nodegate.Key) {
	t.Helper()
	save(t, s, &nodegate.Change{Key: k, Audit: entry("key.save", k.AccountID, k.ID)})
}

// same compares what was written with what is read.
func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s:\n got %+v\nwant %+v", what, got, want)
	}
}

// must fails the test on an error and returns the value otherwise.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// is checks an error's code, and that it tells the user something.
func is(t *testing.T, what string, err error, want nodegate.Code) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
		return
	}
	if nodegate.AsError(err).Msg == "" {
		t.Errorf("%s: %v says nothing to the user", what, err)
	}
}

func cancelledCall(t *testing.T, s Store) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Account(ctx, "a")
	is(t, "a read", err, nodegate.Busy)
	a := newAccount("a")
	is(t, "a write", s.Save(ctx, &nodegate.Change{Account: a, Audit: entry("account.save", "a", "a")}), nodegate.Busy)
	if a.Version != 0 {
		t.Error("a failed save counts the version up")
	}
	saveAccount(t, s, a)
}
