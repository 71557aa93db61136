package accounts_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/test/harness"
)

// TestNothingLeaks brings about every refusal and then searches logs, metrics,
// profiles and answers for keys, secrets and e-mail addresses.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, devnetOnly)
	var seen strings.Builder
	keep := func(status int, r reply) {
		t.Helper()
		if r.status != status {
			t.Errorf("status %d, want %d: %s", r.status, status, r.body)
		}
		seen.WriteString(r.body)
		for name, values := range r.header {
			seen.WriteString(name + strings.Join(values, ","))
		}
	}
	limited := newTenant(t, s, "slow", nodegate.KeySettings{})
	daily := newTenant(t, s, "daily", nodegate.KeySettings{})
	listed := newTenant(t, s, "unlimited", nodegate.KeySettings{Methods: []string{"eth_chainId"}, Origins: []string{"https://a.example"}})
	secret := newTenant(t, s, "nonsense", nodegate.KeySettings{SecretRequired: true}) // its plan is not configured
	unknown := credential.NewKey()
	keep(401, send(t, s.URL("devnet", unknown), chainID))
	keep(401, send(t, s.URL("devnet", unknown+"x"), chainID))
	keep(401, send(t, secret.url, chainID, "Authorization", basic(secret.key, secret.secret+"x")))
	keep(200, send(t, secret.url, chainID, "Authorization", basic(secret.key, secret.secret)))
	keep(403, send(t, listed.url, chainID))
	keep(403, send(t, listed.url, balance, "Origin", "https://a.example"))
	keep(200, send(t, limited.url, callOf("eth_getBlockReceipts", `["latest"]`)))
	keep(429, send(t, limited.url, balance))
	for range 5 {
		keep(200, send(t, daily.url, balance))
	}
	keep(402, send(t, daily.url, balance))
	dial(t, limited.ws())
	listed.set(t, func(s *nodegate.KeySettings) { s.UserAgents = []string{"x"} })
	limited.revoke(t)
	until(t, "the key is revoked", func() bool { return send(t, limited.url, chainID).status == 401 })
	for _, page := range []string{"/metrics", "/debug/pprof/goroutine?debug=2", "/debug/pprof/heap?debug=1", "/debug/pprof/cmdline", "/healthz"} {
		keep(200, exchange(t, sharedClient, http.MethodGet, s.Admin+page, ""))
	}
	seen.WriteString(s.Logs.String())
	text := strings.ToLower(seen.String())
	hidden := []string{unknown, "@example.com", "dev@localhost"}
	for _, k := range []*tenant{limited, daily, listed, secret} {
		hidden = append(hidden, k.key, k.secret)
	}
	for _, h := range hidden {
		if at := strings.Index(text, h[:min(12, len(h))]); at >= 0 {
			t.Errorf("%s... is in %q", h[:4], text[max(0, at-200):min(len(text), at+60)])
		}
	}
	for _, code := range []string{"rate limited", "credits spent", "forbidden", "key invalid", "secret invalid"} {
		if !strings.Contains(text, `"`+code+`"`) {
			t.Errorf("the metrics say nothing of %q", code)
		}
	}
}
