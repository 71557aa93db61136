package sqlstore

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// calls are all methods that reach the database.
func calls(s *Store) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"Account":        func(ctx context.Context) error { _, err := s.Account(ctx, "a"); return err },
		"AccountByEmail": func(ctx context.Context) error { _, err := s.AccountByEmail(ctx, "a"); return err },
		"Accounts":       func(ctx context.Context) error { _, err := s.Accounts(ctx, "", 1); return err },
		"Key":            func(ctx context.Context) error { _, err := s.Key(ctx, "a", "k"); return err },
		"KeyByDigest":    func(ctx context.Context) error { _, err := s.KeyByDigest(ctx, nodegate.Digest{}); return err },
		"KeysOf":         func(ctx context.Context) error { _, err := s.KeysOf(ctx, "a"); return err },
		"KeysAfter":      func(ctx context.Context) error { _, err := s.KeysAfter(ctx, "a", nil, 1); return err },
		"ListKeys": func(ctx context.Context) error {
			_, err := s.ListKeys(ctx, nodegate.KeyQuery{AccountID: "a", Limit: 1})
			return err
		},
		"CountKeys":   func(ctx context.Context) error { _, err := s.CountKeys(ctx, "a"); return err },
		"LiveKeys":    func(ctx context.Context) error { _, err := s.LiveKeys(ctx, "", 1); return err },
		"Save":        func(ctx context.Context) error { return s.Save(ctx, &nodegate.Change{Account: newAccount("x")}) },
		"Changes":     func(ctx context.Context) error { _, err := s.Changes(ctx, 0, 1); return err },
		"LastAudit":   func(ctx context.Context) error { _, err := s.LastAudit(ctx); return err },
		"LastChange":  func(ctx context.Context) error { _, err := s.LastChange(ctx); return err },
		"Audit":       func(ctx context.Context) error { _, err := s.Audit(ctx, 0, 1); return err },
		"SaveSession": func(ctx context.Context) error { return s.SaveSession(ctx, nodegate.Session{}) },
		"SessionByDigest": func(ctx context.Context) error {
			_, err := s.SessionByDigest(ctx, nodegate.Digest{}, time.Now())
			return err
		},
		"DeleteSession":  func(ctx context.Context) error { return s.DeleteSession(ctx, nodegate.Digest{}) },
		"DeleteSessions": func(ctx context.Context) error { return s.DeleteSessions(ctx, "a", nodegate.Digest{}) },
		"Meta":           func(ctx context.Context) error { _, err := s.Meta(ctx, "a"); return err },
		"SetMeta":        func(ctx context.Context) error { _, err := s.SetMeta(ctx, "a", "b"); return err },
		"ReplaceMeta":    func(ctx context.Context) error { return s.ReplaceMeta(ctx, "a", "b") },
		"PinOf":          func(ctx context.Context) error { _, err := s.PinOf(ctx, "a", "c"); return err },
		"PinsOf":         func(ctx context.Context) error { _, err := s.PinsOf(ctx, nodegate.PinQuery{Limit: 1}); return err },
		"PinnedBytes":    func(ctx context.Context) error { _, err := s.PinnedBytes(ctx, "a"); return err },
		"ClaimPins":      func(ctx context.Context) error { _, err := s.ClaimPins(ctx, &nodegate.PinChange{}); return err },
		"CommitPins":     func(ctx context.Context) error { return s.CommitPins(ctx, &nodegate.PinChange{}) },
		"ReleasePins":    func(ctx context.Context) error { return s.ReleasePins(ctx, "a", "c") },
		"ExpirePins":     func(ctx context.Context) error { _, err := s.ExpirePins(ctx, nodegate.PinCutoffs{}, false); return err },
		"FreedContent":   func(ctx context.Context) error { _, err := s.FreedContent(ctx, "", 1); return err },
		"BeginRemoval":   func(ctx context.Context) error { _, err := s.BeginRemoval(ctx, "c", time.Now()); return err },
		"EndRemoval":     func(ctx context.Context) error { return s.EndRemoval(ctx, "c", time.Now(), true) },
		"AddUsage":       func(ctx context.Context) error { return s.AddUsage(ctx, &nodegate.UsageBatch{}) },
		"Usage":          func(ctx context.Context) error { _, err := s.Usage(ctx, nodegate.UsageQuery{}); return err },
		"SumUsage": func(ctx context.Context) error {
			_, err := s.SumUsage(ctx, nodegate.UsageSums{By: nodegate.ByKey, To: time.Now()})
			return err
		},
		"UsageByDay": func(ctx context.Context) error {
			_, err := s.UsageByDay(ctx, "a", time.Now(), time.Now())
			return err
		},
		"AccountsLike": func(ctx context.Context) error { _, err := s.AccountsLike(ctx, "a", "", 1); return err },
		"AuditBefore":  func(ctx context.Context) error { _, err := s.AuditBefore(ctx, "a", 0, 1); return err },
		"Database":     func(ctx context.Context) error { _, err := s.Database(ctx); return err },
		"ClaimAlert": func(ctx context.Context) error {
			_, err := s.ClaimAlert(ctx, nodegate.Alert{}, time.Now(), time.Minute)
			return err
		},
		"AlertSent":  func(ctx context.Context) error { return s.AlertSent(ctx, nodegate.Alert{}) },
		"Spent":      func(ctx context.Context) error { _, err := s.Spent(ctx, time.Now()); return err },
		"Figures":    func(ctx context.Context) error { _, err := s.Figures(ctx, "a", time.Now()); return err },
		"PurgeUsage": func(ctx context.Context) error { _, err := s.PurgeUsage(ctx, time.Now()); return err },
	}
}

