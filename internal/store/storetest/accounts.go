package storetest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func accountsRoundTrip(t *testing.T, s Store) {
	full := newAccount("full")
	full.Operator, full.Development, full.Unverified, full.Suspended, full.PlanChosen = true, true, true, noon().UTC(), noon().Add(time.Hour).UTC()
	full.Card = &nodegate.Card{Brand: "visa", LastFour: "4242", ExpMonth: 12, ExpYear: 2031, Processor: "stripe", Reference: "pm_1"}
	for _, a := range []*nodegate.Account{full, {ID: "bare", Email: "bare@example.com"}} {
		saveAccount(t, s, a)
		if a.Version != 1 {
			t.Errorf("the first version is %d", a.Version)
		}
		same(t, "by id", must[*nodegate.Account](t)(s.Account(t.Context(), a.ID)), a)
		same(t, "by e-mail", must[*nodegate.Account](t)(s.AccountByEmail(t.Context(), a.Email)), a)
	}
	cut := newAccount("cut")
	cut.Created = noon().Add(789) // nanoseconds
	saveAccount(t, s, cut)
	got := must[*nodegate.Account](t)(s.Account(t.Context(), "cut"))
	if !got.Created.Equal(noon()) || got.Created.Location() != time.UTC {
		t.Errorf("a time is kept as %v, want %v in UTC and to the microsecond", got.Created, noon())
	}
}

func accountsInPages(t *testing.T, s Store) {
	// Ids are ordered by bytes, whatever the database thinks of languages.
	ids := []string{"B", "a", "a-b", "aB", "ab", "b", "z", "ä"}
	for _, id := range ids {
		saveAccount(t, s, newAccount(id))
	}
	slices.Sort(ids)
	for _, size := range []int{1, 3, 100} {
		var got []string
		after := ""
		for {
			page := must[[]*nodegate.Account](t)(s.Accounts(t.Context(), after, size))
			if len(page) > size {
				t.Fatalf("a page of %d has %d", size, len(page))
			}
			if len(page) == 0 {
				break
			}
			for _, a := range page {
				got = append(got, a.ID)
			}
			after = got[len(got)-1]
		}
		same(t, fmt.Sprint("pages of ", size), got, ids)
	}
	same(t, "a page of none", len(must[[]*nodegate.Account](t)(s.Accounts(t.Context(), "", 0))), 0)
}

func accountsLike(t *testing.T, s Store) {
	for _, id := range []string{"b_1", "b%1", "b!1", "bx1", "B", "a", "ä"} {
		a := newAccount(id)
		a.Email = strings.ToLower(a.Email)
		saveAccount(t, s, a)
	}
	for _, c := range []struct {
		part, after string
		limit       int
		want        []string
	}{
		{"", "", 100, []string{"a", "b!1", "b%1", "B", "b_1", "bx1", "ä"}},
		{"", "b!1@example.com", 2, []string{"b%1", "B"}},
		{"_", "", 9, []string{"b_1"}}, {"%", "", 9, []string{"b%1"}}, {"!", "", 9, []string{"b!1"}},
		{"b", "b_1@example.com", 9, []string{"bx1"}},
		{"@example", "", 0, nil}, {"nobody", "", 9, nil}, {"\x00", "", 9, nil}, {"\xff", "", 9, nil}, {"' OR '1'='1", "", 9, nil},
	} {
		var got []string
		for _, a := range must[[]*nodegate.Account](t)(s.AccountsLike(t.Context(), c.part, c.after, c.limit)) {
			got = append(got, a.ID)
		}
		same(t, fmt.Sprintf("%q after %q", c.part, c.after), got, c.want)
	}
}

func addressIsTaken(t *testing.T, s Store) {
	saveAccount(t, s, newAccount("first"))
	second := newAccount("second")
	second.Email = "first@example.com"
	c := &nodegate.Change{Account: second, Audit: entry("account.create", "second", "second")}
	is(t, "a new account with it", s.Save(t.Context(), c), nodegate.Conflict)
	second.Email = "second@example.com"
	save(t, s, c)
	second.Email = "first@example.com"
	is(t, "an account that changes to it", s.Save(t.Context(), c), nodegate.Conflict)
	again := newAccount("first")
	again.Email = "other@example.com"
	is(t, "an id twice", s.Save(t.Context(), &nodegate.Change{Account: again, Audit: entry("account.create", "first", "first")}), nodegate.Conflict)
}

