package sqlstore

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
	"github.com/nodegate/nodegate/test/tlstest"
)

// trust writes the certificate of an authority to a file and returns TLS settings that ask for it.
func trust(t *testing.T, a *tlstest.Authority) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte(a.CA), 0o600); err != nil {
		t.Fatal(err)
	}
	return "&sslmode=verify-full&sslrootcert=" + file
}

// TestFailover runs a primary and its standby, both with TLS. An authority that didn't sign their
// certificates is refused, and so is a connection without TLS; when the primary is killed and the
// standby promoted, an open store goes on with what was written before.
func TestFailover(t *testing.T) {
	full.Slow(t)
	authority := tlstest.NewAuthority(t)
	cert, key := authority.Issue(t)
	pair := dbtest.PostgresPair(t, cert, key)
	for name, tls := range map[string]string{"another authority": trust(t, tlstest.NewAuthority(t)), "no TLS": "&sslmode=disable"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if s, err := OpenPostgres(ctx, pair.DSN+tls, nil, slog.New(slog.DiscardHandler)); err == nil {
			s.Close()
			t.Errorf("%s is accepted", name)
		}
		cancel()
	}
	s, err := OpenPostgres(t.Context(), pair.DSN+trust(t, authority), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.SetMeta(t.Context(), "before", "1"); err != nil {
		t.Fatal(err)
	}
	if !pair.Followed(func(standby string) bool {
		i, err := InspectPostgres(t.Context(), standby)
		return err == nil && i.Meta("before") == "1"
	}) {
		t.Fatal("the standby does not follow")
	}
	pair.Primary.Kill()
	if err := pair.Promote(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		var known string
		if known, err = s.SetMeta(t.Context(), "after", "2"); err == nil && known == "2" {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the store does not find the new primary: %v", err)
		}
	}
	if known, err := s.SetMeta(t.Context(), "before", "lost"); err != nil || known != "1" {
		t.Errorf("what was written before: %q, %v", known, err)
	}
}
