package accounts_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/internal/server"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/harness"
)

// plans that the tests drive into their limits, beside the built-in ones.
var plans = map[string]config.Plan{
	"slow":  {CreditsPerSecond: 1, Burst: 1000},
	"quick": {CreditsPerSecond: 10, Burst: 100},
	"exact": {CreditsPerSecond: 200, Burst: 400}, // any machine can ask for more
	"steep": {CreditsPerSecond: 1000, Burst: 2000},
	"daily": {CreditsPerDay: 400},
}

const (
	flushEvery = 200 * time.Millisecond
	waitTime   = time.Minute // for what happens by itself, on a busy machine
)

// configure makes usage visible soon and adds the plans.
func configure(c *config.Config) {
	c.Usage.Flush = flushEvery
	for name, p := range plans {
		c.Plans[name] = p
	}
}

// devnetOnly starts faster.
func devnetOnly(c *config.Config) {
	configure(c)
	c.Networks, c.DefaultNetwork = c.Networks[:1], c.Networks[0].Name
}

// sharedService is the server of all tests that leave it as they find it.
var sharedService struct {
	sync.Once
	*harness.Service
	dir string
	err error
}

func shared(t testing.TB) *harness.Service {
	t.Helper()
	s := &sharedService
	s.Do(func() {
		if s.dir, s.err = os.MkdirTemp("", "nodegate-accounts"); s.err == nil {
			s.Service, s.err = harness.Launch(s.dir, configure)
		}
	})
	if s.err != nil {
		t.Fatal(s.err)
	}
	return s.Service
}

func TestMain(m *testing.M) {
	full.Short("TestAuthentication", "TestRateIsExact", "TestAllowedInBatch", "TestJournal",
		"TestRevokedSocketIsDeaf", "TestSettingsOfOpenSocket", "TestBatchCosts", "TestUsageAtShutdown",
		"TestRevoke", "TestGuessing", "TestCluster")
	_ = flag.Set("test.parallel", "16") // the parallel tests wait, they don't compute
	code := m.Run()
	if s := &sharedService; s.Service != nil {
		if err := s.Close(); err != nil {
			fmt.Fprintln(os.Stderr, "closing the shared server:", err)
			code = max(code, 1)
		}
	}
	_ = os.RemoveAll(sharedService.dir)
	_ = os.RemoveAll(program.dir)
	os.Exit(code)
}

// tenant is an account with one key, made for one test.
type tenant struct {
	svc              *harness.Service
	account, id      string
	key, secret, url string
	made             time.Time
}

// tenants numbers the accounts: their names must differ.
var tenants atomic.Int64

// newTenant makes an account on a plan, with a key of the given settings.
func newTenant(t testing.TB, s *harness.Service, plan string, settings nodegate.KeySettings) *tenant {
	t.Helper()
	name := fmt.Sprintf("t%d", tenants.Add(1))
	k := &tenant{svc: s, account: "a-" + name, id: "k-" + name, key: credential.NewKey(), secret: credential.NewSecret(), made: time.Now()}
	k.url = s.URL("devnet", k.key)
	if err := settings.Normalize(); err != nil {
		t.Fatal(err)
	}
	patiently(t, func() error {
		err := s.AddKey(name, plan, k.key, k.secret, settings)
		if errors.Is(err, nodegate.Conflict) {
			return nil // it was made after all
		}
		return err
	})
	return k
}

// patiently does again what a busy store could not do in time: many tests share one
// disk. What it does may have been done the first time.
func patiently(t testing.TB, do func() error) {
	t.Helper()
	for deadline := time.Now().Add(waitTime); ; {
		err := do()
		if err == nil {
			return
		}
		if !errors.Is(err, nodegate.Busy) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

func (k *tenant) ws() string { return k.svc.WS("devnet", k.key) }

// actor is who changes things in these tests.
var actor = nodegate.Actor{Name: "command line", From: "test"}

// set changes the key's settings as its owner does.
func (k *tenant) set(t testing.TB, change func(*nodegate.KeySettings)) {
	t.Helper()
	patiently(t, func() error {
		return k.svc.Server.Control().Accounts.UpdateKey(t.Context(), actor, k.account, k.id,
			func(_ *string, s *nodegate.KeySettings) { change(s) })
	})
}

func (k *tenant) revoke(t testing.TB) { k.revokeBy(t, k.svc.Server.Control()) }

// revokeBy revokes the key and returns when that was done.
func (k *tenant) revokeBy(t testing.TB, c *server.Control) time.Time {
	t.Helper()
	patiently(t, func() error { return c.Accounts.RevokeKey(t.Context(), actor, k.account, k.id) })
	return time.Now()
}

// line is what usage says of one method and outcome.
type line struct{ requests, credits int64 }

// usage waits until so many requests are in the store, and returns them by
// "network method outcome".
func (k *tenant) usage(t testing.TB, requests int64) map[string]line {
	t.Helper()
	for deadline := time.Now().Add(waitTime); ; time.Sleep(20 * time.Millisecond) {
		lines, total := usageOf(t, k.svc.Server.Control().Store, k.account)
		if total == requests {
			return lines
		}
		if total > requests || time.Now().After(deadline) {
			t.Fatalf("%d requests are recorded, want %d: %v", total, requests, lines)
		}
	}
}

// usageOf sums an account's usage of these days.
func usageOf(t testing.TB, store nodegate.UsageReader, account string) (lines map[string]line, total int64) {
	t.Helper()
	now := time.Now()
	rows, err := store.Usage(context.Background(), nodegate.UsageQuery{
		AccountID: account, From: now.Add(-48 * time.Hour), To: now.Add(48 * time.Hour), By: nodegate.ByDay,
	})
	if err != nil {
		t.Fatal(err)
	}
	lines = map[string]line{}
	for _, r := range rows {
		name := strings.Join([]string{r.Network, r.Method, r.Outcome}, " ")
		l := lines[name]
		lines[name] = line{l.requests + r.Requests, l.credits + r.Credits}
		total += r.Requests
	}
	return lines, total
}
