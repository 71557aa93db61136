package sqlstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/store/storetest"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

func TestReopen(t *testing.T) {
	full.Slow(t)
	path, dsn := filepath.Join(t.TempDir(), "test.db"), dbtest.Postgres(t)
	for name, open := range map[string]func(testing.TB) *Store{
		"sqlite":   func(t testing.TB) *Store { return openSQLite(t, path) },
		"postgres": func(t testing.TB) *Store { return openPostgres(t, dsn) },
	} {
		t.Run(name, func(t *testing.T) {
			for i := range 3 {
				s := open(t)
				mustSave(t, s, fmt.Sprint("round", i), 2)
				list, err := s.Accounts(t.Context(), "", 100)
				if err != nil || len(list) != 2*(i+1) {
					t.Fatalf("%d accounts, %v", len(list), err)
				}
			}
		})
	}
}

// A new database is one line of the log, and one that is up to date is none.
func TestMigrationsAreLogged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "test.db")
	open := func(want ...string) {
		t.Helper()
		var text bytes.Buffer
		s, err := OpenSQLite(t.Context(), path, nil, slog.New(slog.NewTextHandler(&text, nil)))
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if n := strings.Count(text.String(), "\n"); n != len(want) {
			t.Errorf("%d lines: %s", n, &text)
		}
		for _, w := range want {
			if !strings.Contains(text.String(), w) {
				t.Errorf("no line says %q: %s", w, &text)
			}
		}
	}
	open("created the database")
	open()
}

// Servers that start at once on an empty database migrate it once.
func TestOpenAtOnce(t *testing.T) {
	path, dsn := filepath.Join(t.TempDir(), "test.db"), dbtest.Postgres(t)
	for name, open := range map[string]func() (*Store, error){
		"sqlite":   func() (*Store, error) { return OpenSQLite(context.Background(), path, nil, quiet()) },
		"postgres": func() (*Store, error) { return OpenPostgres(context.Background(), dsn, nil, quiet()) },
	} {
		t.Run(name, func(t *testing.T) {
			var all sync.WaitGroup
			for i := range 6 {
				all.Go(func() {
					s, err := open()
					if err != nil {
						t.Error(err)
						return
					}
					if err := errors.Join(saveOne(s, fmt.Sprint("a", i)), s.Close()); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
		})
	}
}

// The numbers of the migrations have no gap, and both databases have all of them.
func TestMigrationNumbers(t *testing.T) {
	for _, d := range []*dialect{sqliteDialect(), postgresDialect()} {
		files, err := migrationFiles.ReadDir("migrations")
		if err != nil {
			t.Fatal(err)
		}
		next := 1
		for _, f := range files {
			if parts := strings.Split(f.Name(), "."); len(parts) == 3 && parts[1] != d.name {
				continue
			}
			if !strings.HasPrefix(f.Name(), fmt.Sprintf("%04d_", next)) {
				t.Errorf("%s: %s, want number %d", d.name, f.Name(), next)
			}
			next++
		}
	}
}

func TestNewerSchema(t *testing.T) {
	path, dsn := filepath.Join(t.TempDir(), "test.db"), dbtest.Postgres(t)
	for name, open := range map[string]func() (*Store, error){
		"sqlite":   func() (*Store, error) { return OpenSQLite(context.Background(), path, nil, quiet()) },
		"postgres": func() (*Store, error) { return OpenPostgres(context.Background(), dsn, nil, quiet()) },
	} {
		t.Run(name, func(t *testing.T) {
			s, err := open()
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.writer.Exec("INSERT INTO migrations (number, at) VALUES (99, 0)")
			if err := errors.Join(err, s.Close()); err != nil {
				t.Fatal(err)
			}
			_, err = open()
			refused(t, err, "newer nodegate", "99")
		})
	}
}

// refused checks that a start fails for a reason that the user can do something about.
func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if !errors.Is(err, nodegate.BadConfig) {
		t.Fatalf("%v, want BadConfig", err)
	}
	for _, word := range words {
		if msg := nodegate.AsError(err).Msg; !strings.Contains(msg, word) {
			t.Errorf("%q does not say %q", msg, word)
		}
	}
}

func TestUnusableFiles(t *testing.T) {
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	for name, content := range map[string][]byte{"text": bytes.Repeat([]byte("this is no database\n"), 300), "short": []byte("x")} {
		if err := os.WriteFile(path(name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	damaged(t, path("damaged"))
	for name, want := range map[string]string{
		"text": "not a SQLite database", "short": "not a SQLite database", "damaged": "",
		"missing/folder": "its folder exists", ".": "may write there",
	} {
		t.Run(name, func(t *testing.T) {
			_, err := OpenSQLite(t.Context(), path(name), nil, quiet())
			refused(t, err, want)
		})
	}
	if content, err := os.ReadFile(path("short")); err != nil || string(content) != "x" {
		t.Errorf("a file that is not ours became one of %d bytes, %v", len(content), err)
	}
}

// damaged writes a database whose schema is overwritten.
func damaged(t *testing.T, path string) {
	t.Helper()
	s, err := OpenSQLite(t.Context(), path, nil, quiet())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 100; i < len(content); i++ {
		content[i] = 0xa5
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

const password = "very5ecret"

// A server that can't be used is named, and its password is not.
func TestUnusablePostgres(t *testing.T) {
	full.Slow(t)
	t.Parallel()                                  // it mostly waits
	hung, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer hung.Close()
	good := dbtest.Postgres(t)
	for name, dsn := range map[string]string{
		"nothing there":    "postgres://user:" + password + "@127.0.0.1:1/db",
		"nothing there, 2": "host=127.0.0.1 port=1 user=user password=" + password + " dbname=db",
		"hung":             "postgres://user:" + password + "@" + hung.Addr().String() + "/db?sslmode=disable",
		"unreadable":       "postgres://user:" + password + "@127.0.0.1:port/db",
		"unreadable, 2":    "postgres://user:" + password + "%zz@127.0.0.1/db",
		"unreadable, 3":    "user=user password=" + password + " port=none",
		"no such database": strings.Replace(good, "/test_", "/none_", 1) + "&password=" + password,
	} {
		t.Run(name, func(t *testing.T) {
			begun := time.Now()
			_, err := OpenPostgres(t.Context(), dsn, []byte(storetest.AuditKey), quiet())
			refused(t, err, "Postgres")
			for _, text := range []string{fmt.Sprint(err), fmt.Sprintf("%+v", err), fmt.Sprintf("%+v", nodegate.AsError(err).Err)} {
				if strings.Contains(text, password) {
					t.Errorf("the password is in %q", text)
				}
			}
			if took := time.Since(begun); took > 6*stepTimeout {
				t.Errorf("it takes %v", took)
			}
		})
	}
}

// A user who may not create tables is told so.
func TestPostgresWithoutRights(t *testing.T) {
	dsn := dbtest.Postgres(t)
	s := openPostgres(t, dsn)
	for _, statement := range []string{"DROP ROLE IF EXISTS guest", "CREATE ROLE guest LOGIN"} {
		if _, err := s.writer.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	_, err := OpenPostgres(t.Context(), strings.Replace(dsn, "user=postgres", "user=guest", 1), nil, quiet())
	refused(t, err, "may create tables")
}
