package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
	"github.com/nodegate/nodegate/test/full"
)

// post is a desk that can send mail.
type post struct {
	*desk
	letters chan mailer.Letter
}

func newPost(t testing.TB) *post {
	t.Helper()
	p := &post{newDesk(t), make(chan mailer.Letter, 100)}
	p.SetMail(func(_ context.Context, l mailer.Letter) error {
		p.letters <- l
		return nil
	}, "https://gate.example.com/")
	t.Cleanup(p.Close)
	return p
}

// next waits for a letter, and returns the token of its link.
func (p *post) next(t testing.TB, to, subject string) (token string) {
	t.Helper()
	select {
	case l := <-p.letters:
		if l.To != to || !strings.Contains(l.Subject, subject) {
			t.Fatalf("a letter %q to %s, want %q to %s", l.Subject, l.To, subject, to)
		}
		_, rest, _ := strings.Cut(l.Text, "https://gate.example.com"+LinkPath)
		token, _, _ = strings.Cut(rest, "\n")
		return token
	case <-time.After(time.Minute):
		t.Fatal("no letter arrives")
	}
	return ""
}

// actions are the latest entries of the audit log about an account, newest first.
func (d *desk) actions(t testing.TB, accountID string, n int) (list []string) {
	t.Helper()
	entries, err := d.AuditBefore(context.Background(), accountID, 0, n)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, strings.TrimSpace(e.Action+" "+e.Detail))
	}
	return list
}

func TestReset(t *testing.T) {
	p := newPost(t)
	a := p.person(t, "a@example.com")
	one, two := p.signIn(t, a.Email, "1"), p.signIn(t, a.Email, "2")
	if err := p.RequestReset(" A@example.com", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	token := p.next(t, a.Email, "Reset your password")
	if len(token) != 64 {
		t.Fatalf("the token is %q", token)
	}
	link, err := p.Link(t.Context(), token)
	if err != nil || link.Purpose != nodegate.LinkReset || link.AccountID != a.ID {
		t.Fatalf("the link is %+v, %v", link, err)
	}
	if p.alive(t, token) {
		t.Error("the link's token is a session's too")
	}
	_, err = p.UseLink(t.Context(), token, "short", "192.0.2.1")
	want(t, err, nodegate.InvalidInput, "10 to 1,024")
	if !p.alive(t, one) || !p.alive(t, two) {
		t.Error("a refused password ended a session")
	}
	if _, err := p.UseLink(t.Context(), token, "another password", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	if p.alive(t, one) || p.alive(t, two) {
		t.Error("a session lives on")
	}
	_, err = p.UseLink(t.Context(), token, "a third password", "192.0.2.1")
	want(t, err, nodegate.NotFound, "Request a new one")
	_, _, err = p.SignIn(t.Context(), Attempt{Email: a.Email, Password: password, From: "3"})
	want(t, err, nodegate.SignInFailed, "")
	if _, _, err := p.SignIn(t.Context(), Attempt{Email: a.Email, Password: "another password", From: "3"}); err != nil {
		t.Error(err)
	}
	if got := p.actions(t, a.ID, 10); !slices.Contains(got, "account.password by a link") || !slices.Contains(got, "account.link reset, mailed") {
		t.Errorf("the audit log has %q", got)
	}
	p.notInClear(t, map[string]string{"token": token})
}

// notInClear looks for texts in the files of the database and in the log.
func (d *desk) notInClear(t *testing.T, canaries map[string]string) {
	t.Helper()
	searchFiles(t, strings.TrimSuffix(d.path, "/test.db"), canaries)
	for name, text := range canaries {
		if strings.Contains(d.log.String(), text) {
			t.Errorf("the log has the %s", name)
		}
	}
}

// TestResetTellsNothing: whoever asks learns nothing, and only who may reset gets mail.
func TestResetTellsNothing(t *testing.T) {
	p := newPost(t)
	p.person(t, "a@example.com")
	p.customer(t, "none@example.com")
	suspended := p.person(t, "suspended@example.com")
	if err := p.SetSuspended(t.Context(), actor(), suspended.ID, true); err != nil {
		t.Fatal(err)
	}
	for _, email := range []string{"nobody@example.com", "none@example.com", "suspended@example.com", "a@example.com"} {
		if err := p.RequestReset(email, "192.0.2.1"); err != nil {
			t.Errorf("%s: %v", email, err)
		}
	}
	p.next(t, "a@example.com", "Reset") // mails come in order: the others got none
	want(t, p.RequestReset("no address", "192.0.2.1"), nodegate.InvalidInput, "")
}

// TestLinkExpires, and a newer link takes the place of an older one.
func TestLinkExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		a := d.person(t, "a@example.com")
		older, _, err := d.NewLink(t.Context(), actor(), nodegate.LinkReset, a.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		newer, link, err := d.NewLink(t.Context(), actor(), nodegate.LinkReset, a.ID, "")
		if err != nil || !link.Expires.Equal(now().Add(printedTime)) {
			t.Fatalf("%+v, %v", link, err)
		}
		_, err = d.UseLink(t.Context(), older, "another password", "192.0.2.1")
		want(t, err, nodegate.NotFound, "replaced")
		time.Sleep(printedTime - time.Second)
		if _, err := d.Link(t.Context(), newer); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Second)
		_, err = d.UseLink(t.Context(), newer, "another password", "192.0.2.1")
		want(t, err, nodegate.NotFound, "expired")
	})
}

