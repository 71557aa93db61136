package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/payment"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

var _ nodegate.Authenticator = (*Authenticator)(nil)

// fixture is an authenticator and, beside it, another process that works on the same
// database through a connection of its own.
type fixture struct {
	*Authenticator
	store *watched
	desk  *account.Service // the other process
	owner *nodegate.Account
}

const never = 1000 * time.Hour // a follow interval that doesn't come

var from = netip.MustParseAddr("192.0.2.1")

func actor() nodegate.Actor { return nodegate.Actor{Name: "tester@example.com", From: "192.0.2.1"} }

func plans() map[string]nodegate.Plan {
	return map[string]nodegate.Plan{
		"free":      {Name: "free", CreditsPerSecond: 500, Burst: 10_000, CreditsPerDay: 3_000_000},
		"unlimited": {Name: "unlimited"},
	}
}

func newVault(t testing.TB) *credential.Vault {
	t.Helper()
	v, err := credential.New([]byte("a pepper of the tests, long enough"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func openStore(t testing.TB, path string) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(context.Background(), path, newVault(t).AuditKey(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newFixture has one account and no key; change works on the configuration.
func newFixture(t testing.TB, change func(*Config)) *fixture {
	t.Helper()
	path := sqlitetest.New(t)
	log := slog.New(slog.DiscardHandler)
	g := &fixture{store: &watched{Store: openStore(t, path)}}
	g.desk = account.New(account.Config{Store: openStore(t, path), Vault: newVault(t), Plans: plans(), DefaultPlan: "free", Cards: payment.NewTest(), Log: log})
	var err error
	if g.owner, err = g.desk.Create(context.Background(), actor(), account.NewAccount{Email: "owner@example.com"}); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Store: g.store, Vault: newVault(t), Plans: plans(), DefaultPlan: "free", Follow: time.Second, Guesses: 100, Log: log}
	if change != nil {
		change(&cfg)
	}
	g.open(t, cfg)
	return g
}

// open replaces the authenticator by a new one, as a restart does.
func (g *fixture) open(t testing.TB, cfg Config) {
	t.Helper()
	d, err := Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	g.Authenticator = d
}

func (g *fixture) key(t testing.TB, settings nodegate.KeySettings) *account.IssuedKey {
	t.Helper()
	k, err := g.desk.CreateKey(context.Background(), actor(), g.owner.ID, "a key", settings)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (g *fixture) rotate(t testing.TB, keyID string, r account.Rotation) *account.IssuedKey {
	t.Helper()
	k, err := g.desk.RotateKey(context.Background(), actor(), g.owner.ID, keyID, r)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (g *fixture) revoke(t testing.TB, keyID string) {
	t.Helper()
	if err := g.desk.RevokeKey(context.Background(), actor(), g.owner.ID, keyID); err != nil {
		t.Error(err)
	}
}

func (g *fixture) ask(key, secret string) (*nodegate.Grant, error) {
	return g.Authenticate(context.Background(), nodegate.Credentials{Key: key, Secret: secret, From: from})
}

func (g *fixture) enter(t testing.TB, key, secret string) *nodegate.Grant {
	t.Helper()
	grant, err := g.ask(key, secret)
	if err != nil {
		t.Fatal(err)
	}
	return grant
}

// settle has the change sequence read, within a bubble of synctest.
func (g *fixture) settle() {
	g.Poke()
	synctest.Wait()
}

// texts are the contract's.
var texts = map[nodegate.Code]string{
	nodegate.KeyRequired: "API key required", nodegate.KeyInvalid: "invalid API key", nodegate.SecretInvalid: "invalid API key or API key secret",
}

func refused(t testing.TB, err error, code nodegate.Code) {
	t.Helper()
	var e *nodegate.Error
	if !errors.As(err, &e) || e.Code != code || e.Msg != texts[code] && code != nodegate.Busy {
		t.Errorf("got %v, want %v", err, code)
		return
	}
	if code == nodegate.Busy && (!strings.HasPrefix(e.Msg, "server busy") || e.RetryAfter <= 0) {
		t.Errorf("busy says %q, %v", e.Msg, e.RetryAfter)
	}
}

func ended(g *nodegate.Grant) bool {
	select {
	case <-g.Ended():
		return true
	default:
		return false
	}
}

// watched is the real store with a counter, and with faults on demand.
type watched struct {
	*sqlstore.Store
	lookUps  atomic.Int64 // calls of KeyByDigest
	reads    atomic.Int64 // all others
	broken   atomic.Bool
	hung     atomic.Bool
	slow     atomic.Int64 // what a reading of an account takes more, in nanoseconds
	afterKey atomic.Pointer[func(*nodegate.Key)]

	afterAccount atomic.Pointer[func(*nodegate.Account)]
}

func (w *watched) fault(ctx context.Context) error {
	if w.hung.Load() {
		<-ctx.Done()
		return &nodegate.Error{Code: nodegate.Busy, Msg: "hung", Err: ctx.Err()}
	}
	if w.broken.Load() {
		return &nodegate.Error{Code: nodegate.Busy, Msg: "broken"}
	}
	return nil
}

func (w *watched) KeyByDigest(ctx context.Context, d nodegate.Digest) (*nodegate.Key, error) {
	w.lookUps.Add(1)
	if err := w.fault(ctx); err != nil {
		return nil, err
	}
	return w.Store.KeyByDigest(ctx, d)
}

func (w *watched) Account(ctx context.Context, id string) (*nodegate.Account, error) {
	w.reads.Add(1)
	if err := w.fault(ctx); err != nil {
		return nil, err
	}
	if slow := time.Duration(w.slow.Load()); slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	}
	a, err := w.Store.Account(ctx, id)
	if after := w.afterAccount.Load(); after != nil && err == nil {
		(*after)(a)
	}
	return a, err
}

func (w *watched) Key(ctx context.Context, accountID, id string) (*nodegate.Key, error) {
	w.reads.Add(1)
	if err := w.fault(ctx); err != nil {
		return nil, err
	}
	k, err := w.Store.Key(ctx, accountID, id)
	if after := w.afterKey.Load(); after != nil && err == nil {
		(*after)(k)
	}
	return k, err
}

func (w *watched) Changes(ctx context.Context, after int64, limit int) ([]nodegate.Changed, error) {
	if err := w.fault(ctx); err != nil {
		return nil, err
	}
	return w.Store.Changes(ctx, after, limit)
}
