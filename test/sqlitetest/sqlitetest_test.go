package sqlitetest

import (
	"log/slog"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
)

// TestNew: each file is a store of its own.
func TestNew(t *testing.T) {
	open := func(path string) *sqlstore.Store {
		s, err := sqlstore.OpenSQLite(t.Context(), path, []byte("another key"), slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	one, two := open(New(t)), open(New(t))
	account := &nodegate.Account{ID: "a", Email: "a@example.com"}
	if err := one.Save(t.Context(), &nodegate.Change{Account: account, Audit: nodegate.AuditEntry{Action: "account.save", AccountID: "a", Subject: "a"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := one.AccountByEmail(t.Context(), account.Email); err != nil {
		t.Error(err)
	}
	if _, err := two.AccountByEmail(t.Context(), account.Email); err == nil {
		t.Error("the account is in both files")
	}
}
