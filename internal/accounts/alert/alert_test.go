package alert

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/mailer"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/smtptest"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

var noon = time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)

// desk is a real store with accounts, and the mail server that watches send to.
type desk struct {
	t     *testing.T
	store *sqlstore.Store
	mail  *smtptest.Server
	log   *bytes.Buffer
	batch int64
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	store, err := sqlstore.OpenSQLite(t.Context(), sqlitetest.New(t), []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return deskOn(t, store)
}

func deskOn(t *testing.T, store *sqlstore.Store) *desk {
	t.Helper()
	t.Cleanup(func() { _ = store.Close() })
	return &desk{t: t, store: store, mail: smtptest.Start(t, smtptest.Config{}), log: &bytes.Buffer{}}
}

func (d *desk) account(id, plan string) {
	d.t.Helper()
	a := &nodegate.Account{ID: id, Email: id + "@example.com", Plan: plan, Created: noon}
	if err := d.store.Save(d.t.Context(), &nodegate.Change{Account: a, Audit: nodegate.AuditEntry{Action: "test"}}); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) spend(id string, at time.Time, credits int64) {
	d.t.Helper()
	d.batch++
	err := d.store.AddUsage(d.t.Context(), &nodegate.UsageBatch{Server: "s", Number: d.batch, Rows: []nodegate.Usage{
		{UsageKey: nodegate.UsageKey{AccountID: id, KeyID: "k-" + id, Method: "eth_call", Outcome: "ok"}, At: at, Requests: 1, Credits: credits},
	}})
	if err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) watch(store Store) *Watch {
	d.t.Helper()
	s, err := mailer.NewSMTP(mailer.Config{URL: "smtp://" + d.mail.Addr, From: "gate@example.com"})
	if err != nil {
		d.t.Fatal(err)
	}
	return newWatch(Config{
		Store: store, DefaultPlan: "free", Send: s.Send, URL: "https://gate.example.com/", Log: slog.New(slog.NewTextHandler(d.log, nil)),
		Plans: map[string]nodegate.Plan{"free": {CreditsPerDay: 1000}, "large": {CreditsPerDay: 100_000}, "unlimited": {}},
	})
}

func (d *desk) look(w *Watch, at time.Time) {
	d.t.Helper()
	if err := w.look(d.t.Context(), at); err != nil {
		d.t.Fatal(err)
	}
}

// sent lists the letters as reader and subject.
func (d *desk) sent() (list []string) {
	for _, l := range d.mail.Letters() {
		list = append(list, l.To+": "+l.Header.Get("Subject"))
	}
	return list
}

func (d *desk) want(what string, want ...string) {
	d.t.Helper()
	if got := d.sent(); fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s: sent %q, want %q", what, got, want)
	}
}

func TestMarks(t *testing.T) {
	d := newDesk(t)
	for id, plan := range map[string]string{"a": "free", "big": "large", "free": "unlimited", "gone": "a plan of last year"} {
		d.account(id, plan)
	}
	w := d.watch(d.store)
	d.spend("a", noon, 749)
	d.spend("big", noon, 74_999)
	d.spend("free", noon, 1_000_000)
	d.spend("nobody", noon, 1_000_000)
	d.look(w, noon)
	d.want("just below")
	d.spend("a", noon, 1)
	d.look(w, noon)
	d.look(w, noon.Add(time.Minute))
	d.want("at 75 %", "a@example.com: 75 % of today's credits are used")
	d.spend("a", noon, 149)
	d.look(w, noon.Add(2*time.Minute))
	d.spend("a", noon, 1)
	d.look(w, noon.Add(3*time.Minute))
	d.spend("a", noon, 100)
	d.look(w, noon.Add(4*time.Minute))
	d.spend("a", noon, 5000)
	d.look(w, noon.Add(5*time.Minute))
	all := []string{"a@example.com: 75 % of today's credits are used", "a@example.com: 90 % of today's credits are used", "a@example.com: Today's credits are used up"}
	d.want("at 100 %", all...)
	d.spend("gone", noon, 990)
	d.look(w, noon.Add(6*time.Minute))
	d.want("the highest mark only, and the default plan", append(all, "gone@example.com: 90 % of today's credits are used")...)
	d.spend("a", noon.AddDate(0, 0, 1), 750)
	d.look(w, noon.AddDate(0, 0, 1))
	if n := len(d.sent()); n != 5 {
		t.Errorf("%d letters after the next day's first", n)
	}
	first := d.mail.Letters()[0]
	for _, part := range []string{"750 of its 1000 credits for 14 March 2026 (UTC): 75 %", "https://gate.example.com/usage", "402"} {
		if !strings.Contains(strings.ReplaceAll(first.Text, "=\n", ""), part) {
			t.Errorf("the letter has no %q:\n%s", part, first.Text)
		}
	}
}

