package browser

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// Every page of the dashboard is free of what axe-core can find against WCAG 2, levels
// A and AA. Each part has a browser of its own, so that none of them is short of time.
func TestAccessible(t *testing.T) {
	harness.NeedFull(t)
	axe, s := axeSource(t), harness.Start(t, func(c *config.Config) { c.Dashboard.Status = true })
	useADay(t, s)
	seen, checks := map[string]bool{}, 0
	for _, part := range []struct {
		name string
		tour func(*inspector, *harness.Service)
	}{{"signed out", signedOut}, {"keys", keyPages}, {"member", memberPages}, {"operator", operatorPages}, {"stripe", stripePages}} {
		t.Run(part.name, func(t *testing.T) {
			i := inspect(t, s, axe)
			part.tour(i, s)
			checks += i.checks
			for template := range i.seen {
				seen[template] = true
			}
		})
	}
	for _, template := range templates(t) {
		if !seen[template] && !t.Failed() {
			t.Errorf("%s.html was not checked: visit it here", template)
		}
	}
	t.Logf("%d pages checked %d times", len(seen), checks)
}

// A page that is wrong in a known way doesn't pass.
func TestAccessibleBites(t *testing.T) {
	harness.NeedFull(t)
	i := inspect(t, harness.Start(t, nil), axeSource(t))
	Do(t, i.ctx, chromedp.Navigate(i.base+"/login"), chromedp.WaitVisible("h1"))
	Ask(t, i.ctx, chromedp.Evaluate[bool](`document.documentElement.removeAttribute("lang"), document.querySelector("h1").style.color = "#ccc", true`))
	found := strings.Join(i.run().Violations, "\n")
	for _, rule := range []string{"html-has-lang", "color-contrast"} {
		if !strings.Contains(found, rule) {
			t.Errorf("axe doesn't find %s:\n%s", rule, found)
		}
	}
}

func signedOut(i *inspector, s *harness.Service) {
	i.open("login", "/login", `form[action="/login"]`)
	Do(i, i.ctx, chromedp.SendKeys(field("/login", "email"), "ada@example.com"), chromedp.SendKeys(field("/login", "password"), "not the password"))
	i.submit("login", `form[action="/login"]`, `.notice.bad`)
	i.open("signup", "/signup", `form[action="/signup"]`)
	i.open("reset", "/login/reset", `h1`)
	i.open("status", "/status", `h1`)
	for _, purpose := range []nodegate.LinkPurpose{nodegate.LinkReset, nodegate.LinkVerify} {
		i.open("link", linkTo(i, s, purpose), `form button`)
	}
	docsPages(i)
}

// linkTo is the path of a new link for the first account.
func linkTo(t testing.TB, s *harness.Service, purpose nodegate.LinkPurpose) string {
	t.Helper()
	token, _, err := s.Server.Control().Accounts.NewLink(t.Context(), nodegate.Actor{Name: "test"}, purpose, s.Server.FirstKey().Key.AccountID, "")
	if err != nil {
		t.Fatal(err)
	}
	return "/login/link/" + token
}

// docsPages are open to everybody; somebody who is signed in has a menu beside them.
func docsPages(i *inspector) {
	i.open("docs", "/docs", `#errors`)
	i.open("docs", "/docs?q=receipts", `[role="status"]`)
	i.open("method", "/docs/eth_getBlockReceipts", `#example`)
	i.open("types", "/docs/types", `#Receipt`)
	i.open("error", "/nothing/here", `h1`)
}

func keyPages(i *inspector, s *harness.Service) {
	SignIn(i, i.ctx, s)
	i.open("keys", "/keys", `form[action="/keys"]`)
	Do(i, i.ctx, chromedp.SendKeys(`#name`, "for axe"))
	i.submit("issued", `form[action="/keys"]`, `.secret`)
	key := Ask(i, i.ctx, chromedp.Evaluate[string](`document.querySelector(".secret a.button").getAttribute("href")`))
	i.open("key", key, `#tools`)
	Do(i, i.ctx, chromedp.Click(`#tools .tabs a[href*="storage"]`), chromedp.WaitVisible(`label[for="tool-storage-kubo"]`))
	i.check("key")
	i.open("keysettings", key+"/settings", `textarea[name="methods"]`)
	i.open("keyrotate", key+"/rotate", `input[name="sure"]`)
	Do(i, i.ctx, chromedp.Click(`input[name="sure"]`), chromedp.Click(`form[action$="/revoke"] button`), chromedp.WaitVisible(`.notice.good`))
	i.check("keys")
	i.open("key", key, `h1`) // revoked
}