// everyCallIsBusy makes all calls at once, so that a hung server costs its time once.
func everyCallIsBusy(t *testing.T, s *Store) {
	t.Helper()
	type outcome struct {
		name string
		err  error
	}
	all := calls(s)
	results := make(chan outcome)
	for name, call := range all {
		go func() { results <- outcome{name, call(context.Background())} }()
	}
	for range all {
		if r := <-results; !errors.Is(r.err, nodegate.Busy) || nodegate.AsError(r.err).RetryAfter == 0 {
			t.Errorf("%s: %v, want Busy and when to try again", r.name, r.err)
		}
	}
}

// works waits until the store answers again.
func works(t *testing.T, s *Store, within time.Duration) {
	t.Helper()
	for deadline := time.Now().Add(within); ; {
		_, err := s.LastChange(t.Context())
		if err == nil {
			return
		}
		if !errors.Is(err, nodegate.Busy) {
			t.Fatal(err)
		}
		if time.Now().After(deadline) {
			t.Fatalf("still %v", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// A server that hangs is Busy after five seconds, and works again by itself.
func TestPostgresPaused(t *testing.T) {
	full.Slow(t)
	t.Parallel() // it mostly waits
	server := dbtest.PostgresServer(t)
	s := openPostgres(t, server.DSN)
	mustSave(t, s, "before", 3)
	server.Pause()
	begun := time.Now()
	everyCallIsBusy(t, s)
	// All calls share ten connections, and none waits longer than its own time.
	if took := time.Since(begun); took > 6*stepTimeout {
		t.Errorf("a hung server is noticed after %v", took)
	}
	server.Resume()
	works(t, s, time.Minute)
	mustSave(t, s, "after", 3)
	if n := firstBroken(t, s); n != 0 {
		t.Errorf("the audit chain breaks at %d", n)
	}
}

// A server that crashes is Busy at once, and what was acknowledged is there when
// it is back.
func TestPostgresKilled(t *testing.T) {
	full.Slow(t)
	t.Parallel() // it mostly waits
	server := dbtest.PostgresServer(t)
	s := openPostgres(t, server.DSN)
	mustSave(t, s, "before", 3)
	server.Kill()
	begun := time.Now()
	everyCallIsBusy(t, s)
	if took := time.Since(begun); took > stepTimeout {
		t.Errorf("a crash is noticed after %v", took)
	}
	server.Restart()
	works(t, s, time.Minute)
	last, err := s.LastChange(t.Context())
	if err != nil || last < 3 {
		t.Errorf("change %d, %v after the crash, want 3 or more", last, err)
	}
	mustSave(t, s, "after", 3)
	if n := firstBroken(t, s); n != 0 {
		t.Errorf("the audit chain breaks at %d", n)
	}
}

// A client that dies in the middle of a change does not hold the others up forever.
func TestPostgresLockIsFreed(t *testing.T) {
	full.Slow(t)
	t.Parallel() // it mostly waits
	s := databases()["postgres"](t)
	holder, err := s.writer.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Rollback() }()
	if _, err := holder.Exec("UPDATE sequences SET change = change"); err != nil {
		t.Fatal(err)
	}
	if err := saveOne(s, "a"); !errors.Is(err, nodegate.Busy) {
		t.Errorf("a save while the lock is held: %v, want Busy", err)
	}
	for deadline := time.Now().Add(time.Minute); ; {
		err := saveOne(s, "a")
		if err == nil {
			break
		}
		if !errors.Is(err, nodegate.Busy) || time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// Another process that holds SQLite's lock makes writers Busy, and readers go on.
func TestSQLiteLocked(t *testing.T) {
	full.Slow(t)
	t.Parallel() // it mostly waits
	path := t.TempDir() + "/test.db"
	s, other := openSQLite(t, path), openSQLite(t, path)
	holder, err := other.writer.Begin()
	if err != nil {
		t.Fatal(err)
	}
	if err := saveOne(s, "a"); !errors.Is(err, nodegate.Busy) {
		t.Errorf("a save while the lock is held: %v, want Busy", err)
	}
	if _, err := s.LastChange(t.Context()); err != nil {
		t.Error(err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	mustSave(t, s, "a", 1)
}
