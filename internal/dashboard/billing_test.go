package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestCardNumberStaysAway: whatever is wrong with a card, what was typed comes back on
// no page and stands in no log.
func TestCardNumberStaysAway(t *testing.T) {
	d := newBooth(t, nil)
	a, member := d.person(t, "member@example.com", false)
	for _, c := range []struct {
		number, month, year, cvc string
		says                     string
	}{
		{"4012888888881881", "12", "2099", "987", "too far in the future"},
		{"4012 8888 8888 1881", "12", "34", "987", "test processor"},
		{"4012888888881882", "12", "34", "987", "typing error"},
		{"4012888888881881", "13", "34", "987", "month"},
		{"4012888888881881", "x", "34", "987", "month"},
		{"4012888888881881", "1", "20", "987", "expired"},
		{"4012888888881881", "1", "34", "98765", "security code"},
		{"4000000000000002", "1", "34", "987", "declined"},
		{strings.Repeat("4012888888881881", 50), "1", "34", "987", "12 to 19 digits"},
		{"", "", "", "", "12 to 19 digits"},
	} {
		got := d.ask(http.MethodPost, "/billing/card", member, url.Values{"number": {c.number}, "month": {c.month}, "year": {c.year}, "cvc": {c.cvc}})
		body := got.Body.String()
		if got.Code != http.StatusUnprocessableEntity || !strings.Contains(body, c.says) {
			t.Errorf("%+v: %d, says it not", c, got.Code)
		}
		for _, typed := range []string{"4012888888", "4012 8888", "4000000000000002", `"987`, ">987"} {
			if strings.Contains(body, typed) {
				t.Errorf("%+v: the page has %q", c, typed)
			}
		}
	}
	if got, err := d.store.Account(t.Context(), a.ID); err != nil || got.Card != nil {
		t.Errorf("the account has %+v, %v", got.Card, err)
	}
	if text := d.log.String(); strings.Contains(text, "4012") || strings.Contains(text, "4000000") {
		t.Errorf("the log has a number: %s", text)
	}
}

// TestPercent: a share reads the same on every page, and never hides a failure or the way
// that is left.
func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole int64
		want        string
	}{
		{0, 0, "0 %"}, {0, 10, "0 %"}, {-5, 10, "0 %"}, {75, 100, "75 %"}, {749, 1000, "74.9 %"}, {2, 3, "66.7 %"}, {1, 1_000_000, "under 0.1 %"},
		{999_999, 1_000_000, "over 99.9 %"}, {10, 10, "100 %"}, {2048, 1024, "200 %"}, {1 << 62, 1<<63 - 1, "50 %"},
	} {
		if got := percent(c.part, c.whole); got != c.want {
			t.Errorf("%d of %d: %q, want %q", c.part, c.whole, got, c.want)
		}
	}
}

// TestOnlyStripesPage lets another host's script in, and only where Stripe is used.
func TestOnlyStripesPage(t *testing.T) {
	d := newBooth(t, func(c *Config) { c.Stripe = true })
	_, member := d.person(t, "member@example.com", true)
	for _, r := range d.routes {
		method, path, _ := strings.Cut(r.pattern, " ")
		if method != http.MethodGet {
			continue
		}
		got := d.ask(method, strings.ReplaceAll(path, "{$}", ""), member, nil)
		if strings.Contains(got.Header().Get("Content-Security-Policy"), "stripe") {
			t.Errorf("%s allows Stripe", r.pattern)
		}
	}
	// The test processor stands behind this form: what counts is the page.
	got := d.ask(http.MethodPost, "/billing/card/begin", member, nil)
	policy := got.Header().Get("Content-Security-Policy")
	if got.Code != http.StatusOK || !strings.Contains(policy, "script-src 'self' https://js.stripe.com") || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
		t.Errorf("%d with the policy %q", got.Code, policy)
	}
	if body := got.Body.String(); !strings.Contains(body, "requires JavaScript") || !strings.Contains(body, "/stripe.js") {
		t.Errorf("the page is %s", body)
	}
	d = newBooth(t, nil)
	_, member = d.person(t, "member@example.com", false)
	got = d.ask(http.MethodPost, "/billing/card/begin", member, nil)
	if got.Code != http.StatusSeeOther || strings.Contains(got.Header().Get("Content-Security-Policy"), "stripe") {
		t.Errorf("the test processor: %d, %v", got.Code, got.Header())
	}
}
