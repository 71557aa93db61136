package sqlstore

import (
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestObserved: reads and writes are reported as what they are, with their errors.
func TestObserved(t *testing.T) {
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "store.db"), []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	type seen struct {
		write bool
		err   error
	}
	var last seen
	s.Observed(func(write bool, took time.Duration, err error) {
		if took < 0 {
			t.Errorf("it took %s", took)
		}
		last = seen{write, err}
	})
	if err := s.ReplaceMeta(t.Context(), "a", "b"); err != nil || last != (seen{write: true}) {
		t.Errorf("a write: %+v %v", last, err)
	}
	if _, err := s.Account(t.Context(), "none"); !errors.Is(err, nodegate.NotFound) || last != (seen{}) {
		t.Errorf("a read: %+v %v", last, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.ReplaceMeta(t.Context(), "a", "c"); !errors.Is(last.err, nodegate.Busy) || !last.write {
		t.Errorf("a store that is gone: %+v %v", last, err)
	}
}
