package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/nodegate/nodegate"
)

// TestCopySQLite copies a database while it is written. The copy is whole: it has
// everything that was saved before, its audit log holds together, and SQLite finds nothing
// wrong with it.
func TestCopySQLite(t *testing.T) {
	dir := t.TempDir()
	path, copied := filepath.Join(dir, "a.db"), filepath.Join(dir, "b.db")
	log := slog.New(slog.DiscardHandler)
	s, err := OpenSQLite(t.Context(), path, []byte("key"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var saved atomic.Int64
	save := func() error {
		id := fmt.Sprintf("a-%05d", saved.Load())
		err := s.Save(context.Background(), &nodegate.Change{
			Account: &nodegate.Account{ID: id, Email: id + "@example.com", Plan: "free"}, Audit: nodegate.AuditEntry{Actor: "test", Action: "account.create", AccountID: id},
		})
		saved.Add(1)
		return err
	}
	for range 200 {
		if err := save(); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.Create(copied)
	if err != nil {
		t.Fatal(err)
	}
	before := saved.Load()
	wrote := 0
	err = CopySQLite(t.Context(), path, writerFunc(func(b []byte) (int, error) {
		if wrote++; wrote%5 == 0 { // between two pages
			if err := save(); err != nil {
				return 0, err
			}
		}
		return f.Write(b)
	}))
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	if saved.Load() == before {
		t.Fatal("nothing was saved meanwhile: the test is of no use")
	}
	c, err := OpenSQLite(t.Context(), copied, []byte("key"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var verdict string
	var accounts int64
	if err := c.reader.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("%s, %v", verdict, err)
	}
	if err := c.reader.QueryRow("SELECT COUNT(*) FROM accounts").Scan(&accounts); err != nil || accounts != before {
		t.Errorf("%d accounts, want %d: %v", accounts, before, err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(b []byte) (int, error) { return f(b) }

func TestCopySQLiteFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	if err := CopySQLite(t.Context(), path, io.Discard); err == nil {
		t.Error("a database that isn't there was copied")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("it was created")
	}
}
