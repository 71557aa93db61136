package account

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
)

func TestSuspend(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token := d.signIn(t, a.Email, "1")
	if err := d.SetSuspended(t.Context(), actor(), a.ID, true); err != nil {
		t.Fatal(err)
	}
	if d.alive(t, token) {
		t.Error("the session lives on")
	}
	_, _, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: password, From: "1"})
	want(t, err, nodegate.Forbidden, "this account is suspended")
	_, _, err = d.SignIn(t.Context(), Attempt{Email: a.Email, Password: "wrong horse battery", From: "1"})
	want(t, err, nodegate.SignInFailed, "wrong e-mail address or password") // strangers are not told
	if err := d.SetSuspended(t.Context(), actor(), a.ID, false); err != nil {
		t.Fatal(err)
	}
	d.signIn(t, a.Email, "1")
	if got := d.actions(t, a.ID, 4); !slices.Contains(got, "account.suspend") || !slices.Contains(got, "account.resume") {
		t.Errorf("the audit log has %q", got)
	}
	want(t, d.SetSuspended(t.Context(), actor(), "nobody", true), nodegate.NotFound, "")
}

func TestRole(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	for _, on := range []bool{true, false} {
		if err := d.SetOperator(t.Context(), actor(), a.ID, on); err != nil {
			t.Fatal(err)
		}
		if now, err := d.Find(t.Context(), a.ID); err != nil || now.Operator != on {
			t.Errorf("%v: %+v, %v", on, now, err)
		}
	}
}

func TestDelete(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	other := d.person(t, "b@example.com")
	key := d.key(t, a.ID)
	d.putCard(t, goodCard(a.ID))
	token, theirs := d.signIn(t, a.Email, actor().From), d.signIn(t, other.Email, "1")
	want(t, d.DeleteOwn(t.Context(), actor(), token, "wrong horse battery"), nodegate.SignInFailed, "")
	if !d.alive(t, token) {
		t.Fatal("a wrong password ended the session")
	}
	if err := d.DeleteOwn(t.Context(), actor(), token, password); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Find(t.Context(), a.ID); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("the account: %v", err)
	}
	if _, err := d.store.Key(t.Context(), a.ID, key.Key.ID); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("the key: %v", err)
	}
	if _, err := d.store.Meta(t.Context(), placesName(a.ID)); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("where it was signed in to from: %v", err)
	}
	if d.alive(t, token) || !d.alive(t, theirs) {
		t.Error("the wrong session ended")
	}
	gone, err := d.store.Departed(t.Context(), nodegate.Departed{}, 10)
	if err != nil || len(gone) != 1 || gone[0].AccountID != a.ID {
		t.Errorf("whose pins go: %v, %v", gone, err)
	}
	if got := d.actions(t, a.ID, 1); !slices.Equal(got, []string{"account.delete"}) {
		t.Errorf("the audit log has %q", got)
	}
	report, err := d.VerifyAudit(t.Context())
	if err != nil || report.Broken != 0 {
		t.Errorf("the audit log: %+v, %v", report, err)
	}
	d.person(t, "a@example.com") // the address is free again
	want(t, d.Delete(t.Context(), actor(), a.ID), nodegate.NotFound, "")
}

// TestDeleteIsDone also where something of the account stays behind.
func TestDeleteIsDone(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	d.store.metaFails = errors.New("the disk is full")
	if err := d.Delete(t.Context(), actor(), a.ID); err != nil {
		t.Error(err)
	}
	if !strings.Contains(d.log.String(), "the disk is full") {
		t.Error("the log says nothing")
	}
}

// TestLastOperator: there is always an operator who can sign in, unless the command line
// says otherwise.
func TestLastOperator(t *testing.T) {
	d := newDesk(t)
	a, b := d.person(t, "a@example.com"), d.person(t, "b@example.com")
	for _, one := range []*nodegate.Account{a, b} {
		if err := d.SetOperator(t.Context(), actor(), one.ID, true); err != nil {
			t.Fatal(err)
		}
	}
	results := make(chan error, 2)
	for _, one := range []*nodegate.Account{a, b} { // each demotes the other
		go func() {
			results <- d.KeepOperator().SetOperator(t.Context(), actor(), one.ID, false)
		}()
	}
	first, second := <-results, <-results
	if (first == nil) == (second == nil) {
		t.Fatalf("%v, %v", first, second)
	}
	want(t, cmp.Or(first, second), nodegate.InvalidInput, "the only operator")
	last, err := d.Find(t.Context(), a.ID)
	if err == nil && !last.Operator {
		last, err = d.Find(t.Context(), b.ID)
	}
	if err != nil || !last.Operator {
		t.Fatalf("%+v, %v", last, err)
	}
	token := d.signIn(t, last.Email, actor().From)
	want(t, d.DeleteOwn(t.Context(), actor(), token, password), nodegate.InvalidInput, "the only operator")
	if err := d.Delete(t.Context(), actor(), last.ID); err != nil { // as the command line does
		t.Error(err)
	}
}

// export is what an export has.
type export struct {
	Account  ExportedAccount   `json:"account"`
	Card     *ExportedCard     `json:"card"`
	Keys     []ExportedKey     `json:"keys"`
	Sessions []ExportedSession `json:"sessions"`
	Usage    []ExportedDay     `json:"usage"`
	Audit    []ExportedEntry   `json:"audit"`
	Pins     []ExportedPin     `json:"pins"`
}

