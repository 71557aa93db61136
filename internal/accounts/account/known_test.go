package account

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// attack fills every count that strangers have: for one account, from many addresses.
// The counts are filled without hashing, which is what takes the time.
func (d *desk) attack(email string) {
	for i := range 5000 {
		for range triesOfAccount + 1 {
			d.attempts.mayTry(visitor{who: email, place: fmt.Sprintf("198.18.%d.%d", i/256, i%256)})
		}
	}
}

// TestKnownPlaces: whoever signed in from an address before can do so again, whatever
// strangers try and although the server was restarted; from another address they can't
// until the minute is over.
func TestKnownPlaces(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	const home, home6, same6, away = "192.0.2.1", "2001:db8::1", "2001:db8::ffff:2", "192.0.2.99"
	d.signIn(t, "a@example.com", home)
	d.signIn(t, "a@example.com", home6)
	d.Service = New(d.cfg) // as a restart does
	d.attack("a@example.com")
	for _, from := range []string{home, home6, same6, "::ffff:192.0.2.1"} {
		d.signIn(t, "a@example.com", from)
	}
	_, _, err := d.SignIn(t.Context(), Attempt{Email: "a@example.com", Password: password, From: away})
	want(t, err, nodegate.RateLimited, "wait a minute")
	d.attempts.begin = d.attempts.begin.Add(-time.Minute)
	d.signIn(t, "a@example.com", away)
}

// TestKnownDevice: a browser that signed in before is not held up by others at the same
// address. Its token is good for one account and one password, and lets nobody in.
func TestKnownDevice(t *testing.T) {
	d := newDesk(t)
	a, b := d.person(t, "a@example.com"), d.person(t, "b@example.com")
	_, a, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: password, From: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	for range triesOfAccount - 1 { // with the one before
		_, _, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: "wrong horse battery", From: "192.0.2.1"})
		if err == nil {
			t.Fatal("a wrong password is right")
		}
	}
	try := func(email, device string) error {
		_, _, err := d.SignIn(t.Context(), Attempt{Email: email, Password: password, From: "192.0.2.1", Device: device})
		return err
	}
	want(t, try(a.Email, ""), nodegate.RateLimited, "wait a minute")
	want(t, try(a.Email, d.Device(b)), nodegate.RateLimited, "wait a minute")
	want(t, try(a.Email, strings.Repeat("0", 64)), nodegate.RateLimited, "wait a minute")
	if err := try(a.Email, d.Device(a)); err != nil {
		t.Errorf("the owner's browser: %v", err)
	}
	_, _, err = d.SignIn(t.Context(), Attempt{Email: a.Email, Password: "wrong horse battery", From: "192.0.2.1", Device: d.Device(a)})
	want(t, err, nodegate.SignInFailed, "")
	if err := d.SetPassword(t.Context(), actor(), a.ID, password); err != nil {
		t.Fatal(err)
	}
	want(t, try(a.Email, d.Device(a)), nodegate.RateLimited, "wait a minute") // of the old password
}

// TestRememberedPlaces are a few for each account.
func TestRememberedPlaces(t *testing.T) {
	d := newDesk(t)
	a, b := d.customer(t, "a@example.com"), d.customer(t, "b@example.com")
	for i := range 2 * keptPlaces {
		if err := errors.Join(d.remember(t.Context(), a, fmt.Sprintf("192.0.2.%d", i)), d.remember(t.Context(), a, fmt.Sprintf("192.0.2.%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 * keptPlaces {
		v, err := d.recognize(t.Context(), a, Attempt{Email: a.Email, From: fmt.Sprintf("192.0.2.%d", i)})
		if err != nil || v.known != (i >= keptPlaces) {
			t.Errorf("place %d: %+v, %v", i, v, err)
		}
	}
	if v, err := d.recognize(t.Context(), b, Attempt{Email: b.Email, From: fmt.Sprintf("192.0.2.%d", 2*keptPlaces-1)}); err != nil || v.known {
		t.Errorf("another account's place: %+v, %v", v, err)
	}
	text, err := d.store.Meta(t.Context(), placesName(a.ID))
	if err != nil || strings.Contains(text, "192.0.2.") || len(strings.Fields(text)) != keptPlaces {
		t.Errorf("kept is %q, %v", text, err)
	}
}

// TestFailedSignIns are in the log, the metrics and the audit log, with the account and
// the address and without what was typed; many of them fill neither log.
func TestFailedSignIns(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	outcomes := map[nodegate.Code]int{}
	d.tried = func(err error) { outcomes[nodegate.AsError(err).Code]++ }
	for range 2 {
		for _, email := range []string{a.Email, "canary@example.com"} {
			_, _, err := d.SignIn(t.Context(), Attempt{Email: email, Password: "canary horse battery", From: "2001:db8::7"})
			want(t, err, nodegate.SignInFailed, "")
		}
	}
	if outcomes[nodegate.SignInFailed] != 4 {
		t.Errorf("counted are %v", outcomes)
	}
	before := d.auditCount(t)
	for range 99 {
		d.failed(a.ID, "192.0.2.1")
	}
	for i := range 5000 {
		d.failed(a.ID, fmt.Sprint("place ", i))
	}
	d.Close()
	entries, err := d.AuditBefore(t.Context(), a.ID, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]int{}
	for _, e := range entries {
		if e.Action == "signin.failed" {
			found[e.From+": "+e.Detail]++
		}
	}
	if len(found) > 30 || found["2001:db8::: 1 within the hour"] != 1 || found["192.0.2.1: 10 within the hour"] != 1 || found["other addresses: 1000 within the hour"] != 1 {
		t.Errorf("audited is %v", found)
	}
	if after := d.auditCount(t); after-before > 30 {
		t.Errorf("%d entries more", after-before)
	}
	log := d.log.String()
	if !strings.Contains(log, `"msg":"sign-in failed","account":"`+a.ID+`","from":"2001:db8::","last_hour":1`) || strings.Count(log, "sign-in failed") > 35 || strings.Contains(log, "canary") {
		t.Errorf("the log is\n%s", log)
	}
	if r, err := d.VerifyAudit(t.Context()); err != nil || r.Broken != 0 {
		t.Errorf("the audit log is %+v, %v", r, err)
	}
}
