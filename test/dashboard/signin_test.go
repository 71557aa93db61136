package dashboard

import (
	"encoding/json"
	"io"
	"mime/quotedprintable"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/smtptest"
)

// oneNetwork starts faster.
func oneNetwork(c *config.Config) {
	c.Networks, c.DefaultNetwork = c.Networks[:1], c.Networks[0].Name
}

// withMail is a server that sends mail, and the mail server.
func withMail(t *testing.T) (*harness.Service, *smtptest.Server) {
	t.Helper()
	mail := smtptest.Start(t, smtptest.Config{})
	s, _ := Start(t, func(c *config.Config) {
		oneNetwork(c)
		c.Mail.SMTP, c.Mail.From = config.Secret("smtp://"+mail.Addr), "gate@example.com"
		c.Dashboard.URL = "https://gate.example.com"
	})
	return s, mail
}

var linkInMail = regexp.MustCompile(`https://gate\.example\.com(/login/link/[0-9a-f]{64})\s`)

// mailed waits for the n-th letter, and returns the path of the link in it.
func mailed(t *testing.T, mail *smtptest.Server, n int, to, subject string) string {
	t.Helper()
	for end := time.Now().Add(time.Minute); len(mail.Letters()) < n; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d letters came, want %d", len(mail.Letters()), n)
		}
	}
	l := mail.Letters()[n-1]
	text, err := io.ReadAll(quotedprintable.NewReader(strings.NewReader(l.Text)))
	if err != nil {
		t.Fatal(err)
	}
	if l.To != to || l.Header.Get("Subject") != subject {
		t.Fatalf("letter %d is %q to %s, want %q to %s", n, l.Header.Get("Subject"), l.To, subject, to)
	}
	if found := linkInMail.FindStringSubmatch(string(text)); found != nil {
		return found[1]
	}
	return ""
}

// same compares two answers, but for what a request itself said and dates.
func sameAnswer(t *testing.T, what string, a, b Page) {
	t.Helper()
	for _, p := range []*Page{&a, &b} {
		p.Header = p.Header.Clone()
		for _, name := range []string{"Date", "Set-Cookie"} { // the cookie holds the address that was typed
			p.Header.Del(name)
		}
	}
	if a.Status != b.Status || a.Location != b.Location || a.Body != b.Body || len(a.Header) != len(b.Header) {
		t.Errorf("%s: %d %q %v\n%s\nbeside %d %q %v\n%s", what, a.Status, a.Location, a.Header, a.Body, b.Status, b.Location, b.Header, b.Body)
	}
}

// A forgotten password is set by a mailed link: all sessions end, and the link works once.
func TestResetByMail(t *testing.T) {
	s, mail := withMail(t)
	first := s.Server.First()
	if _, err := s.Server.Control().Accounts.Find(t.Context(), first.Email); err != nil {
		t.Fatal(err)
	}
	open, stranger := Operator(t, s), Visit(t, s)
	stranger.Get("/login").Has(t, `href="/login/reset"`)
	stranger.Get("/login/reset").Is(t, http.StatusOK).Has(t, `action="/login/reset"`)
	nobody := stranger.Post("/login/reset", url.Values{"email": {"nobody@example.com"}})
	known := stranger.Post("/login/reset", url.Values{"email": {first.Email}})
	sameAnswer(t, "the answers", nobody, known)
	stranger.Follow(known).Is(t, http.StatusOK).Has(t, "If the address has an account")
	path := mailed(t, mail, 1, first.Email, "Reset your password")

	stranger.Get(path).Is(t, http.StatusOK).Has(t, "Choose a new password", first.Email)
	stranger.Post(path, url.Values{"password": {"short"}}).Is(t, http.StatusUnprocessableEntity).Has(t, "10 to 1,024")
	if p := stranger.Post(path, url.Values{"password": {"a password after all"}}); p.Location != "/login?done=reset" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	open.Get("/account").Is(t, http.StatusSeeOther)
	stranger.Get(path).Is(t, http.StatusNotFound).Has(t, "Request a new one")
	stranger.Post(path, url.Values{"password": {"a third password"}}).Is(t, http.StatusNotFound)
	stranger.Post("/login", url.Values{"email": {first.Email}, "password": {first.Password}}).Is(t, http.StatusUnauthorized)
	stranger.SignIn(first.Email, "a password after all")
	if strings.Contains(s.Logs.String(), path[len("/login/link/"):]) || strings.Contains(s.Logs.String(), "nobody@example.com") {
		t.Error("the log has the token, or an address")
	}
}

