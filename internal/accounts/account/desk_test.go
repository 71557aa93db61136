package account

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/payment"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// desk is the service over a real database, with what the tests look at.
type desk struct {
	*Service
	cfg   Config
	store *hooked
	cards *processor
	path  string // of the database
	log   *bytes.Buffer
}

const password = "correct horse battery"

func actor() nodegate.Actor { return nodegate.Actor{Name: "tester@example.com", From: "192.0.2.1"} }

func plans() map[string]nodegate.Plan {
	return map[string]nodegate.Plan{
		"free":      {Name: "free", CreditsPerSecond: 500, Burst: 10_000, CreditsPerDay: 3_000_000},
		"unlimited": {Name: "unlimited"},
	}
}

func newDesk(t testing.TB) *desk {
	t.Helper()
	v, err := credential.New([]byte("a pepper of the tests, long enough"))
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{path: sqlitetest.New(t), cards: &processor{TestProcessor: payment.NewTest()}, log: &bytes.Buffer{}}
	log := slog.New(slog.NewJSONHandler(d.log, nil))
	store, err := sqlstore.OpenSQLite(context.Background(), d.path, v.AuditKey(), log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	d.store = &hooked{Store: store}
	d.cfg = Config{Store: d.store, Vault: v, Plans: plans(), DefaultPlan: "free", Cards: d.cards, Log: log}
	d.Service = New(d.cfg)
	return d
}

// customer makes an account without a password, which would cost time.
func (d *desk) customer(t testing.TB, email string) *nodegate.Account {
	t.Helper()
	a, err := d.Create(context.Background(), actor(), NewAccount{Email: email})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// person makes an account that can sign in.
func (d *desk) person(t testing.TB, email string) *nodegate.Account {
	t.Helper()
	a, err := d.Create(context.Background(), actor(), NewAccount{Email: email, Password: password})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (d *desk) key(t testing.TB, accountID string) *IssuedKey {
	t.Helper()
	k, err := d.CreateKey(context.Background(), actor(), accountID, "a key", nodegate.KeySettings{})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func (d *desk) signIn(t testing.TB, email, from string) string {
	t.Helper()
	token, _, err := d.SignIn(context.Background(), Attempt{Email: email, Password: password, From: from})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func (d *desk) auditCount(t testing.TB) int {
	t.Helper()
	entries, err := d.Audit(context.Background(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// want checks an error's code; "" text is not looked at.
func want(t testing.TB, err error, code nodegate.Code, says string) {
	t.Helper()
	if !errors.Is(err, code) || !bytes.Contains([]byte(nodegate.AsError(err).Msg), []byte(says)) {
		t.Errorf("got %v, want %v that says %q", err, code, says)
	}
}

// hooked is the real store, and lets a test do something at a chosen moment.
type hooked struct {
	*sqlstore.Store
	mu            sync.Mutex
	beforeSession func()
	afterAccount  func()
	afterSave     func()
	saveFails     error // what Save answers, whatever it did
	metaFails     error // what DeleteMeta answers
}

// take returns a hook and takes it out, so that what it does is not hooked again.
func (h *hooked) take(hook *func()) func() {
	h.mu.Lock()
	defer h.mu.Unlock()
	f := *hook
	*hook = nil
	if f == nil {
		return func() {}
	}
	return f
}

func (h *hooked) SaveSession(ctx context.Context, s nodegate.Session) error {
	h.take(&h.beforeSession)()
	return h.Store.SaveSession(ctx, s)
}

func (h *hooked) Account(ctx context.Context, id string) (*nodegate.Account, error) {
	a, err := h.Store.Account(ctx, id)
	h.take(&h.afterAccount)()
	return a, err
}

func (h *hooked) DeleteMeta(ctx context.Context, name string) error {
	if h.metaFails != nil {
		return h.metaFails
	}
	return h.Store.DeleteMeta(ctx, name)
}

func (h *hooked) Save(ctx context.Context, c *nodegate.Change) error {
	err := h.Store.Save(ctx, c)
	h.take(&h.afterSave)()
	return cmp.Or(h.saveFails, err)
}

// processor is the embedded one, which notes what it is told to forget.
type processor struct {
	*payment.TestProcessor
	mu      sync.Mutex
	removed []string
	refuses error          // of Remove
	again   *nodegate.Card // what Complete returns, as for a set-up that is sent twice
}

func (p *processor) Complete(ctx context.Context, e nodegate.CardEntry) (*nodegate.Card, error) {
	if p.again != nil {
		card := *p.again
		return &card, nil
	}
	return p.TestProcessor.Complete(ctx, e)
}

func (p *processor) Remove(ctx context.Context, c *nodegate.Card) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if p.refuses == nil {
		p.removed = append(p.removed, c.Reference)
	}
	return p.refuses
}

func goodCard(accountID string) nodegate.CardEntry {
	return nodegate.CardEntry{AccountID: accountID, Number: "4242424242424242", ExpMonth: 12, ExpYear: time.Now().Year() + 3, CVC: "123"}
}
