package storetest

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func newSession(name, accountID string, expires time.Time) nodegate.Session {
	return nodegate.Session{Digest: digestOf(name), AccountID: accountID, Created: noon().UTC(), Expires: expires.UTC()}
}

func sessions(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	one := newSession("one", "a", noon().Add(time.Hour))
	if err := s.SaveSession(ctx, one); err != nil {
		t.Fatal(err)
	}
	same(t, "the session", must[*nodegate.Session](t)(s.SessionByDigest(ctx, one.Digest, noon())), &one)
	same(t, "just before its end", must[*nodegate.Session](t)(s.SessionByDigest(ctx, one.Digest, one.Expires.Add(-time.Microsecond))), &one)
	_, err := s.SessionByDigest(ctx, one.Digest, one.Expires)
	is(t, "an expired session", err, nodegate.NotFound)
	is(t, "a digest twice", s.SaveSession(ctx, one), nodegate.Conflict)
	for range 2 { // ending it again is no error
		if err := s.DeleteSession(ctx, one.Digest); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.SessionByDigest(ctx, one.Digest, noon())
	is(t, "an ended session", err, nodegate.NotFound)
	same(t, "changes by sessions", must[int64](t)(s.LastChange(ctx)), int64(1))
}

func endingSessions(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	names := []string{"a1", "a2", "a3", "b1"}
	for _, name := range names {
		if err := s.SaveSession(ctx, newSession(name, name[:1], noon().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	left := func() (list []string) {
		for _, name := range names {
			if _, err := s.SessionByDigest(ctx, digestOf(name), noon()); err == nil {
				list = append(list, name)
			}
		}
		return list
	}
	for _, step := range []struct {
		keep nodegate.Digest
		want []string
	}{
		{digestOf("a2"), []string{"a2", "b1"}},
		{digestOf("b1"), []string{"b1"}}, // somebody else's keeps none of one's own
		{nodegate.Digest{}, []string{"b1"}},
	} {
		if err := s.DeleteSessions(ctx, "a", step.keep); err != nil {
			t.Fatal(err)
		}
		same(t, "the sessions left", left(), step.want)
	}
	if err := s.DeleteSessions(ctx, "b", nodegate.Digest{}); err != nil {
		t.Fatal(err)
	}
	same(t, "the sessions left", len(left()), 0)
}