// With a mail server, who signs up chooses the password after the mail. An address that has
// an account gets the same answer.
func TestSignUpByMail(t *testing.T) {
	s, mail := withMail(t)
	v := Visit(t, s)
	v.Get("/signup").Is(t, http.StatusOK).Has(t, "Send link").Lacks(t, `type="password"`)
	taken := v.Post("/signup", url.Values{"email": {s.Server.First().Email}})
	fresh := v.Post("/signup", url.Values{"email": {"new@example.com"}})
	sameAnswer(t, "the answers", taken, fresh)
	v.Follow(fresh).Has(t, "we sent a link to finish your sign-up")
	mailed(t, mail, 1, s.Server.First().Email, "You already have an account")
	path := mailed(t, mail, 2, "new@example.com", "Finish your sign-up")
	v.Get(path).Has(t, "This creates the account new@example.com")
	v.Post(path, url.Values{"password": {""}}).Is(t, http.StatusUnprocessableEntity)
	if p := v.Post(path, url.Values{"password": {Password}}); p.Location != "/" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	v.Get("/").Has(t, "Get started")
	v.Get("/account").Has(t, "verified").Lacks(t, "not verified")
	Visit(t, s).Get(path).Is(t, http.StatusNotFound)
}

// Without a mail server a sign-up does the same for both too, and the sign-in follows.
func TestSignUpTellsNothing(t *testing.T) {
	s, v := Start(t, oneNetwork)
	form := func(email string) url.Values {
		return url.Values{"email": {email}, "password": {"a password of a stranger"}}
	}
	taken, fresh := v.Post("/signup", form(s.Server.First().Email)), v.Post("/signup", form("new@example.com"))
	sameAnswer(t, "the answers", taken, fresh)
	if fresh.Location != "/login?done=signed-up" {
		t.Errorf("to %q", fresh.Location)
	}
	short := func(email string) Page { return v.Post("/signup", url.Values{"email": {email}, "password": {"short"}}) }
	a, b := short("dev@localhost"), short("new@localhost")
	a.Body, b.Body = strings.ReplaceAll(a.Body, "dev@", "x@"), strings.ReplaceAll(b.Body, "new@", "x@")
	a.Header.Del("Content-Length")
	b.Header.Del("Content-Length")
	sameAnswer(t, "short passwords", a, b)
	v.Post("/login", form(s.Server.First().Email)).Is(t, http.StatusUnauthorized)
	v.SignIn("new@example.com", "a password of a stranger")
	v.Get("/account").Has(t, "not verified", "nodegate account verify", "nodegate account email")
	v.Get("/login/reset").Has(t, "nodegate account reset").Lacks(t, `action="/login/reset"`)
	v.Post("/login/reset", url.Values{"email": {"new@example.com"}}).Is(t, http.StatusForbidden)
}

// A new address is confirmed by its reader, with the password before that.
func TestChangeEmail(t *testing.T) {
	s, mail := withMail(t)
	v := Visit(t, s)
	first := s.Server.First()
	v.SignIn(first.Email, first.Password)
	v.Post("/account/email", url.Values{"email": {"new@example.com"}, "password": {"wrong password"}}).Is(t, http.StatusUnprocessableEntity).Has(t, "Current password is incorrect.", "new@example.com")
	v.Post("/account/email", url.Values{"email": {"nothing"}, "password": {first.Password}}).Is(t, http.StatusUnprocessableEntity)
	v.Follow(v.Post("/account/email", url.Values{"email": {"new@example.com"}, "password": {first.Password}})).Has(t, "Check the mail of your new address", first.Email)
	path := mailed(t, mail, 1, "new@example.com", "Confirm your new e-mail address")
	stranger := Visit(t, s) // the mail may be read elsewhere
	stranger.Get(path).Has(t, "Your account moves to new@example.com")
	stranger.Follow(stranger.Post(path, nil)).Is(t, http.StatusOK).Has(t, "E-mail address changed.")
	mailed(t, mail, 2, first.Email, "Your e-mail address was changed")
	v.Get("/account").Is(t, http.StatusOK).Has(t, "new@example.com")
	stranger.SignIn("new@example.com", first.Password)
}

