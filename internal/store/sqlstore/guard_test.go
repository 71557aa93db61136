package sqlstore

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/disk"
)

// Below the reserve nothing new is written, reads go on, and what a start writes or what
// ends something is taken.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	s, err := OpenSQLite(t.Context(), filepath.Join(dir, "store.db"), []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.SetMeta(t.Context(), "a", "1"); err != nil {
		t.Fatal(err)
	}
	s.Guarded(disk.NewGuard(dir, 1<<60))
	if err := s.ReplaceMeta(t.Context(), "a", "2"); !errors.Is(err, nodegate.InsufficientStorage) {
		t.Errorf("a write: %v", err)
	}
	if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "s", Number: 1}); !errors.Is(err, nodegate.InsufficientStorage) {
		t.Errorf("usage: %v", err)
	}
	if value, err := s.SetMeta(t.Context(), "a", "3"); err != nil || value != "1" {
		t.Errorf("what a start writes: %q %v", value, err)
	}
	if _, err := s.Spent(t.Context(), time.Now()); err != nil {
		t.Errorf("a read: %v", err)
	}
	s.Guarded(nil)
	if err := s.ReplaceMeta(t.Context(), "a", "2"); err != nil {
		t.Errorf("with space again: %v", err)
	}
}
