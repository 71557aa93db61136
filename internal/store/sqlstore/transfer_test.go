package sqlstore

import (
	"log/slog"
	"path/filepath"
	"slices"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/dbtest"
)

// TestEveryTableIsTransferred: a new table is copied, or left out on purpose.
func TestEveryTableIsTransferred(t *testing.T) {
	s, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "test.db"), []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	known := slices.Concat(transferred, pinTransfer, []string{"sequences", "meta", "migrations", "leases"})
	var have []string
	err = s.each(t.Context(), "tables", "table", "SELECT name FROM sqlite_master WHERE type = 'table'", nil, func(row scan) error {
		var name string
		err := row(&name)
		have = append(have, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(have)
	slices.Sort(known)
	if !slices.Equal(have, known) {
		t.Errorf("tables\n%v\nthe transfer knows\n%v", have, known)
	}
}

// TestTransferRefuses a destination with a change of its own.
func TestTransferRefuses(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	from, err := OpenSQLite(t.Context(), filepath.Join(t.TempDir(), "test.db"), []byte("key"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer from.Close()
	to, err := OpenPostgres(t.Context(), dbtest.Postgres(t), []byte("key"), log)
	if err != nil {
		t.Fatal(err)
	}
	defer to.Close()
	if _, err := to.writer.ExecContext(t.Context(), "UPDATE sequences SET change = 1"); err != nil {
		t.Fatal(err)
	}
	_, err = (&Transfer{From: from, To: to, Begun: "begun", Done: "done"}).Run(t.Context())
	if nodegate.AsError(err).Code != nodegate.Conflict {
		t.Errorf("got %v, want a conflict", err)
	}
}
