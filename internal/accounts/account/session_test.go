package account

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

func (d *desk) alive(t testing.TB, token string) bool {
	t.Helper()
	a, err := d.Session(context.Background(), token)
	if err == nil {
		return a != nil
	}
	want(t, err, nodegate.NotFound, "session")
	return false
}

func TestTokens(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	one, two := d.signIn(t, "a@example.com", "1"), d.signIn(t, "a@example.com", "1")
	if one == two || !d.alive(t, one) || !d.alive(t, two) {
		t.Error("the tokens are not two that live")
	}
	for _, bad := range []string{"", "x", one[:63], one + "0", two[:32] + one[32:]} {
		if d.alive(t, bad) {
			t.Errorf("%q is a session", bad)
		}
	}
}

func TestSignOut(t *testing.T) {
	d := newDesk(t)
	d.person(t, "a@example.com")
	one, two := d.signIn(t, "a@example.com", "1"), d.signIn(t, "a@example.com", "1")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := d.SignOut(context.Background(), one); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if d.alive(t, one) || !d.alive(t, two) {
		t.Error("the wrong session ended")
	}
	_, err := d.ChangePassword(t.Context(), actor(), one, password, "another password")
	want(t, err, nodegate.NotFound, "")
}

func TestSessionExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		d.person(t, "a@example.com")
		token := d.signIn(t, "a@example.com", "1")
		time.Sleep(sessionTime - time.Second)
		if !d.alive(t, token) {
			t.Error("it ended early")
		}
		time.Sleep(time.Second)
		if d.alive(t, token) {
			t.Error("it lives on")
		}
	})
}

func TestChangePassword(t *testing.T) {
	d := newDesk(t)
	a, b := d.person(t, "a@example.com"), d.person(t, "b@example.com")
	mine, other, theirs := d.signIn(t, a.Email, "1"), d.signIn(t, a.Email, "2"), d.signIn(t, b.Email, "1")
	_, err := d.ChangePassword(t.Context(), actor(), mine, "wrong horse battery", "another password")
	want(t, err, nodegate.SignInFailed, "")
	_, err = d.ChangePassword(t.Context(), actor(), mine, password, "short")
	want(t, err, nodegate.InvalidInput, "10 to 1,024")
	if !d.alive(t, mine) || !d.alive(t, other) {
		t.Error("a refused change ended a session")
	}
	fresh, err := d.ChangePassword(t.Context(), actor(), mine, password, "another password")
	if err != nil {
		t.Fatal(err)
	}
	if d.alive(t, mine) || d.alive(t, other) || !d.alive(t, fresh) || !d.alive(t, theirs) {
		t.Error("the wrong sessions ended")
	}
	_, _, err = d.SignIn(t.Context(), Attempt{Email: a.Email, Password: password, From: "3"})
	want(t, err, nodegate.SignInFailed, "")
	if _, _, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: "another password", From: "3"}); err != nil {
		t.Error(err)
	}
}

// TestChangePasswordTries: an open session is no way around the limit of tries.
func TestChangePasswordTries(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token := d.signIn(t, a.Email, actor().From)
	var err error
	for range triesOfAccount {
		_, err = d.ChangePassword(t.Context(), actor(), token, "wrong horse battery", "another password")
	}
	want(t, err, nodegate.RateLimited, "wait a minute")
}

func TestSetPassword(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token := d.signIn(t, a.Email, "1")
	if err := d.SetPassword(t.Context(), actor(), a.ID, "another password"); err != nil {
		t.Fatal(err)
	}
	if d.alive(t, token) {
		t.Error("the session lives on")
	}
	want(t, d.SetPassword(t.Context(), actor(), a.ID, ""), nodegate.InvalidInput, "")
	if _, _, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: "another password", From: "1"}); err != nil {
		t.Error(err)
	}
}

// TestPasswordChangesDuringSignIn: whoever proved the old password at that moment
// has no session afterwards.
func TestPasswordChangesDuringSignIn(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	set := func() {
		if err := d.SetPassword(context.Background(), actor(), a.ID, "another password"); err != nil {
			t.Error(err)
		}
	}
	d.store.beforeSession = set
	token, _, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: password, From: "1"})
	want(t, err, nodegate.SignInFailed, "")
	if token != "" {
		t.Error("the token is a session of the old password")
	}
	checkNoSession(t, d)
}

