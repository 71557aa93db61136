package storetest

import (
	"fmt"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func newLink(name, accountID string) nodegate.Link {
	return nodegate.Link{
		Digest: digestOf(name), Purpose: nodegate.LinkReset, AccountID: accountID, Email: accountID + "@example.com", Mailed: true,
		Created: noon().UTC(), Expires: noon().Add(time.Hour).UTC(),
	}
}

func saveLink(t *testing.T, s Store, l nodegate.Link) {
	t.Helper()
	if err := s.SaveLink(t.Context(), l); err != nil {
		t.Fatal(err)
	}
}

// use is a change of an account by a link.
func use(a *nodegate.Account, l nodegate.Link) *nodegate.Change {
	return &nodegate.Change{Account: a, Link: l.Digest, Audit: entry("account.password", a.ID, a.ID)}
}

func linksOnce(t *testing.T, s Store) {
	ctx := t.Context()
	a := newAccount("a")
	saveAccount(t, s, a)
	link := newLink("one", "a")
	saveLink(t, s, link)
	same(t, "the link", must[*nodegate.Link](t)(s.LinkByDigest(ctx, link.Digest, noon())), &link)
	_, err := s.LinkByDigest(ctx, link.Digest, link.Expires)
	is(t, "an expired link", err, nodegate.NotFound)
	is(t, "a digest twice", s.SaveLink(ctx, nodegate.Link{Digest: link.Digest, Expires: link.Expires}), nodegate.Conflict)
	is(t, "a link of nobody's account", s.SaveLink(ctx, newLink("two", "nobody")), nodegate.NotFound)

	late := use(a, link)
	late.Audit.At = link.Expires
	is(t, "a change after it has expired", s.Save(ctx, late), nodegate.NotFound)
	a.Password = "changed"
	save(t, s, use(a, link))
	a.Password = "changed again"
	is(t, "a second change", s.Save(ctx, use(a, link)), nodegate.NotFound)
	if got := must[*nodegate.Account](t)(s.Account(ctx, "a")); got.Password != "changed" || got.Version != 2 {
		t.Errorf("the account is %+v", got)
	}
	_, err = s.LinkByDigest(ctx, link.Digest, noon())
	is(t, "a used link", err, nodegate.NotFound)
}

func oneUsesLink(t *testing.T, s Store) {
	link := newLink("one", "")
	link.Email = "new@example.com"
	saveLink(t, s, link)
	done := winners(t, 8, nodegate.NotFound, func(i int) error {
		return s.Save(t.Context(), use(newAccount(fmt.Sprint("account-", i)), link))
	})
	same(t, "how many used it", done, 1)
	same(t, "the accounts", len(must[[]*nodegate.Account](t)(s.Accounts(t.Context(), "", 100))), 1)
}

// left lists which of some links work.
func left(t *testing.T, s Store, names ...string) (list []string) {
	t.Helper()
	for _, name := range names {
		if _, err := s.LinkByDigest(t.Context(), digestOf(name), noon()); err == nil {
			list = append(list, name)
		}
	}
	return list
}

func linksReplaced(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	verify, other, elsewhere := newLink("a verify", "a"), newLink("b1", "b"), newLink("a2", "a")
	verify.Purpose = nodegate.LinkVerify
	elsewhere.Email = "elsewhere@example.com" // the address of a link doesn't keep an older one alive
	for _, l := range []nodegate.Link{newLink("a1", "a"), verify, other, elsewhere} {
		saveLink(t, s, l)
	}
	same(t, "links of accounts", left(t, s, "a1", "a2", "a verify", "b1"), []string{"a2", "a verify", "b1"})
	for _, name := range []string{"x1", "x2", "y1"} { // before there is an account, the address counts
		l := newLink(name, "")
		l.Purpose, l.Email = nodegate.LinkSignUp, name[:1]+"@example.com"
		saveLink(t, s, l)
	}
	same(t, "links of strangers", left(t, s, "x1", "x2", "y1", "a2"), []string{"x2", "y1", "a2"})
}

func changesEnd(t *testing.T, s Store) {
	ctx := t.Context()
	a := newAccount("a")
	saveAccount(t, s, a)
	saveAccount(t, s, newAccount("b"))
	for _, id := range []string{"a", "b"} {
		saveLink(t, s, newLink(id, id))
		if err := s.SaveSession(ctx, newSession(id, id, noon().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	alive := func() (list []string) {
		for _, id := range []string{"a", "b"} {
			list = append(list, left(t, s, id)...)
			if _, err := s.SessionByDigest(ctx, digestOf(id), noon()); err == nil {
				list = append(list, "session "+id)
			}
		}
		return list
	}
	saveAccount(t, s, a)
	same(t, "after a plain change", alive(), []string{"a", "session a", "b", "session b"})
	save(t, s, &nodegate.Change{Account: a, EndLinks: true, Audit: entry("account.save", "a", "a")})
	same(t, "after the end of links", alive(), []string{"session a", "b", "session b"})
	save(t, s, &nodegate.Change{Account: a, EndSessions: true, Audit: entry("account.save", "a", "a")})
	same(t, "after the end of sessions", alive(), []string{"b", "session b"})
}

func sessionsOf(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	saveAccount(t, s, newAccount("b"))
	older, newer := newSession("older", "a", noon().Add(time.Hour)), newSession("newer", "a", noon().Add(time.Hour))
	newer.Created, newer.From, newer.Agent = noon().Add(time.Second).UTC(), "192.0.2.7", "Browser/1.0"
	for _, session := range []nodegate.Session{older, newer, newSession("expired", "a", noon()), newSession("theirs", "b", noon().Add(time.Hour))} {
		if err := s.SaveSession(ctx, session); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "the sessions", must[[]nodegate.Session](t)(s.SessionsOf(ctx, "a", noon())), []nodegate.Session{newer, older})
	same(t, "by digest", must[*nodegate.Session](t)(s.SessionByDigest(ctx, newer.Digest, noon())), &newer)
	for i := range 100 {
		many := newSession(fmt.Sprintf("many %d", i), "a", noon().Add(time.Hour))
		many.Created = noon().Add(time.Minute).UTC()
		if err := s.SaveSession(ctx, many); err != nil {
			t.Fatal(err)
		}
	}
	list := must[[]nodegate.Session](t)(s.SessionsOf(ctx, "a", noon()))
	same(t, "many sessions", len(list), 100)
	same(t, "the last of them", list[99].Created, noon().Add(time.Minute).UTC())
	same(t, "the sessions of nobody", len(must[[]nodegate.Session](t)(s.SessionsOf(ctx, "nobody", noon()))), 0)
}

func accountsDeleted(t *testing.T, s Store) {
	ctx := t.Context()
	a, b := newAccount("a"), newAccount("b")
	saveAccount(t, s, a)
	saveAccount(t, s, b)
	for _, id := range []string{"a", "b"} {
		saveKey(t, s, newKey(id, "key of "+id))
		saveLink(t, s, newLink(id, id))
		if err := s.SaveSession(ctx, newSession(id, id, noon().Add(time.Hour))); err != nil {
			t.Fatal(err)
		}
	}
	before := must[int64](t)(s.LastChange(ctx))
	stale := *a
	saveAccount(t, s, a)
	is(t, "another version", s.Save(ctx, &nodegate.Change{Account: &stale, Delete: true, Audit: entry("account.delete", "a", "a")}), nodegate.Conflict)
	save(t, s, &nodegate.Change{Account: a, Delete: true, Audit: entry("account.delete", "a", "a")})

	_, err := s.Account(ctx, "a")
	is(t, "the account", err, nodegate.NotFound)
	_, err = s.KeyByDigest(ctx, digestOf("value key of a"))
	is(t, "its key", err, nodegate.NotFound)
	_, err = s.SessionByDigest(ctx, digestOf("a"), noon())
	is(t, "its session", err, nodegate.NotFound)
	same(t, "the links", left(t, s, "a", "b"), []string{"b"})
	must[*nodegate.Key](t)(s.KeyByDigest(ctx, digestOf("value key of b")))
	must[*nodegate.Session](t)(s.SessionByDigest(ctx, digestOf("b"), noon()))
	changes := must[[]nodegate.Changed](t)(s.Changes(ctx, before+1, 10))
	same(t, "the changes", changes, []nodegate.Changed{{Number: before + 2, AccountID: "a"}})
	log := must[[]nodegate.AuditEntry](t)(s.AuditBefore(ctx, "a", 0, 1))
	if len(log) != 1 || log[0].Action != "account.delete" {
		t.Errorf("the audit log ends with %+v", log)
	}
	same(t, "who has left", must[[]nodegate.Departed](t)(s.Departed(ctx, nodegate.Departed{}, 10)), []nodegate.Departed{{AccountID: "a", At: noon().UTC()}})
	same(t, "who left after that", len(must[[]nodegate.Departed](t)(s.Departed(ctx, nodegate.Departed{AccountID: "a", At: noon()}, 10))), 0)
	same(t, "who left after another", len(must[[]nodegate.Departed](t)(s.Departed(ctx, nodegate.Departed{AccountID: "0", At: noon()}, 10))), 1)
	for range 2 { // a second time is no error
		if err := s.ForgetDeparted(ctx, "a"); err != nil {
			t.Fatal(err)
		}
	}
	same(t, "who has left", len(must[[]nodegate.Departed](t)(s.Departed(ctx, nodegate.Departed{}, 10))), 0)
	again := newAccount("a2")
	again.Email = a.Email
	saveAccount(t, s, again) // the address is free
}

func metaDeleted(t *testing.T, s Store) {
	ctx := t.Context()
	must[string](t)(s.SetMeta(ctx, "name", "value"))
	for range 2 { // a second time is no error
		if err := s.DeleteMeta(ctx, "name"); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Meta(ctx, "name")
	is(t, "the value", err, nodegate.NotFound)
}