func memberPages(i *inspector, s *harness.Service) {
	add(i.T, s, "a page for axe")
	folder := addFolder(i.T, s, "&wrap-with-directory=true", map[string]string{"note.txt": "a note", "more/deep.txt": "deep"})
	SignIn(i, i.ctx, s)
	i.open("overview", "/", `.grid`)
	i.open("usage", "/usage", `.chart`)
	i.open("try", "/try", `form[action="/try"]`)
	Do(i, i.ctx, chromedp.Click(`form[action="/try"] button.primary`), chromedp.WaitVisible(`#answer`))
	i.check("try")
	i.open("requests", "/requests", `table`)
	Do(i, i.ctx, chromedp.Click(`#list tbody a`), chromedp.WaitVisible(`#request`))
	i.check("requests")
	i.open("try", "/try?method=eth_subscribe", `[data-subscribe]`)
	i.open("usage", "/usage?stack=key&by=network", `.chart`)
	Do(i, i.ctx, chromedp.Click(`[data-palette]`), chromedp.WaitVisible(`.palette [data-path]`))
	i.reportIn(`document.querySelector(".palette")`, "usage", "the palette")
	i.open("file", "/files/open?cid="+folder, `#entries table`)
	i.open("file", "/files/open?path=note.txt&cid="+folder, `iframe`)
	i.open("folder", "/files/folder", `form[method="post"]`)
	i.open("pin", "/files/pin", `form[action="/files/pin"]`)
	i.open("files", "/files", `[data-pins] table`)
	Do(i, i.ctx, chromedp.Click(`form[action="/files/unpin"] button`), chromedp.WaitVisible(`#undo`))
	i.check("files")
	i.open("billing", "/billing", `#card-title`)
	i.open("account", "/account", `form[action="/account/password"]`)
	i.open("accountdelete", "/account/delete", `form[action="/account/delete"]`)
	docsPages(i)
}

func operatorPages(i *inspector, s *harness.Service) {
	SignIn(i, i.ctx, s)
	i.open("operator-networks", "/operator", `h1`)
	i.open("operator-traffic", "/operator/traffic", `table`)
	i.open("operator-accounts", "/operator/accounts", `table`)
	i.open("operator-account", "/operator/accounts/"+s.Server.FirstKey().Key.AccountID, `table`)
	i.submit("operator-link", `form[action$="/reset"]`, `.secret`)
	i.open("operator-audit", "/operator/audit", `table`)
	i.submit("operator-audit", `form[action="/operator/audit/verify"]`, `.notice`)
	i.open("operator-system", "/operator/system", `h1`)
}

// stripePages needs a server of its own, whose Stripe is here. Stripe's frame is not
// part of the check: it belongs to Stripe.
func stripePages(i *inspector, _ *harness.Service) {
	stripe := httptest.NewServer(http.HandlerFunc(fakeStripe))
	i.Cleanup(stripe.Close)
	s := harness.Start(i, func(c *config.Config) {
		c.Payment = config.Payment{Processor: "stripe", StripeKey: "sk_test_hidden", StripePublicKey: "pk_test_shown", StripeURL: stripe.URL}
	})
	i.base = localhost(s.RPC)
	SignIn(i, i.ctx, s)
	i.open("billing", "/billing", `form[action="/billing/card/begin"]`)
	i.submit("billing-stripe", `form[action="/billing/card/begin"]`, `#stripe-form`)
}

// fakeStripe knows as much of Stripe as the page with its form needs.
func fakeStripe(w http.ResponseWriter, req *http.Request) {
	switch req.Method + " " + req.URL.Path {
	case "GET /v1/customers":
		_, _ = w.Write([]byte(`{"object": "list", "data": []}`))
	case "POST /v1/customers":
		_, _ = w.Write([]byte(`{"id": "cus_1", "object": "customer"}`))
	case "POST /v1/setup_intents":
		_, _ = w.Write([]byte(`{"id": "seti_1", "object": "setup_intent", "client_secret": "seti_1_secret_x"}`))
	default:
		http.NotFound(w, req)
	}
}
