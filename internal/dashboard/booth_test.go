package dashboard

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/account"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/accounts/payment"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

// booth is a dashboard over real use cases and a real database, without networks.
type booth struct {
	*Dashboard
	store *sqlstore.Store
	log   *bytes.Buffer
}

const boothPassword = "correct horse battery"

func newBooth(t testing.TB, change func(*Config)) *booth {
	t.Helper()
	v := testVault(t)
	d := &booth{log: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(d.log, nil))
	var err error
	if d.store, err = sqlstore.OpenSQLite(t.Context(), sqlitetest.New(t), v.AuditKey(), log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.store.Close() })
	plans := map[string]nodegate.Plan{"free": {Name: "free", CreditsPerDay: 1000, StoredBytes: 1 << 20}, "unlimited": {Name: "unlimited"}}
	cfg := Config{
		Accounts:   account.New(account.Config{Store: d.store, Vault: v, Plans: plans, DefaultPlan: "free", Cards: payment.NewTest(), Log: log}),
		Reports:    report.New(report.Config{Store: d.store}),
		RequestLog: newJournal(t),
		SignUp:     true, Networks: func() []Network { return nil }, Log: log,
		Operator: Operator{
			Networks: func(context.Context) []NetworkState { return nil },
			System:   func(context.Context) System { return System{} },
		},
	}
	if change != nil {
		change(&cfg)
	}
	if d.Dashboard, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return d
}

// person makes an account and signs it in; the result is its cookie.
func (d *booth) person(t testing.TB, email string, operator bool) (*nodegate.Account, string) {
	t.Helper()
	a, err := d.cfg.Accounts.Create(t.Context(), nodegate.Actor{Name: "test"}, account.NewAccount{Email: email, Password: boothPassword, Operator: operator})
	if err != nil {
		t.Fatal(err)
	}
	token, _, err := d.cfg.Accounts.SignIn(t.Context(), account.Attempt{Email: email, Password: boothPassword, From: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	return a, sessionCookie + "=" + token
}

// ask sends a request with a cookie and, for a POST, a form.
func (d *booth) ask(method, path, cookie string, form url.Values) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(form.Encode()))
	req.RemoteAddr = "127.0.0.1:1"
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if cookie != "" {
		req.Header.Set("Cookie", cookie)
	}
	w := httptest.NewRecorder()
	d.ServeHTTP(w, req)
	return w
}

func testVault(t testing.TB) *credential.Vault {
	t.Helper()
	v, err := credential.New([]byte("a pepper of the tests, long enough"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func newJournal(t testing.TB) *requestlog.Log {
	t.Helper()
	j := requestlog.New(requestlog.Config{})
	t.Cleanup(j.Close)
	return j
}