func parsedExport(t *testing.T, text []byte) (e export) {
	t.Helper()
	if err := json.Unmarshal(text, &e); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return e
}

// TestExport: an export has all that is kept and nothing that lets anybody in.
func TestExport(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	live, revoked := d.key(t, a.ID), d.key(t, a.ID)
	if err := d.RevokeKey(t.Context(), actor(), a.ID, revoked.Key.ID); err != nil {
		t.Fatal(err)
	}
	d.putCard(t, goodCard(a.ID))
	token := d.signIn(t, a.Email, "192.0.2.7")
	var b bytes.Buffer
	pins := func(each func(nodegate.Pin) bool) error {
		each(nodegate.Pin{CID: "bafy1", Name: "one"})
		each(nodegate.Pin{CID: "bafy2", Name: `"two"`})
		return nil
	}
	if err := d.WriteExport(t.Context(), &b, a.ID, pins); err != nil {
		t.Fatal(err)
	}
	now, err := d.Find(t.Context(), a.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, secret := range map[string]string{"key": live.Value, "secret": live.Secret, "password": now.Password, "token": token, "card": goodCard(a.ID).Number} {
		if strings.Contains(b.String(), secret) {
			t.Errorf("the export has the %s", name)
		}
	}
	got := parsedExport(t, b.Bytes())
	if got.Account.Email != a.Email || got.Card == nil || got.Card.LastFour != "4242" || len(got.Keys) != 2 || got.Keys[0].Prefix != live.Value[:4] || got.Keys[1].Revoked == nil ||
		len(got.Sessions) != 1 || got.Sessions[0].From != "192.0.2.7" || len(got.Audit) < 5 || len(got.Pins) != 2 || got.Pins[1].Name != `"two"` {
		t.Errorf("the export is %s", b.String())
	}
	broken := errors.New("broken")
	if err := d.WriteExport(t.Context(), &b, a.ID, func(func(nodegate.Pin) bool) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("a listing that fails: %v", err)
	}
}

// TestExportNamesNobodyElse: what operators and strangers did is told without who and where
// they are; what the account itself did is told in full, also under an earlier address.
func TestExportNamesNobodyElse(t *testing.T) {
	d := newDesk(t)
	self := func(email string) nodegate.Actor { return nodegate.Actor{Name: email, From: "192.0.2.50"} }
	a, err := d.Create(t.Context(), self("old@example.com"), NewAccount{Email: "old@example.com"})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := d.NewLink(t.Context(), nodegate.Actor{Name: "stranger", From: "192.0.2.99"}, nodegate.LinkEmail, a.ID, "new@example.com")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.UseLink(t.Context(), token, "", "192.0.2.51"); err != nil {
		t.Fatal(err)
	}
	for _, by := range []nodegate.Actor{self("new@example.com"), actor(), self("old@example.com")} { // the old address is somebody else's by now
		if err := d.SetPlan(t.Context(), by, a.ID, "unlimited"); err != nil {
			t.Fatal(err)
		}
	}
	var b bytes.Buffer
	if err := d.WriteExport(t.Context(), &b, a.ID, nil); err != nil {
		t.Fatal(err)
	}
	e := parsedExport(t, b.Bytes())
	var got []string
	for _, one := range e.Audit {
		got = append(got, one.Action+" "+one.Actor+" "+one.From)
	}
	want := []string{
		"account.plan operator ", "account.plan operator ", "account.plan new@example.com 192.0.2.50", "account.email new@example.com 192.0.2.51",
		"account.link stranger ", "account.create old@example.com 192.0.2.50",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the export has %q", got)
	}
}

func TestSessionList(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	other := d.person(t, "b@example.com")
	sign := func(email, from, agent string) string {
		token, _, err := d.SignIn(t.Context(), Attempt{Email: email, Password: password, From: from, Agent: agent})
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	first, second, theirs := sign(a.Email, "192.0.2.1", "one"), sign(a.Email, "192.0.2.2", strings.Repeat("x", 1000)), sign(other.Email, "192.0.2.3", "three")
	list, err := d.Sessions(t.Context(), second)
	if err != nil || len(list) != 2 || !list[0].Here || list[1].Here || list[1].From != "192.0.2.1" || list[1].Agent != "one" || len(list[0].Agent) != maxAgent {
		t.Fatalf("the sessions are %+v, %v", list, err)
	}
	foreign, err := d.Sessions(t.Context(), theirs)
	if err != nil {
		t.Fatal(err)
	}
	want(t, d.EndSession(t.Context(), actor(), second, foreign[0].ID), nodegate.NotFound, "")
	if err := d.EndSession(t.Context(), actor(), second, list[1].ID); err != nil {
		t.Fatal(err)
	}
	if d.alive(t, first) || !d.alive(t, second) || !d.alive(t, theirs) {
		t.Error("the wrong session ended")
	}
	if err := d.EndSessions(t.Context(), actor(), a.ID); err != nil {
		t.Fatal(err)
	}
	if d.alive(t, second) || !d.alive(t, theirs) {
		t.Error("the wrong sessions ended everywhere")
	}
}
