package server

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

// TestLedgersShare: two instances of a network use one open copy, and the folder is free
// when both have let go of it.
func TestLedgersShare(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	cfg := config.Default()
	cfg.Data = t.TempDir()
	l := newLedgers(&common{cfg: cfg, log: log})
	folder := filepath.Join(cfg.Data, "ledger", "main")
	of := origin{genesis: [32]byte{1}}
	first, err := l.take(folder, of, 1<<20, log)
	if err != nil {
		t.Fatal(err)
	}
	second, err := l.take(folder, of, 1<<20, log)
	if err != nil || second != first {
		t.Fatalf("a second user gets another copy: %v", err)
	}
	other := origin{genesis: [32]byte{2}}
	if _, err := l.take(folder, other, 1<<20, log); !errors.Is(err, errInUse) {
		t.Errorf("another chain in the same folder: %v", err)
	}
	l.release(folder, log)
	if _, _, err := first.ByHash([32]byte{1}); err != nil {
		t.Errorf("the copy is closed while one uses it: %v", err)
	}
	l.release(folder, log)
	if _, _, err := first.ByHash([32]byte{1}); err == nil {
		t.Error("the copy is open after its last user")
	}
	if _, err := l.take(folder, other, 1<<20, log); err != nil {
		t.Errorf("another chain afterwards: %v", err)
	}
	l.release(folder, log)
}
