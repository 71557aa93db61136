package dashboard_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dashboard"
	"github.com/nodegate/nodegate/test/harness"
)

// withStripe starts a server whose cards Stripe verifies, and signs a member up.
func withStripe(t *testing.T, api string) (*harness.Service, *dashboard.Visitor) {
	t.Helper()
	s := harness.Start(t, func(c *config.Config) {
		devnetOnly(c)
		c.Payment = config.Payment{Processor: "stripe", StripeKey: "sk_test_hidden", StripePublicKey: "pk_test_shown", StripeURL: api}
	})
	v := dashboard.Visit(t, s)
	v.SignUp("ann@example.com")
	return s, v
}

// stripe answers as Stripe does for one customer.
type stripe struct {
	mu      sync.Mutex
	account string // of the latest set-up
	removed []string
}

func (s *stripe) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	type object = map[string]any
	s.mu.Lock()
	defer s.mu.Unlock()
	var answer object
	switch req.Method + " " + req.URL.Path {
	case "GET /v1/customers":
		answer = object{"object": "list", "data": []any{}}
	case "POST /v1/customers":
		answer = object{"id": "cus_1", "object": "customer"}
	case "POST /v1/setup_intents":
		s.account = req.FormValue("metadata[account_id]")
		answer = object{"id": "seti_1", "object": "setup_intent", "client_secret": "seti_1_secret_x"}
	case "GET /v1/setup_intents/seti_1", "GET /v1/setup_intents/seti_2":
		owner := map[bool]string{true: s.account, false: "a-other"}[strings.HasSuffix(req.URL.Path, "_1")]
		answer = object{"id": "seti_1", "object": "setup_intent", "status": "succeeded", "customer": "cus_1", "payment_method": "pm_1", "metadata": object{"account_id": owner}}
	case "GET /v1/payment_methods/pm_1":
		answer = object{"id": "pm_1", "object": "payment_method", "type": "card", "customer": "cus_1",
			"card": object{"brand": "amex", "last4": "0005", "exp_month": 11, "exp_year": time.Now().Year() + 2}}
	case "POST /v1/payment_methods/pm_1/detach":
		s.removed = append(s.removed, "pm_1")
		answer = object{"id": "pm_1", "object": "payment_method"}
	default:
		w.WriteHeader(http.StatusNotFound)
		answer = object{"error": object{"type": "invalid_request_error", "code": "resource_missing"}}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

// TestStripe goes through the pages around Stripe's own form.
func TestStripe(t *testing.T) {
	api := &stripe{}
	remote := httptest.NewServer(api)
	t.Cleanup(remote.Close)
	_, v := withStripe(t, remote.URL)
	p := v.Get("/billing")
	wants(t, "at first", p, 200, `action="/billing/card/begin"`, "No card yet")
	if strings.Contains(p.Body, "js.stripe.com") || strings.Contains(p.Body, `name="number"`) || strings.Contains(p.Header.Get("Content-Security-Policy"), "stripe") {
		t.Error("the page of the card is Stripe's already, or has a form of its own")
	}
	p = v.Post("/billing/card/begin", nil)
	wants(t, "Stripe's form", p, 200, `data-key="pk_test_shown"`, `data-secret="seti_1_secret_x"`, `name="setup" value="seti_1"`, `src="https://js.stripe.com/v3/"`, "requires JavaScript")
	if !strings.Contains(p.Header.Get("Content-Security-Policy"), "https://js.stripe.com") || strings.Contains(p.Body, "sk_test") {
		t.Errorf("policy %q, or the secret key on the page", p.Header.Get("Content-Security-Policy"))
	}
	wants(t, "somebody else's set-up", v.Post("/billing/card", url.Values{"setup": {"seti_2"}}), 422, "setup is unknown")
	wants(t, "a number", v.Post("/billing/card", cardForm("4242424242424242")), 422, "setup is unknown")
	wants(t, "its own", v.Post("/billing/card", url.Values{"setup": {"seti_1"}}), 303)
	wants(t, "with it", v.Get("/billing"), 200, "<strong>amex</strong> ending in 0005", "Replace card")
	wants(t, "removing", v.Post("/billing/card/remove", nil), 303)
	api.mu.Lock()
	defer api.mu.Unlock()
	if len(api.removed) != 1 {
		t.Errorf("Stripe was told %v", api.removed)
	}
}

// stripeScript stands in for Stripe's own: it takes the form's keys, and has the card
// typed in and sent by itself.
const stripeScript = `
window.Stripe = function (key) {
  return {
    elements: function () {
      return { create: function () {
        return { on: function () {}, mount: function (at) { document.querySelector(at).textContent = key; } };
      } };
    },
    confirmCardSetup: function (secret) {
      return Promise.resolve(secret === "seti_1_secret_x" ? {} : { error: { message: "another secret" } });
    },
  };
};
addEventListener("load", function () { document.querySelector("#stripe-form button").click(); });
`

// TestStripeInABrowser runs the page's own script in Chromium, under the page's policy,
// with a stand-in for the script of js.stripe.com.
func TestStripeInABrowser(t *testing.T) {
	chromium, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("chromium is not installed: apt-get install chromium")
	}
	api, script := httptest.NewServer(&stripe{}), httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		_, _ = w.Write([]byte(stripeScript))
	}))
	t.Cleanup(api.Close)
	t.Cleanup(script.Close)
	s, v := withStripe(t, api.URL)
	front := httptest.NewServer(signedIn(t, s.RPC, "__Host-session="+v.Cookie))
	t.Cleanup(front.Close)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, chromium, "--headless", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors", "--user-data-dir="+t.TempDir(),
		"--host-resolver-rules=MAP js.stripe.com "+strings.TrimPrefix(script.URL, "https://"), "--virtual-time-budget=10000", "--dump-dom", front.URL+"/begin").Output()
	if err != nil || !strings.Contains(string(out), "Card added.") || !strings.Contains(string(out), "<strong>amex</strong> ending in 0005") {
		t.Errorf("the browser ends at %s, %v", out, err)
	}
}

// signedIn stands before a server for a browser without a cookie. Its address /begin is
// the button that begins.
func signedIn(t *testing.T, server, cookie string) http.Handler {
	t.Helper()
	target, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		r.Out.Host = r.In.Host // the browser's origin is this one
		r.Out.Header.Set("Cookie", cookie)
		if r.In.URL.Path == "/begin" {
			r.Out.Method, r.Out.URL.Path = http.MethodPost, "/billing/card/begin"
			r.Out.Header.Set("Sec-Fetch-Site", "same-origin")
		}
	}}
}