// TestPasswordSetDuringChange: an operator who sets a password locks out who is just
// changing it, and not the other way round.
func TestPasswordSetDuringChange(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token := d.signIn(t, a.Email, "1")
	d.store.afterAccount = func() {
		if err := d.SetPassword(context.Background(), actor(), a.ID, "set by the operator"); err != nil {
			t.Error(err)
		}
	}
	fresh, err := d.ChangePassword(t.Context(), actor(), token, password, "set by the intruder")
	want(t, err, nodegate.SignInFailed, "")
	if fresh != "" {
		t.Error("there is a session")
	}
	checkNoSession(t, d)
	if _, _, err := d.SignIn(t.Context(), Attempt{Email: a.Email, Password: "set by the operator", From: "1"}); err != nil {
		t.Error(err)
	}
}

// TestCallerLeavesDuringChange: the sessions end all the same.
func TestCallerLeavesDuringChange(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	d.signIn(t, a.Email, "1")
	ctx, cancel := context.WithCancel(t.Context())
	d.store.afterSave = cancel
	if err := d.SetPassword(ctx, actor(), a.ID, "another password"); err != nil {
		t.Error(err)
	}
	checkNoSession(t, d)
}

func checkNoSession(t *testing.T, d *desk) {
	t.Helper()
	db, err := sql.Open("sqlite", d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	count := -1
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM sessions").Scan(&count); err != nil || count != 0 {
		t.Errorf("%d sessions, %v", count, err)
	}
}

// TestNothingInClear searches every byte of the database's files for what must not
// stand there.
func TestNothingInClear(t *testing.T) {
	d := newDesk(t)
	a := d.person(t, "a@example.com")
	token := d.signIn(t, a.Email, "1")
	const changed = "canary password two"
	fresh, err := d.ChangePassword(t.Context(), actor(), token, password, changed)
	if err != nil {
		t.Fatal(err)
	}
	k := d.key(t, a.ID)
	rotated, err := d.RotateKey(t.Context(), actor(), a.ID, k.Key.ID, Rotation{Value: true, Secret: true, Overlap: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	revoked := d.key(t, a.ID)
	if err := d.RevokeKey(t.Context(), actor(), a.ID, revoked.Key.ID); err != nil {
		t.Fatal(err)
	}
	entry := goodCard(a.ID)
	d.putCard(t, entry)
	canaries := map[string]string{
		"password": password, "new password": changed, "token": token, "new token": fresh, "key": k.Value, "secret": k.Secret,
		"rotated key": rotated.Value, "rotated secret": rotated.Secret, "revoked key": revoked.Value, "revoked secret": revoked.Secret, "card number": entry.Number,
	}
	searchFiles(t, filepath.Dir(d.path), canaries)
	if d.edit(t, "PRAGMA wal_checkpoint(TRUNCATE)"); t.Failed() {
		return
	}
	searchFiles(t, filepath.Dir(d.path), canaries)
	for name, canary := range canaries {
		if bytes.Contains(d.log.Bytes(), []byte(canary)) {
			t.Errorf("the log has the %s", name)
		}
	}
}

func searchFiles(t *testing.T, dir string, canaries map[string]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	sees := false // that the search finds what is there
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sees = sees || bytes.Contains(data, []byte("a@example.com"))
		for name, canary := range canaries {
			raw, _ := hex.DecodeString(canary)
			for form, text := range map[string]string{
				"in clear": canary, "in hex": hex.EncodeToString([]byte(canary)), "in base64": base64.RawStdEncoding.EncodeToString([]byte(canary)), "as bytes": string(raw),
			} {
				if len(text) >= 8 && bytes.Contains(data, []byte(text)) {
					t.Errorf("%s has the %s %s", filepath.Base(file), name, form)
				}
			}
		}
	}
	if !sees {
		t.Error("the search finds nothing at all")
	}
}