var sessionID = regexp.MustCompile(`name="session" value="([0-9a-f]{16})"`)

// sessionOf is the id of another session of a visitor's account.
func sessionOf(t testing.TB, v *Visitor) string {
	t.Helper()
	return first(sessionID, v.Get("/account").Is(t, http.StatusOK).Body)
}

func TestSessionList(t *testing.T) {
	s, _ := Start(t, oneNetwork)
	one, two, three := Operator(t, s), Operator(t, s), Operator(t, s)
	other := Member(t, s, "other@example.com")
	one.Get("/account").Has(t, "this session", "127.0.0.1", "Sign out everywhere")
	id := sessionOf(t, one)
	other.Post("/account/sessions", url.Values{"session": {id}}).Is(t, http.StatusNotFound)
	one.Follow(one.Post("/account/sessions", url.Values{"session": {id}})).Has(t, "Session signed out.")
	alive := 0
	for _, v := range []*Visitor{two, three} {
		if v.Get("/account").Status == http.StatusOK {
			alive++
		}
	}
	if alive != 1 {
		t.Errorf("%d of two sessions live", alive)
	}
	token := one.Cookie
	if p := one.Post("/account/sessions", nil); p.Location != "/login?done=everywhere" {
		t.Errorf("%d to %q", p.Status, p.Location)
	}
	one.Cookie = token
	for _, v := range []*Visitor{one, two, three} {
		v.Get("/account").Is(t, http.StatusSeeOther)
	}
	other.Get("/account").Is(t, http.StatusOK)
}

// An account that is deleted is gone with all it had, on every page and for every key.
func TestDeleteAccount(t *testing.T) {
	s, _ := Start(t, func(c *config.Config) {
		oneNetwork(c)
		c.Storage.Undo = 0 // what nobody pins goes at the next collection
	})
	v := Member(t, s, "leaver@example.com")
	key := v.makeKey(t, "mine")
	v.Post("/billing/card", url.Values{"number": {"4242424242424242"}, "month": {"12"}, "year": {strconv.Itoa(time.Now().Year() + 1)}, "cvc": {"937"}}).Is(t, http.StatusSeeOther)
	cid := stored(t, v, "mine.txt", "what the leaver kept")
	if got := call(t, s, key.text, ""); got != http.StatusOK {
		t.Fatal(got)
	}
	p := v.Get("/account/export").Is(t, http.StatusOK)
	if kind := p.Header.Get("Content-Disposition"); !strings.HasPrefix(kind, "attachment") {
		t.Errorf("the export is %q", kind)
	}
	var export struct {
		Account struct{ Email string }
		Keys    []struct{ ID string }
		Pins    []struct{ CID string }
	}
	if err := json.Unmarshal([]byte(p.Body), &export); err != nil || export.Account.Email != "leaver@example.com" || len(export.Keys) != 1 || len(export.Pins) != 1 || export.Pins[0].CID != cid {
		t.Errorf("the export is %s, %v", p.Body, err)
	}
	p.Lacks(t, key.text, key.secret)
	a, err := s.Server.Control().Accounts.Find(t.Context(), "leaver@example.com")
	if err != nil {
		t.Fatal(err)
	}
	v.Get("/account/delete").Is(t, http.StatusOK).Has(t, "leaver@example.com", "1 API key stops")
	v.Post("/account/delete", url.Values{"password": {"wrong password"}}).Is(t, http.StatusUnprocessableEntity).Has(t, "Current password is incorrect.")
	if p := v.Post("/account/delete", url.Values{"password": {Password}}); p.Location != "/login?done=deleted" {
		t.Fatalf("%d %s", p.Status, p.Body)
	}
	if got := call(t, s, key.text, ""); got != http.StatusUnauthorized {
		t.Errorf("the key gets %d", got)
	}
	v.Post("/login", url.Values{"email": {"leaver@example.com"}, "password": {Password}}).Is(t, http.StatusUnauthorized)
	collected(t, s)
	operator := Operator(t, s)
	operator.Get("/operator/accounts/"+a.ID).Is(t, http.StatusNotFound)
	operator.Get("/operator/audit").Is(t, http.StatusOK).Has(t, "account.delete")
	Member(t, s, "leaver@example.com").Get("/files").Lacks(t, cid)
}