// TestRestart: the next start knows what was sent.
func TestRestart(t *testing.T) {
	d := newDesk(t)
	d.account("a", "free")
	d.spend("a", noon, 800)
	for range 3 {
		d.look(d.watch(d.store), noon)
	}
	d.want("three starts", "a@example.com: 75 % of today's credits are used")
}

// TestServers look at one Postgres at once.
func TestServers(t *testing.T) {
	full.Slow(t)
	dsn := dbtest.Postgres(t)
	var stores []*sqlstore.Store
	for range 2 {
		s, err := sqlstore.OpenPostgres(t.Context(), dsn, []byte("key"), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		stores = append(stores, s)
	}
	d := deskOn(t, stores[0])
	const accounts = 20
	for i := range accounts {
		d.account(fmt.Sprint("a", i), "free")
		d.spend(fmt.Sprint("a", i), noon, 900)
	}
	var all sync.WaitGroup
	for _, s := range stores {
		for range 2 {
			w := d.watch(s)
			w.cfg.Log = slog.New(slog.DiscardHandler)
			all.Go(func() {
				if err := w.look(context.Background(), noon); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	readers := map[string]int{}
	for _, l := range d.mail.Letters() {
		readers[l.To]++
	}
	for who, n := range readers {
		if n != 1 {
			t.Errorf("%s got %d letters", who, n)
		}
	}
	if len(readers) != accounts {
		t.Errorf("%d of %d were told", len(readers), accounts)
	}
}

// TestMailServerDown: what can't be sent is sent later, with growing pauses, and never twice.
func TestMailServerDown(t *testing.T) {
	d := newDesk(t)
	d.account("a", "free")
	d.spend("a", noon, 1000)
	w := d.watch(d.store)
	d.mail.Answer("MAIL", "421 closed")
	now := noon
	for range 2 {
		if err := w.look(t.Context(), now); !errors.Is(err, nodegate.Busy) {
			t.Fatalf("got %v", err)
		}
		d.look(w, now) // it pauses
		now = now.Add(longestPause)
	}
	if attempts := strings.Count(strings.Join(d.mail.Heard(), "\n"), "MAIL FROM"); attempts != 2 {
		t.Errorf("%d attempts, want 2", attempts)
	}
	d.mail.Answer("MAIL", "")
	d.look(w, now)
	d.look(d.watch(d.store), now)
	d.want("open again", "a@example.com: Today's credits are used up")
	for tries, want := range []time.Duration{1, 2, 4, 8, 16, 30, 30} {
		if got := pause(tries); got != want*time.Minute {
			t.Errorf("pause %d is %v", tries, got)
		}
	}
	if pause(1000) != longestPause {
		t.Error("the pause overflows")
	}
}

// TestRefusedReader is told to the log without the address, and not tried again.
func TestRefusedReader(t *testing.T) {
	d := newDesk(t)
	d.account("a", "free")
	d.account("b", "free")
	d.spend("a", noon, 1000)
	d.spend("b", noon, 1000)
	d.mail.Answer("RCPT", "550 a@example.com is gone")
	for range 2 {
		d.look(d.watch(d.store), noon)
	}
	if n := strings.Count(strings.Join(d.mail.Heard(), "\n"), "RCPT TO"); n != 2 {
		t.Errorf("%d attempts, want one for each", n)
	}
	if text := d.log.String(); strings.Contains(text, "@example.com") || !strings.Contains(text, "account=a ") || !strings.Contains(text, "550") {
		t.Errorf("the log is %s", text)
	}
}

// TestLog is what stands in for mail. It names the account by its id.
func TestLog(t *testing.T) {
	d := newDesk(t)
	d.account("a", "free")
	d.spend("a", noon, 950)
	for range 2 {
		w := d.watch(d.store)
		w.cfg.Send = nil
		d.look(w, noon)
	}
	text := d.log.String()
	if strings.Count(text, "\n") != 1 || !strings.Contains(text, "account=a percent=90 credits=950 limit=1000") || strings.Contains(text, "@") {
		t.Errorf("the log is %s", text)
	}
}

// TestClose ends while the mail server hangs, and another watch takes over.
func TestClose(t *testing.T) {
	d := newDesk(t)
	d.account("a", "free")
	d.spend("a", time.Now(), 1000)
	d.spend("a", time.Now().AddDate(0, 0, 1), 1000) // the test may run at midnight
	d.mail.Silent(true)
	cfg := d.watch(d.store).cfg
	cfg.Every = 10 * time.Millisecond
	w := Start(cfg)
	for end := time.Now().Add(time.Minute); d.mail.Calls() == 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nothing is mailed")
		}
	}
	begin := time.Now()
	w.Close()
	if took := time.Since(begin); took > mailer.SendTime/2 {
		t.Errorf("closing took %v", took)
	}
	d.mail.Silent(false)
	other := d.watch(d.store)
	d.look(other, time.Now())
	d.want("within the lease")
	d.look(other, time.Now().Add(lease+time.Second))
	d.want("after it", "a@example.com: Today's credits are used up")
}
