package dashboard_test

import (
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dashboard"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
)

// operate starts a server and signs its operator in.
func operate(t *testing.T, change func(*config.Config)) (*harness.Service, *dashboard.Visitor) {
	t.Helper()
	s := harness.Start(t, change)
	v := dashboard.Visit(t, s)
	v.SignIn(s.Server.First().Email, s.Server.First().Password)
	return s, v
}

// TestOperatorAccounts changes a plan and a password, and finds both in the audit log.
func TestOperatorAccounts(t *testing.T) {
	s, v := operate(t, devnetOnly)
	member := dashboard.Visit(t, s)
	member.SignUp("ann+x@example.com")
	a, err := s.Server.Control().Accounts.Find(t.Context(), "ann+x@example.com")
	if err != nil {
		t.Fatal(err)
	}
	page := "/operator/accounts/" + a.ID
	wants(t, "the list", v.Get("/operator/accounts"), 200, "ann&#43;x@example.com", "a@example.com", "dev@localhost")
	found := v.Get("/operator/accounts?q=ANN")
	wants(t, "a search", found, 200, page)
	if strings.Contains(found.Body, "> b@example.com") {
		t.Error("the search finds others")
	}
	wants(t, "the account", v.Get(page), 200, "Plan", "account.create", "No keys", "0 % of 5.0 GiB")
	wants(t, "no such plan", v.Post(page+"/plan", url.Values{"plan": {"gold"}}), 422, "There is no such plan")
	wants(t, "a plan", v.Post(page+"/plan", url.Values{"plan": {"unlimited"}}), 303)
	wants(t, "after it", v.Get(page+"?done=plan"), 200, "Plan changed.", "account.plan", "free to unlimited", ">dev@localhost</td>")
	wants(t, "the member's page", member.Get("/billing"), 200, "Plan: unlimited")
	wants(t, "a short password", v.Post(page+"/password", url.Values{"password": {"short"}}), 422, "10 to 1,024")
	wants(t, "a password", v.Post(page+"/password", url.Values{"password": {"another one entirely"}}), 303)
	if p := member.Get("/billing"); p.Status != 303 || !strings.HasPrefix(p.Location, "/login") {
		t.Errorf("the old session still works: %d", p.Status)
	}
	member.SignIn("ann+x@example.com", "another one entirely")
	wants(t, "a member there", member.Get(page), 404)
	wants(t, "a member's change", member.Post(page+"/plan", url.Values{"plan": {"free"}}), 404)
	wants(t, "nobody's page", v.Get("/operator/accounts/a-nobody"), 404)
	wants(t, "keys by name", v.Get("/operator/accounts/a-a"), 200, "k-a", ">active<")
	if strings.Contains(v.Get("/operator/accounts/a-a").Body, harness.KeyA[:8]) {
		t.Error("the page has a key's text")
	}
	wants(t, "the log", v.Get("/operator/audit"), 200, "account.password", page)
	wants(t, "its check", v.Post("/operator/audit/verify", nil), 200, "entries verified")
}

// TestOperatorSystem shows the configuration without its secrets.
func TestOperatorSystem(t *testing.T) {
	_, v := operate(t, func(c *config.Config) {
		devnetOnly(c)
		c.Pepper = "a pepper of swordfish, which is long enough"
		c.Mail.SMTP, c.Mail.From = "smtp://me:swordfish@127.0.0.1:1", "gate@example.com"
	})
	p := v.Get("/operator/system")
	wants(t, "the system", p, 200, "<dd>test</dd>", "go1.", "sqlite, ", "GiB on the data folder", "Blocks on disk", "Damaged blocks", ">works<", "default_network: &#34;devnet&#34;", "# smtp: [redacted]", "from: &#34;gate@example.com&#34;")
	if strings.Contains(p.Body, "swordfish") || strings.Contains(p.Body, `role="alert"`) {
		t.Errorf("the page has a secret, or a problem:\n%s", p.Body)
	}
	wants(t, "the networks", v.Get("/operator"), 200, "devnet", "embedded", "when a transaction arrives")
}

// TestOperatorNetworks shows a node that works and one that doesn't.
func TestOperatorNetworks(t *testing.T) {
	chain := harness.Start(t, devnetOnly)
	gone := httptest.NewServer(nil)
	gone.Close()
	_, v := operate(t, func(c *config.Config) {
		devnetOnly(c)
		c.Networks[0].Embedded.Period = 12
		c.Networks = append(c.Networks, config.Network{Name: "far", Dialect: "spec", MaxLag: 5, Nodes: []config.Node{
			{Name: "near", URL: config.NodeURL(chain.URL("devnet", harness.KeyA)), Role: "primary"},
			{Name: "lost", URL: config.NodeURL(gone.URL + "/swordfish"), Role: "backup"},
		}, Ledger: config.Ledger{Blocks: 1000, Disk: 1 << 30, Memory: 1 << 20}})
	})
	var p dashboard.Page
	eventually(t, func() bool {
		p = v.Get("/operator")
		return strings.Contains(p.Body, ">used<") && strings.Contains(p.Body, ">not used<") && strings.Contains(p.Body, "0 to 10: 11 of 1,000")
	})
	wants(t, "the networks", p, 200, "a block every 12s", "far", "2 nodes", "near", "lost", "backup", "connection refused", `<span class="sub">nodegate/`, "<h3>Ledger</h3>", ">following<", "no lookups yet")
	const near = "/operator/nodes/far/near/"
	wants(t, "the button", p, 200, `action="`+near+`cordon"`)
	wants(t, "a cordon", v.Post(near+"cordon", nil), 303)
	wants(t, "after it", v.Get("/operator?done=cordoned"), 200, "Node cordoned.", ">cordoned<", near+"uncordon")
	wants(t, "no node left", v.Get("/readyz/far"), 503)
	wants(t, "its end", v.Post(near+"uncordon", nil), 303)
	wants(t, "the audit log", v.Get("/operator/audit"), 200, "node.cordon", "node.uncordon", "far/near", ">dev@localhost</td>")
	wants(t, "no such node", v.Post("/operator/nodes/far/nobody/cordon", nil), 404)
	wants(t, "an embedded network", v.Post("/operator/nodes/devnet/near/cordon", nil), 404)
	for _, secret := range []string{"swordfish", harness.KeyA} {
		if strings.Contains(p.Body, secret) {
			t.Errorf("the page has a node's secret:\n%s", p.Body)
		}
	}
}

// TestOperatorNetworkElsewhere: where two servers have a chain under one name, operators see
// it on the one that came second.
func TestOperatorNetworkElsewhere(t *testing.T) {
	dsn := dbtest.Postgres(t)
	both := func(c *config.Config) {
		devnetOnly(c)
		c.Storage.Engine = "off" // only one server beside a Postgres may have a block store
		c.Pepper, c.Store.Postgres = "a pepper that all servers have in common", config.Secret(dsn)
	}
	const warning = "Another server on this database also has"
	s, v := operate(t, both)
	if strings.Contains(v.Get("/operator").Body, warning) {
		t.Error("the first server warns")
	}
	second := dashboard.Visit(t, harness.Start(t, both))
	second.SignIn(s.Server.First().Email, s.Server.First().Password)
	wants(t, "the second server's networks", second.Get("/operator"), 200, warning)
}