// collected waits until garbage collection has found a pin that nobody has any more.
func collected(t *testing.T, s *harness.Service) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
		res, err := http.Post(s.Admin+"/storage/gc", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		var report struct{ Pins, Blocks int }
		err = json.NewDecoder(res.Body).Decode(&report)
		_ = res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if report.Blocks > 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatal("the pins stay")
		}
	}
}

// Operators create, suspend and delete accounts, change roles and revoke keys; their own
// account is safe from them.
func TestOperatorAccounts(t *testing.T) {
	s, _ := Start(t, oneNetwork)
	operator := Operator(t, s)
	create := url.Values{"email": {"made@example.com"}, "password": {Password}, "plan": {"free"}}
	p := operator.Post("/operator/accounts", create)
	page, _, _ := strings.Cut(p.Location, "?")
	if !strings.HasPrefix(page, "/operator/accounts/a-") {
		t.Fatalf("%d to %q: %s", p.Status, p.Location, p.Body)
	}
	operator.Post("/operator/accounts", create).Is(t, http.StatusConflict).Has(t, "is taken", "made@example.com")
	member := Visit(t, s)
	member.SignIn("made@example.com", Password)
	key := member.makeKey(t, "mine")
	do := func(what string, form url.Values, done string) {
		t.Helper()
		operator.Follow(operator.Post(page+"/"+what, form).Is(t, http.StatusSeeOther)).Is(t, http.StatusOK).Has(t, done)
	}

	do("suspend", nil, "Account suspended.")
	member.Get("/account").Is(t, http.StatusSeeOther)
	if got := call(t, s, key.text, ""); got != http.StatusUnauthorized {
		t.Errorf("a key of a suspended account gets %d", got)
	}
	member.Post("/login", url.Values{"email": {"made@example.com"}, "password": {Password}}).Is(t, http.StatusForbidden).Has(t, "suspended")
	do("resume", nil, "Account resumed.")
	if got := call(t, s, key.text, ""); got != http.StatusOK {
		t.Errorf("a key of a resumed account gets %d", got)
	}
	member.SignIn("made@example.com", Password)

	do("role", url.Values{"role": {"operator"}}, "Role changed.")
	member.Get("/operator").Is(t, http.StatusOK)
	do("role", url.Values{"role": {"member"}}, "Role changed.")
	member.Get("/operator").Is(t, http.StatusNotFound)
	do("revoke", url.Values{"key": {strings.TrimPrefix(key.path, "/keys/")}}, "Key revoked.")
	if got := call(t, s, key.text, ""); got != http.StatusUnauthorized {
		t.Errorf("a revoked key gets %d", got)
	}

	operator.Post(page+"/delete", url.Values{"email": {"other@example.com"}}).Is(t, http.StatusUnprocessableEntity).Has(t, "Enter the e-mail address")
	do("delete", url.Values{"email": {"made@example.com"}}, "Account deleted.")
	operator.Get(page).Is(t, http.StatusNotFound)
	own := "/operator/accounts/" + s.Server.FirstKey().Key.AccountID
	for what, form := range map[string]url.Values{"suspend": nil, "role": {"role": {"member"}}, "delete": {"email": {s.Server.First().Email}}} {
		operator.Post(own+"/"+what, form).Is(t, http.StatusUnprocessableEntity).Has(t, "change your own account here")
	}
	operator.Get("/operator").Is(t, http.StatusOK)
}
