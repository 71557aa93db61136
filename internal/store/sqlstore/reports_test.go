package sqlstore

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"modernc.org/sqlite"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// holding is what hold_report waits for in SQLite, while a test wants it to.
var holding atomic.Pointer[chan struct{}]

var registerHold = sync.OnceValue(func() error {
	return sqlite.RegisterScalarFunction("hold_report", 0, func(*sqlite.FunctionContext, []driver.Value) (driver.Value, error) {
		if c := holding.Load(); c != nil {
			<-*c
		}
		return int64(0), nil
	})
})

// TestReportsDelayNobody: however many reports read for long, accounts, sessions, keys and the
// change sequence are read at once, and so is what an account has used today.
func TestReportsDelayNobody(t *testing.T) {
	full.Slow(t)
	t.Run("SQLite", func(t *testing.T) {
		if err := registerHold(); err != nil {
			t.Fatal(err)
		}
		end := make(chan struct{})
		holding.Store(&end)
		s := openSQLite(t, t.TempDir()+"/store.db")
		delayNobody(t, s, "WHERE hold_report() = 0", func() { holding.Store(nil); close(end) })
	})
	t.Run("Postgres", func(t *testing.T) {
		s := openPostgres(t, dbtest.Postgres(t))
		delayNobody(t, s, "WHERE (SELECT 1 FROM pg_sleep(4)) = 1", func() {})
	})
}

func delayNobody(t *testing.T, s *Store, held string, end func()) {
	now := nodegate.ByHour.Start(time.Now())
	k := nodegate.UsageKey{AccountID: "a", KeyID: "k", Network: "devnet", Method: "eth_call", Outcome: "ok"}
	if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "s", Number: 1, Rows: []nodegate.Usage{{UsageKey: k, At: now, Requests: 1}}}); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{"ALTER TABLE usage_hour RENAME TO usage_hour_real", "CREATE VIEW usage_hour AS SELECT * FROM usage_hour_real " + held} {
		if _, err := s.writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	var reports sync.WaitGroup
	for range 24 {
		reports.Go(func() {
			_, _ = s.SumUsage(ctx, nodegate.UsageSums{AccountID: "a", From: now, To: now.Add(time.Hour), Resolution: nodegate.ByHour, By: nodegate.ByMethod, KeyID: "k"})
		})
	}
	time.Sleep(300 * time.Millisecond) // until as many read as can
	for name, read := range map[string]func(context.Context) error{
		"account": func(ctx context.Context) error { _, err := s.Account(ctx, "a"); return err },
		"session": func(ctx context.Context) error {
			_, err := s.SessionByDigest(ctx, nodegate.Digest{1}, now)
			return err
		},
		"key":     func(ctx context.Context) error { _, err := s.KeyByDigest(ctx, nodegate.Digest{1}); return err },
		"changes": func(ctx context.Context) error { _, err := s.Changes(ctx, 0, 10); return err },
		"today": func(ctx context.Context) error {
			today := nodegate.ByDay.Start(now)
			_, err := s.SumUsage(ctx, nodegate.UsageSums{AccountID: "a", From: today, To: today.AddDate(0, 0, 1), Resolution: nodegate.ByDay})
			return err
		},
	} {
		limited, stop := context.WithTimeout(t.Context(), time.Second)
		if err := read(limited); err != nil && !errors.Is(err, nodegate.NotFound) {
			t.Errorf("%s, while reports read: %v", name, err)
		}
		stop()
	}
	end()
	cancel()
	reports.Wait()
}

// TestReportsTakeTurns: a report waits for its turn for a while, and is then told to try again.
func TestReportsTakeTurns(t *testing.T) {
	s := openSQLite(t, t.TempDir()+"/store.db")
	s.reportWait = 20 * time.Millisecond
	for range cap(s.reportTurns) {
		s.reportTurns <- struct{}{}
	}
	_, err := s.Usage(t.Context(), nodegate.UsageQuery{AccountID: "a", From: time.Now().Add(-time.Hour), To: time.Now()})
	if e := nodegate.AsError(err); !errors.Is(err, nodegate.Busy) || e.RetryAfter <= 0 {
		t.Errorf("without a turn: %v", err)
	}
	<-s.reportTurns
	for range 3 { // a turn is given back
		if _, err := s.Usage(t.Context(), nodegate.UsageQuery{AccountID: "a", From: time.Now().Add(-time.Hour), To: time.Now()}); err != nil {
			t.Errorf("with a turn: %v", err)
		}
	}
}
