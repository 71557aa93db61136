package sqlstore

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/store/storetest"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func openSQLite(t testing.TB, path string) *Store {
	t.Helper()
	s, err := OpenSQLite(context.Background(), path, []byte(storetest.AuditKey), quiet())
	return opened(t, s, err)
}

func openPostgres(t testing.TB, dsn string) *Store {
	t.Helper()
	s, err := OpenPostgres(context.Background(), dsn, []byte(storetest.AuditKey), quiet())
	return opened(t, s, err)
}

func opened(t testing.TB, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// emptySQLite is a file with all tables. Under the race detector, to make them takes seconds.
var emptySQLite = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlstore")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := OpenSQLite(context.Background(), path, []byte(storetest.AuditKey), quiet())
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// newSQLite opens an empty store.
func newSQLite(t testing.TB) *Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "test.db")
	empty, err := emptySQLite()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return openSQLite(t, path)
}

// databases are the ways to open an empty store.
func databases() map[string]func(testing.TB) *Store {
	return map[string]func(testing.TB) *Store{
		"sqlite":   newSQLite,
		"postgres": func(t testing.TB) *Store { return openPostgres(t, dbtest.Postgres(t)) },
	}
}

func TestConformance(t *testing.T) {
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			if name != "sqlite" {
				full.Slow(t)
			}
			storetest.Run(t, func(t *testing.T) storetest.Store { return open(t) })
		})
	}
}

func newAccount(id string) *nodegate.Account {
	return &nodegate.Account{ID: id, Email: id + "@example.com", Plan: "free"}
}

// saveOne saves a new account.
func saveOne(s *Store, id string) error {
	return s.Save(context.Background(), &nodegate.Change{Account: newAccount(id), Audit: nodegate.AuditEntry{Actor: "server", Action: "account.create", AccountID: id, Subject: id}})
}

// mustSave saves n new accounts.
func mustSave(t *testing.T, s *Store, prefix string, n int) {
	t.Helper()
	for i := range n {
		if err := saveOne(s, fmt.Sprint(prefix, i)); err != nil {
			t.Fatal(err)
		}
	}
}

// The audit log refuses changes; who takes the triggers away is found by the chain.
func TestAuditIsAppendOnly(t *testing.T) {
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			mustSave(t, s, "a", 5)
			for _, statement := range []string{"UPDATE audit SET detail = 'x' WHERE number = 3", "DELETE FROM audit WHERE number = 3", "DELETE FROM audit"} {
				if _, err := s.writer.Exec(statement); err == nil {
					t.Errorf("%s is allowed", statement)
				}
			}
			if n := firstBroken(t, s); n != 0 {
				t.Fatalf("the chain breaks at %d", n)
			}
			disarm := map[string]string{"sqlite": "DROP TRIGGER audit_no_update", "postgres": "ALTER TABLE audit DISABLE TRIGGER USER"}[name]
			for _, statement := range []string{disarm, "UPDATE audit SET detail = 'x' WHERE number = 3"} {
				if _, err := s.writer.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
			if n := firstBroken(t, s); n != 3 {
				t.Errorf("after an edit of entry 3 the chain breaks at %d", n)
			}
			mustSave(t, s, "b", 1) // the service goes on
		})
	}
}

func firstBroken(t *testing.T, s *Store) int64 {
	t.Helper()
	entries, err := s.Audit(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return storetest.FirstBroken(entries)
}

// TestIndexes asks SQLite how it looks things up: by an index, and usage without
// sorting it.
func TestIndexes(t *testing.T) {
	s := databases()["sqlite"](t)
	for query, want := range map[string]string{
		selectKeys + "WHERE k.id = (SELECT key_id FROM key_values WHERE digest = x'00')":                                                     "SEARCH key_values USING INDEX sqlite_autoindex_key_values_1 (digest=?)",
		"SELECT * FROM usage_hour WHERE account = 'a' AND at >= 1 AND at < 2 ORDER BY at, account, key_id, network, method, outcome LIMIT 9": "USING PRIMARY KEY (account=? AND at>? AND at<?)",
		"SELECT SUM(credits) FROM usage_hour_keys WHERE at IN (1, 2, 3) AND account = 'a' AND key_id = 'k'":                                  "USING PRIMARY KEY (account=? AND at=? AND key_id=?)",
		"SELECT SUM(credits) FROM usage_day_all WHERE at >= 1 AND at < 2 AND account = 'a' GROUP BY method":                                  "USING PRIMARY KEY (account=? AND at>? AND at<?)",
		"DELETE FROM usage_hour_keys WHERE (" + usageKey + ") IN (SELECT " + usageKey + " FROM usage_hour_keys WHERE at < 5 LIMIT 9)":        "usage_hour_keys_at (at<?)",
		"SELECT account, key_id, SUM(credits) FROM usage_day WHERE at = 1 GROUP BY account, key_id":                                          "usage_day_at (at=?)",
		"DELETE FROM usage_minute WHERE (" + usageKey + ") IN (SELECT " + usageKey + " FROM usage_minute WHERE at < 5 LIMIT 9)":              "usage_minute_at (at<?)",
	} {
		rows, err := s.reader.Query("EXPLAIN QUERY PLAN " + query)
		if err != nil {
			t.Fatal(err)
		}
		var plan bytes.Buffer
		for rows.Next() {
			var a, b, c int
			var line string
			if err := rows.Scan(&a, &b, &c, &line); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&plan, line)
		}
		if err := rows.Close(); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(plan.Bytes(), []byte(want)) || strings.Contains(query, "usage_hour WHERE account") && bytes.Contains(plan.Bytes(), []byte("TEMP B-TREE")) {
			t.Errorf("%s\n%s, want %s", query, plan.String(), want)
		}
	}
}

// The files of the database are for their owner only.
func TestFileModes(t *testing.T) {
	dir := t.TempDir()
	s := openSQLite(t, filepath.Join(dir, "odd name?#%41&.db"))
	mustSave(t, s, "a", 1)
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 {
		t.Errorf("%d files, want the database and two beside it", len(files))
	}
	for _, f := range files {
		info, err := f.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", f.Name(), info.Mode())
		}
	}
}

// A closed store is Busy, as a database that can't be reached.
func TestClosed(t *testing.T) {
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			everyCallIsBusy(t, s)
		})
	}
}
