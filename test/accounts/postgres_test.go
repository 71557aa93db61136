package accounts_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
)

// TestPostgresLost: keys that a server knows keep working while Postgres hangs or is
// restarted, and no usage is lost.
func TestPostgresLost(t *testing.T) {
	t.Parallel()
	db := dbtest.PostgresServer(t)
	s := harness.Start(t, func(cfg *config.Config) {
		devnetOnly(cfg)
		cfg.Store.Postgres = config.Secret(db.DSN)
	})
	k := newTenant(t, s, "steep", nodegate.KeySettings{})
	send(t, k.url, chainID).want(t, 200, 0, "", "1")
	l := startLoad(chainID, 5, 30*time.Millisecond, nil, k.url) // below the plan's rate
	l.see(t, 200, 10)

	const unsaved, saved = "can't save usage", "usage is saved again"
	db.Pause()
	checkUnknown(t, s)
	until(t, "usage waits", func() bool { return logged(s, unsaved) == 1 })
	l.see(t, 200, 100)
	db.Resume()
	until(t, "usage is saved", func() bool { return logged(s, saved) == 1 })
	db.Kill()
	until(t, "usage waits again", func() bool { return logged(s, unsaved) == 2 })
	l.see(t, 200, 100)
	checkUnknown(t, s)
	db.Restart()
	until(t, "usage is saved in the end", func() bool { return logged(s, saved) == 2 })
	l.see(t, 200, 10)

	samples, took := l.wait()
	onlyStatuses(t, samples, waitTime/4, 200)
	t.Logf("%d requests in %v", len(samples), took)
	k.usage(t, int64(len(samples))+1)
	fresh := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	send(t, fresh.url, chainID).want(t, 200, 0, "", "1")
}

// checkUnknown offers a key that only the store could know: nobody can say, and the
// client is told so in bounded time.
func checkUnknown(t *testing.T, s *harness.Service) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), waitTime/2)
	defer cancel()
	r, err := try(ctx, sharedClient, http.MethodPost, s.URL("devnet", credential.NewKey()), chainID)
	if err != nil {
		t.Errorf("an unknown key while the store is away: %v", err)
		return
	}
	_, e := answerOf(t, r.body)
	if r.status != 503 || e.Code != -32603 || r.header.Get("Retry-After") == "" {
		t.Errorf("an unknown key while the store is away: %d, Retry-After %q, %d %s", r.status, r.header.Get("Retry-After"), e.Code, e.Message)
	}
}
