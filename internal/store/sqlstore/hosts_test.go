package sqlstore

import (
	"context"
	"log/slog"
	"net/url"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// hostOf is the folder of a server's socket.
func hostOf(t *testing.T, dsn string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("host")
}

// TestSeveralHosts names two servers in one address: nodegate uses the one that takes
// writes, whichever it is, and goes to the other when they change roles.
func TestSeveralHosts(t *testing.T) {
	full.Slow(t)
	a, b := dbtest.PostgresServer(t), dbtest.PostgresServer(t)
	u, err := url.Parse(a.DSN) // both have a database of the same name
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set("host", hostOf(t, a.DSN)+","+hostOf(t, b.DSN))
	query.Set("target_session_attrs", "read-write")
	u.RawQuery = query.Encode()

	readOnly(t, a.DSN, u.Path[1:], "on")
	s, err := OpenPostgres(t.Context(), u.String(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.SetMeta(t.Context(), "where", "b"); err != nil {
		t.Fatal(err)
	}
	if i, err := InspectPostgres(t.Context(), b.DSN); err != nil || i.Meta("where") != "b" || i.ReadOnly {
		t.Errorf("the one that takes writes: %+v, %v", i, err)
	}
	if i, err := InspectPostgres(t.Context(), a.DSN); err != nil || i.Tables != 0 || !i.ReadOnly {
		t.Errorf("the other one: %+v, %v", i, err)
	}

	readOnly(t, a.DSN, u.Path[1:], "off")
	b.Kill()
	if err := ReachPostgres(t.Context(), u.String()); err != nil {
		t.Errorf("one of two is enough: %v", err)
	}
	again, err := OpenPostgres(t.Context(), u.String(), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if known, err := again.SetMeta(t.Context(), "where", "a"); err != nil || known != "a" {
		t.Errorf("after the change: %q, %v", known, err)
	}
	if err := ReachPostgres(t.Context(), b.DSN); err == nil {
		t.Error("a server that was killed is reached")
	}
}

// readOnly sets whether new sessions of a database may write.
func readOnly(t *testing.T, dsn, database, value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, statement := range []string{"SET default_transaction_read_only = off", "ALTER DATABASE " + database + " SET default_transaction_read_only = " + value} {
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}