// TestLinksEnd with a new password and with a new address: a mail that somebody else reads
// is worth nothing then.
func TestLinksEnd(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	for name, change := range map[string]func() error{
		"password": func() error { return d.SetPassword(t.Context(), actor(), a.ID, "another password") },
		"address": func() error {
			token, _, err := d.NewLink(t.Context(), actor(), nodegate.LinkEmail, a.ID, "new@example.com")
			if err == nil {
				_, err = d.UseLink(t.Context(), token, "", "192.0.2.1")
			}
			return err
		},
		"suspension": func() error { return d.SetSuspended(t.Context(), actor(), a.ID, true) },
	} {
		token, _, err := d.NewLink(t.Context(), actor(), nodegate.LinkReset, a.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		if err := change(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := d.Link(t.Context(), token); !errors.Is(err, nodegate.NotFound) {
			t.Errorf("after a change of the %s the link is %v", name, err)
		}
	}
}

// TestMailLimits: an address asks for so many mails an hour, and a reader gets so many.
func TestMailLimits(t *testing.T) {
	p := newPost(t)
	p.person(t, "a@example.com")
	p.person(t, "b@example.com")
	for i := range mailsOfPlace {
		if err := p.RequestReset("a@example.com", "192.0.2.1"); err != nil {
			t.Fatalf("request %d: %v", i, err)
		}
	}
	want(t, p.RequestReset("a@example.com", "192.0.2.1"), nodegate.RateLimited, "too many mails")
	if err := p.RequestReset("b@example.com", "192.0.2.2"); err != nil { // another place
		t.Fatal(err)
	}
	for range mailsTo {
		p.next(t, "a@example.com", "Reset")
	}
	p.next(t, "b@example.com", "Reset") // no more to the first
}

// TestSignUpByMail: the password comes after the mail, so that nobody signs up for others.
func TestSignUpByMail(t *testing.T) {
	p := newPost(t)
	old := p.person(t, "old@example.com")
	before := p.accounts.passwords.hashing.turns
	for _, email := range []string{"old@example.com", "new@example.com"} {
		if err := p.RequestSignUp(email, "192.0.2.1"); err != nil {
			t.Errorf("%s: %v", email, err)
		}
	}
	reset, token := p.next(t, old.Email, "You already have an account"), p.next(t, "new@example.com", "Finish your sign-up")
	if link, err := p.Link(t.Context(), reset); err != nil || link.Purpose != nodegate.LinkReset {
		t.Errorf("the link of who has an account: %+v, %v", link, err)
	}
	if p.accounts.passwords.hashing.turns != before {
		t.Error("a request hashed something")
	}
	if _, err := p.Find(t.Context(), "new@example.com"); !errors.Is(err, nodegate.NotFound) {
		t.Errorf("before the link is used: %v", err)
	}
	_, err := p.UseLink(t.Context(), token, "", "192.0.2.1")
	want(t, err, nodegate.InvalidInput, "choose a password")
	if _, err := p.UseLink(t.Context(), token, password, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	a, err := p.Find(t.Context(), "new@example.com")
	if err != nil || a.Unverified || a.Plan != "free" || a.Operator {
		t.Errorf("the account is %+v, %v", a, err)
	}
	p.signIn(t, "new@example.com", "192.0.2.1")
	_, err = p.UseLink(t.Context(), token, password, "192.0.2.1")
	want(t, err, nodegate.NotFound, "")
}

// TestSignUpTellsNothing: an address that has an account gets the same answer after the
// same work, and nothing changes but the audit log.
func TestSignUpTellsNothing(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	work := func(email string) (hashes int, entries int64) {
		turns := d.accounts.passwords.hashing.turns
		last, err := d.store.LastAudit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := d.SignUp(t.Context(), email, "a password of a stranger", "192.0.2.9"); err != nil {
			t.Errorf("%s: %v", email, err)
		}
		after, err := d.store.LastAudit(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return d.accounts.passwords.hashing.turns - turns, after - last
	}
	for _, email := range []string{"a@example.com", " A@EXAMPLE.com ", "new@example.com", "new@example.com"} {
		if hashes, entries := work(email); hashes != 1 || entries != 1 {
			t.Errorf("%s: %d hashes, %d entries of the audit log", email, hashes, entries)
		}
	}
	d.signIn(t, a.Email, "192.0.2.1") // with the old password
	created, err := d.Find(t.Context(), "new@example.com")
	if err != nil || !created.Unverified {
		t.Errorf("the new account is %+v, %v", created, err)
	}
	if got := d.actions(t, a.ID, 1); !slices.Equal(got, []string{"signup.repeated"}) {
		t.Errorf("the audit log has %q", got)
	}
	for _, email := range []string{"a@example.com", "other@example.com"} { // a password is judged before anything else
		want(t, d.SignUp(t.Context(), email, "short", "192.0.2.9"), nodegate.InvalidInput, "10 to 1,024")
	}
}

func TestChangeEmail(t *testing.T) {
	p := newPost(t)
	a, b := p.person(t, "a@example.com"), p.person(t, "b@example.com")
	session := p.signIn(t, a.Email, actor().From)
	ask := func(pass, email string) error { return p.RequestEmail(t.Context(), actor(), session, pass, email) }
	want(t, ask("wrong horse battery", "new@example.com"), nodegate.SignInFailed, "")
	want(t, ask(password, "a@example.com"), nodegate.InvalidInput, "your account already has this address")
	if err := errors.Join(ask(password, b.Email), ask(password, " New@example.com")); err != nil {
		t.Fatal(err) // whether somebody has the address is not told
	}
	p.next(t, b.Email, "can't be used")
	token := p.next(t, "new@example.com", "Confirm your new e-mail address")
	if now, err := p.Find(t.Context(), a.ID); err != nil || now.Email != "a@example.com" {
		t.Fatalf("before the link is used: %+v, %v", now, err)
	}
	if _, err := p.UseLink(t.Context(), token, "", "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	p.next(t, "a@example.com", "Your e-mail address was changed")
	if !p.alive(t, session) {
		t.Error("the session ended")
	}
	p.signIn(t, "new@example.com", "192.0.2.5")
	if got := p.actions(t, a.ID, 1); !slices.Equal(got, []string{"account.email a@example.com to new@example.com"}) {
		t.Errorf("the audit log has %q", got)
	}
}

// TestAddressTakenMeanwhile: the link can't be used, and nothing changes.
func TestAddressTakenMeanwhile(t *testing.T) {
	d := newDesk(t)
	a := d.customer(t, "a@example.com")
	token, _, err := d.NewLink(t.Context(), actor(), nodegate.LinkEmail, a.ID, "new@example.com")
	if err != nil {
		t.Fatal(err)
	}
	d.customer(t, "new@example.com")
	_, err = d.UseLink(t.Context(), token, "", "192.0.2.1")
	want(t, err, nodegate.Conflict, "another account has this e-mail address")
	_, _, err = d.NewLink(t.Context(), actor(), nodegate.LinkEmail, a.ID, "new@example.com")
	want(t, err, nodegate.Conflict, "another account")
}

// TestVerify: whoever signed up without a mail is not verified, and may be kept from keys.
func TestVerify(t *testing.T) {
	d := newDesk(t)
	d.cfg.VerifyEmail = true
	strict := New(d.cfg)
	if err := d.SignUp(t.Context(), "a@example.com", password, "192.0.2.1"); err != nil {
		t.Fatal(err)
	}
	a, err := d.Find(t.Context(), "a@example.com")
	if err != nil || !a.Unverified {
		t.Fatalf("%+v, %v", a, err)
	}
	d.key(t, a.ID) // nothing depends on it by default
	create := func() error {
		_, err := strict.CreateKey(t.Context(), actor(), a.ID, "a key", nodegate.KeySettings{})
		return err
	}
	want(t, create(), nodegate.Forbidden, "verify the account's e-mail address")
	token, _, err := d.NewLink(t.Context(), actor(), nodegate.LinkVerify, a.ID, "")
	if err == nil {
		_, err = d.UseLink(t.Context(), token, "", "192.0.2.1")
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := create(); err != nil {
		t.Error(err)
	}
}

// TestVerifyByMail, also by a mail that resets the password.
func TestVerifyByMail(t *testing.T) {
	p := newPost(t)
	for i, how := range []func(a *nodegate.Account) (token string){
		func(a *nodegate.Account) string {
			if err := p.RequestVerify(a, actor()); err != nil {
				t.Fatal(err)
			}
			return p.next(t, a.Email, "Confirm your e-mail address")
		},
		func(a *nodegate.Account) string {
			if err := p.RequestReset(a.Email, "192.0.2.1"); err != nil {
				t.Fatal(err)
			}
			return p.next(t, a.Email, "Reset")
		},
	} {
		a, err := p.Create(t.Context(), actor(), NewAccount{Email: fmt.Sprintf("a%d@example.com", i), Password: password, Unverified: true})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.UseLink(t.Context(), how(a), "another password", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		if a, err = p.Find(t.Context(), a.ID); err != nil || a.Unverified {
			t.Errorf("%d: %+v, %v", i, a, err)
		}
	}
}

// TestMailIsTriedAgain after a failure that may pass, and not after one that doesn't.
func TestMailIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.person(t, "a@example.com")
		tries := 0
		d.SetMail(func(context.Context, mailer.Letter) error {
			tries++
			if tries == 1 {
				return &nodegate.Error{Code: nodegate.Busy, Msg: "later"}
			}
			return &nodegate.Error{Code: nodegate.InvalidInput, Msg: "never"}
		}, "https://gate.example.com")
		defer d.Close()
		if err := d.RequestReset("a@example.com", "192.0.2.1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if tries != 2 {
			t.Errorf("%d tries", tries)
		}
		if strings.Contains(d.log.String(), "a@example.com") {
			t.Error("the log has the address")
		}
	})
}

// TestNoMail: without a mail server nothing is promised.
func TestNoMail(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token := d.signIn(t, a.Email, "1")
	for name, err := range map[string]error{
		"reset": d.RequestReset(a.Email, "1"), "sign-up": d.RequestSignUp("new@example.com", "1"), "verification": d.RequestVerify(a, actor()),
		"address": d.RequestEmail(t.Context(), actor(), token, password, "new@example.com"),
	} {
		if !errors.Is(err, nodegate.Forbidden) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestMoveAfterReset: a change of the address that still waits to be mailed ends with the
// password that it was asked for with, and with the account.
func TestMoveAfterReset(t *testing.T) {
	full.Slow(t)
	p := newPost(t)
	sentinel := p.person(t, "sentinel@example.com")
	for name, change := range map[string]func(id string) error{
		"password":   func(id string) error { return p.SetPassword(t.Context(), actor(), id, "another password") },
		"suspension": func(id string) error { return p.SetSuspended(t.Context(), actor(), id, true) },
		"deletion":   func(id string) error { return p.Delete(t.Context(), actor(), id) },
		"address": func(id string) error {
			token, _, err := p.NewLink(t.Context(), actor(), nodegate.LinkEmail, id, "moved@example.com")
			if err == nil {
				_, err = p.UseLink(t.Context(), token, "", "192.0.2.1")
			}
			return err
		},
	} {
		a := p.person(t, name+"@example.com")
		session := p.signIn(t, a.Email, actor().From)
		gate := make(chan struct{})
		if err := p.outbox.add(func(context.Context) { <-gate }); err != nil {
			t.Fatal(err)
		}
		if err := p.RequestEmail(t.Context(), actor(), session, password, "thief-"+name+"@example.com"); err != nil {
			t.Fatal(err)
		}
		if err := change(a.ID); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		close(gate)
		if name == "address" {
			p.next(t, a.Email, "Your e-mail address was changed")
		}
		if err := p.RequestVerify(sentinel, actor()); err != nil {
			t.Fatal(err)
		}
		p.next(t, sentinel.Email, "Confirm") // mails come in order: the other is not sent
	}
}

// TestResetOfOldAddress: a link that is about an address that the account has left sets no
// password.
func TestResetOfOldAddress(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token, err := d.links.issue(t.Context(), actor(), &nodegate.Link{Purpose: nodegate.LinkReset, AccountID: a.ID, Email: "old@example.com", Expires: now().Add(resetTime)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.UseLink(t.Context(), token, "another password", "192.0.2.1")
	want(t, err, nodegate.NotFound, "this link no longer works")
	d.signIn(t, a.Email, "192.0.2.1")
}