func cardComesAndGoes(t *testing.T, s Store) {
	a := newAccount("a")
	saveAccount(t, s, a)
	for _, card := range []*nodegate.Card{{Brand: "visa", LastFour: "4242", ExpMonth: 1, ExpYear: 2030, Processor: "test"}, nil, {}} {
		a.Card = card
		saveAccount(t, s, a)
		same(t, "the account", must[*nodegate.Account](t)(s.Account(t.Context(), "a")), a)
	}
}

func notThere(t *testing.T, s Store) {
	ctx := t.Context()
	saveAccount(t, s, newAccount("a"))
	for _, id := range []string{"", "b", "A", "a\x00", "\xff", "' OR '1'='1"} {
		_, err := s.Account(ctx, id)
		is(t, "an account", err, nodegate.NotFound)
		_, err = s.AccountByEmail(ctx, id)
		is(t, "an address", err, nodegate.NotFound)
		_, err = s.Key(ctx, "a", id)
		is(t, "a key", err, nodegate.NotFound)
		_, err = s.Key(ctx, id, "k")
		is(t, "a key of nobody", err, nodegate.NotFound)
	}
	_, err := s.KeyByDigest(ctx, digestOf("nothing"))
	is(t, "a digest", err, nodegate.NotFound)
	_, err = s.SessionByDigest(ctx, digestOf("nothing"), noon())
	is(t, "a session", err, nodegate.NotFound)
	same(t, "keys of nobody", len(must[[]*nodegate.Key](t)(s.KeysOf(ctx, "b"))), 0)
	orphan := newKey("nobody", "k")
	is(t, "a key for nobody", s.Save(ctx, &nodegate.Change{Key: orphan, Audit: entry("key.create", "nobody", "k")}), nodegate.NotFound)
	is(t, "a session for nobody", s.SaveSession(ctx, nodegate.Session{Digest: digestOf("s"), AccountID: "nobody", Expires: noon()}), nodegate.NotFound)
}

func metaOnce(t *testing.T, s Store) {
	set := func(name, value, want string) {
		t.Helper()
		same(t, name, must[string](t)(s.SetMeta(t.Context(), name, value)), want)
	}
	set("one", "first", "first")
	set("one", "second", "first")
	set("two", "", "")
	set("two", "late", "")
	got := make(chan string)
	for i := range 8 {
		go func() {
			v, err := s.SetMeta(t.Context(), "raced", fmt.Sprint("value ", i))
			if err != nil {
				t.Error(err)
			}
			got <- v
		}()
	}
	winner := <-got
	for range 7 {
		same(t, "a race", <-got, winner)
	}
}

// keepOperator: a change that asks for it is refused where no operator could sign in after it,
// and changes nothing then.
func keepOperator(t *testing.T, s Store) {
	suspended, silent, one, two := newAccount("suspended"), newAccount("silent"), newAccount("one"), newAccount("two")
	suspended.Suspended, silent.Password = noon().UTC(), ""
	for _, a := range []*nodegate.Account{suspended, silent, one, two} {
		a.Operator = true
		saveAccount(t, s, a)
	}
	saveAccount(t, s, newAccount("member"))
	change := func(id string, with func(*nodegate.Change)) error {
		c := &nodegate.Change{Account: must[*nodegate.Account](t)(s.Account(t.Context(), id)), KeepOperator: true, Audit: entry("account.save", id, id)}
		with(c)
		return s.Save(t.Context(), c)
	}
	for name, with := range map[string]func(*nodegate.Change){
		"demoted":   func(c *nodegate.Change) { c.Account.Operator = false },
		"suspended": func(c *nodegate.Change) { c.Account.Suspended = noon().UTC() },
		"deleted":   func(c *nodegate.Change) { c.Delete = true },
	} {
		results := make(chan error, 2)
		for _, id := range []string{"one", "two"} { // at once, as two servers may
			go func() { results <- change(id, with) }()
		}
		first, second := <-results, <-results
		if (first == nil) == (second == nil) || !errors.Is(cmp.Or(first, second), nodegate.ErrLastOperator) {
			t.Fatalf("%s: %v and %v", name, first, second)
		}
		again := map[string]*nodegate.Account{}
		for _, id := range []string{"one", "two"} {
			a, err := s.Account(t.Context(), id)
			if errors.Is(err, nodegate.NotFound) {
				a = newAccount(id)
			}
			a.Operator, a.Suspended = true, time.Time{}
			again[id] = a
		}
		for _, a := range again {
			saveAccount(t, s, a)
		}
	}
	for _, id := range []string{"one", "two"} {
		if err := change(id, func(c *nodegate.Change) { c.Account.Operator, c.KeepOperator = false, false }); err != nil {
			t.Errorf("without the check: %v", err)
		}
	}
}
