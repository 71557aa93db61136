package dashboard_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
	"github.com/nodegate/nodegate/test/smtptest"
)

// eventually waits for what happens by itself, on a busy machine.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !done(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it doesn't happen")
		}
	}
}

// callOften makes calls of 5 credits with a key.
func callOften(t *testing.T, url string, times int) {
	t.Helper()
	for range times {
		res, err := http.Post(url, "application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("status %d", res.StatusCode)
		}
	}
}

// TestMails: two servers on one Postgres send each mail once, and a start again sends
// none again.
func TestMails(t *testing.T) {
	mail, dsn := smtptest.Start(t, smtptest.Config{Password: "hidden"}), dbtest.Postgres(t)
	change := func(c *config.Config) {
		devnetOnly(c)
		c.Storage.Engine = "off" // only one server beside a Postgres may have a block store
		c.Pepper, c.Store.Postgres = "a pepper that all servers have in common", config.Secret(dsn)
		c.Plans["tiny"] = config.Plan{CreditsPerDay: 1000}
		c.Usage.Flush, c.Mail = 100*time.Millisecond, config.Mail{SMTP: config.Secret("smtp://me:hidden@" + mail.Addr), From: "gate@example.com", Check: 100 * time.Millisecond}
	}
	servers := []*harness.Service{harness.Start(t, change), harness.Start(t, change)}
	key := credential.NewKey()
	if err := servers[0].AddKey("ann", "tiny", key, "", nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	begin := time.Now().UTC().Day()
	var want []string
	for _, step := range []struct {
		calls   int
		subject string
	}{{75, "75 % of today's credits are used"}, {15, "90 % of today's credits are used"}, {10, "Today's credits are used up"}} {
		for _, s := range servers {
			callOften(t, s.URL("devnet", key), step.calls)
		}
		want = append(want, step.subject)
		eventually(t, func() bool { return len(mail.Letters()) >= len(want) })
	}
	third := harness.Start(t, change)
	time.Sleep(time.Second) // ten more looks of three servers
	var got []string
	for _, l := range mail.Letters() {
		got = append(got, l.Header.Get("Subject"))
		if l.To != "ann@example.com" || l.From != "gate@example.com" || l.User != "me" {
			t.Errorf("a letter from %s to %s, signed in as %q", l.From, l.To, l.User)
		}
	}
	if !slices.Equal(got, want) && time.Now().UTC().Day() == begin {
		t.Errorf("the letters are %q, want %q", got, want)
	}
	for i, s := range append(servers, third) {
		if text := s.Logs.String(); strings.Contains(text, "hidden") || strings.Contains(text, "ann@example.com") {
			t.Errorf("the log of server %d has the password or the address", i)
		}
	}
}

// TestMailsInTheLog is what happens without a mail server.
func TestMailsInTheLog(t *testing.T) {
	s := harness.Start(t, func(c *config.Config) {
		devnetOnly(c)
		c.Plans["tiny"] = config.Plan{CreditsPerDay: 20}
		c.Usage.Flush, c.Mail.Check = 100*time.Millisecond, 100*time.Millisecond
	})
	key := credential.NewKey()
	if err := s.AddKey("ann", "tiny", key, "", nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	callOften(t, s.URL("devnet", key), 4)
	eventually(t, func() bool { return strings.Contains(s.Logs.String(), "account=a-ann percent=100 credits=20 limit=20") })
	if n := strings.Count(s.Logs.String(), "percent=100"); n != 1 {
		t.Errorf("it stands there %d times", n)
	}
}
