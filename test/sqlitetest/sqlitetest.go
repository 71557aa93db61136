// Package sqlitetest gives tests SQLite files that have all tables. To make the tables takes
// longer than most tests do, and seconds under the race detector, so that each test program
// makes them once. Start at New.
package sqlitetest

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// New returns the path of a file that sqlstore.OpenSQLite opens as an empty store, with any
// key for the audit log.
func New(t testing.TB) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "test.db")
	if err := Write(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Write makes such a file.
func Write(path string) error {
	content, err := empty()
	if err != nil {
		return err
	}
	return os.WriteFile(path, content, 0o600)
}

// empty is the content of such a file.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlitetest")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlstore.OpenSQLite(context.Background(), path, []byte("key"), slog.New(slog.DiscardHandler))
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
