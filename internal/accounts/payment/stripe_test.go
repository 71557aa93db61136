package payment

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

func TestStripeBegin(t *testing.T) {
	f, s := newFake(t)
	got, err := s.Begin(t.Context(), "a1", customerMail)
	want := nodegate.CardSetup{ID: "seti_1", ClientSecret: clientSecret, PublicKey: "pk_test_1"}
	if err != nil || got != want {
		t.Fatalf("got %+v, %v; want %+v", got, err, want)
	}
	made := f.of("POST /v1/customers")
	if len(made) != 1 || made[0].Form.Get("metadata[account_id]") != "a1" || made[0].Form.Get("email") != customerMail {
		t.Errorf("customers were made like %+v", made)
	}
	intent := f.of("POST /v1/setup_intents")[0]
	wantForm := map[string][]string{
		"customer": {"cus_1"}, "usage": {"off_session"}, "payment_method_types[0]": {"card"}, "metadata[account_id]": {"a1"},
	}
	if diff := cmp.Diff(wantForm, map[string][]string(intent.Form)); diff != "" {
		t.Errorf("the setup (-want +got):\n%s", diff)
	}
}

// TestStripeReusesTheCustomer takes the account's own, not another's with the
// same address.
func TestStripeReusesTheCustomer(t *testing.T) {
	f, s := newFake(t)
	f.answer["GET /v1/customers"] = always(200, object{"object": "list", "data": []any{
		customerObject("cus_8", "a2"), customerObject("cus_9", "a1"),
	}})
	if _, err := s.Begin(t.Context(), "a1", customerMail); err != nil {
		t.Fatal(err)
	}
	if n := len(f.of("POST /v1/customers")); n != 0 {
		t.Errorf("%d customers were made, want none", n)
	}
	if got := f.of("POST /v1/setup_intents")[0].Form.Get("customer"); got != "cus_9" {
		t.Errorf("the setup is for %s, want cus_9", got)
	}
	if q := f.of("GET /v1/customers")[0].Query; q.Get("email") != customerMail || q.Get("limit") != "100" {
		t.Errorf("the search was %v", q)
	}
}

// TestStripeHeaders wants idempotency keys that tie tries together and nothing
// about this machine.
func TestStripeHeaders(t *testing.T) {
	f, s := newFake(t)
	for _, account := range []string{"a1", "a1", "a2"} {
		if _, err := s.Begin(t.Context(), account, customerMail); err != nil {
			t.Fatal(err)
		}
	}
	keys := func(line string) (keys []string) {
		for _, c := range f.of(line) {
			keys = append(keys, c.Header.Get("Idempotency-Key"))
		}
		return keys
	}
	// The hour may change between the first two, so only the accounts are compared.
	if k := keys("POST /v1/customers"); k[0] == "" || k[2] == "" || k[1] == k[2] {
		t.Errorf("the keys for customers are %q", k)
	}
	if k := keys("POST /v1/setup_intents"); k[0] == "" || k[0] == k[1] || k[1] == k[2] {
		t.Errorf("the keys for setups are %q", k)
	}
	for _, c := range f.calls {
		if c.Header.Get("Authorization") != "Bearer "+secretKey || c.Header.Get("User-Agent") != "nodegate" {
			t.Errorf("%s has the headers %v", c.Line, c.Header)
		}
		for name := range c.Header {
			if strings.HasPrefix(name, "X-Stripe-Client") {
				t.Errorf("%s tells %s", c.Line, name)
			}
		}
	}
}

func TestStripeComplete(t *testing.T) {
	_, s := newFake(t)
	got, err := s.Complete(t.Context(), nodegate.CardEntry{AccountID: "a1", SetupID: "seti_1"})
	if err != nil {
		t.Fatal(err)
	}
	want := &nodegate.Card{Brand: "visa", LastFour: "4242", ExpMonth: 8, ExpYear: 2090, Processor: "stripe", Reference: "cus_1/pm_1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestStripeCompleteRefuses(t *testing.T) {
	const getIntent, getMethod = "GET /v1/setup_intents/seti_1", "GET /v1/payment_methods/pm_1"
	cardError := object{"type": "card_error", "code": "card_declined", "decline_code": "lost_card", "message": "Your card was declined."}
	expired := object{"card": object{"brand": "visa", "last4": "4242", "exp_month": 8, "exp_year": 2020}}
	for _, c := range []struct {
		name, line string
		status     int
		answer     any
		code       nodegate.Code
		says       string
	}{
		{"declined", getIntent, 200, intentObject(object{"status": "requires_payment_method", "last_setup_error": cardError}), nodegate.CardDeclined, "Your card was declined."},
		{"no card yet", getIntent, 200, intentObject(object{"status": "requires_payment_method", "payment_method": nil}), nodegate.CardDeclined, "declined"},
		{"processing", getIntent, 200, intentObject(object{"status": "processing"}), nodegate.CardDeclined, "still being checked"},
		{"canceled", getIntent, 200, intentObject(object{"status": "canceled"}), nodegate.CardDeclined, "canceled"},
		{"challenge open", getIntent, 200, intentObject(object{"status": "requires_action"}), nodegate.CardDeclined, "not confirmed"},
		{"a status of the future", getIntent, 200, intentObject(object{"status": "dancing"}), nodegate.CardDeclined, "start over"},
		{"succeeded without a card", getIntent, 200, intentObject(object{"payment_method": nil}), nodegate.CardDeclined, "no card"},
		{"another account's", getIntent, 200, intentObject(object{"metadata": object{"account_id": "a2"}}), nodegate.InvalidInput, "unknown"},
		{"nobody's", getIntent, 200, intentObject(object{"metadata": object{}}), nodegate.InvalidInput, "unknown"},
		{"no customer", getIntent, 200, intentObject(object{"customer": nil}), nodegate.InvalidInput, "unknown"},
		{"not there", getIntent, 404, errorObject("invalid_request_error", "resource_missing"), nodegate.InvalidInput, "unknown"},
		{"an empty answer", getIntent, 200, object{}, nodegate.InvalidInput, "unknown"},
		{"expired", getMethod, 200, methodObject(expired), nodegate.CardDeclined, "expired"},
		{"removed", getMethod, 200, methodObject(object{"customer": nil}), nodegate.CardDeclined, "removed"},
		{"moved", getMethod, 200, methodObject(object{"customer": "cus_2"}), nodegate.CardDeclined, "removed"},
		{"gone", getMethod, 404, errorObject("invalid_request_error", "resource_missing"), nodegate.CardDeclined, "removed"},
		{"no card but a bank", getMethod, 200, methodObject(object{"type": "sepa_debit", "card": nil}), nodegate.CardDeclined, "only cards"},
		{"our key is refused", getIntent, 401, errorObject("invalid_request_error", "api_key_expired"), nodegate.Internal, "stripe_key"},
		{"Stripe fails", getIntent, 500, errorObject("api_error", ""), nodegate.Busy, "later"},
		{"a lock at Stripe", getIntent, 409, errorObject("idempotency_error", ""), nodegate.Busy, "later"},
		{"too many requests", getIntent, 429, errorObject("invalid_request_error", "rate_limit"), nodegate.Busy, "later"},
		{"no JSON object", getIntent, 200, "hello", nodegate.InvalidInput, "unknown"},
		{"a list", getIntent, 200, []int{1}, nodegate.Busy, "later"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, s := newFake(t)
			f.answer[c.line] = always(c.status, c.answer)
			card, err := s.Complete(t.Context(), nodegate.CardEntry{AccountID: "a1", SetupID: "seti_1"})
			if card != nil || !errors.Is(err, c.code) || !strings.Contains(nodegate.AsError(err).Msg, c.says) {
				t.Fatalf("got %v, %v; want %v that says %q", card, err, c.code, c.says)
			}
			checkSilent(t, err)
		})
	}
}

// checkSilent looks at everything that the log would get.
func checkSilent(t *testing.T, err error) {
	t.Helper()
	for _, secret := range []string{secretKey, clientSecret, customerMail, "fingerprint"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error tells %q: %v", secret, err)
		}
	}
}

// TestStripeSetupID asks Stripe nothing about what can't be a setup.
func TestStripeSetupID(t *testing.T) {
	f, s := newFake(t)
	for _, id := range []string{"", "seti_", "pi_1", "seti_1/../../customers", "seti_1?expand=x", "seti_1\n", "seti_" + strings.Repeat("1", 200)} {
		if _, err := s.Complete(t.Context(), nodegate.CardEntry{AccountID: "a1", SetupID: id}); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if _, err := s.Complete(t.Context(), nodegate.CardEntry{SetupID: "seti_1"}); !errors.Is(err, nodegate.InvalidInput) {
		t.Errorf("no account: %v", err)
	}
	if len(f.calls) != 0 {
		t.Errorf("%d requests went out", len(f.calls))
	}
}

func TestStripeRemove(t *testing.T) {
	const detach, get = "POST /v1/payment_methods/pm_1/detach", "GET /v1/payment_methods/pm_1"
	refusal := always(400, errorObject("invalid_request_error", ""))
	card := &nodegate.Card{Processor: "stripe", Reference: "cus_1/pm_1"}
	for _, c := range []struct {
		name   string
		detach func(int) (int, any)
		get    func(int) (int, any)
		card   *nodegate.Card
		want   error
		asked  int
	}{
		{"there", always(200, methodObject(object{"customer": nil})), nil, card, nil, 1},
		{"gone", always(404, errorObject("invalid_request_error", "resource_missing")), nil, card, nil, 1},
		{"removed before", refusal, always(200, methodObject(object{"customer": nil})), card, nil, 1},
		{"refused", refusal, always(200, methodObject(nil)), card, nodegate.Internal, 1},
		{"busy", always(429, errorObject("invalid_request_error", "rate_limit")), nil, card, nodegate.Busy, 1},
		{"of the test processor", nil, nil, &nodegate.Card{Processor: "test", Reference: "test_card_1"}, nil, 0},
		{"no card", nil, nil, nil, nil, 0},
		{"a bad reference", nil, nil, &nodegate.Card{Processor: "stripe", Reference: "pm_1"}, nodegate.Internal, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, s := newFake(t)
			f.answer[detach], f.answer[get] = c.detach, c.get
			err := s.Remove(t.Context(), c.card)
			if c.want == nil && err != nil || c.want != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if n := len(f.of(detach)); n != c.asked {
				t.Errorf("asked %d times, want %d", n, c.asked)
			}
		})
	}
}

// TestStripeTriesAgain survives two failures on the way to Stripe, and sends the
// same key each time. (What Stripe itself answers, the library takes as final.)
func TestStripeTriesAgain(t *testing.T) {
	full.Slow(t)
	f, s := newFake(t)
	f.answer["POST /v1/setup_intents"] = func(n int) (int, any) {
		if n < 3 {
			return 503, "no healthy upstream"
		}
		return 200, intentObject(nil)
	}
	if _, err := s.Begin(t.Context(), "a1", customerMail); err != nil {
		t.Fatal(err)
	}
	tries := f.of("POST /v1/setup_intents")
	if len(tries) != 3 {
		t.Fatalf("%d tries, want 3", len(tries))
	}
	for _, try := range tries {
		if got, want := try.Header.Get("Idempotency-Key"), tries[0].Header.Get("Idempotency-Key"); got != want || got == "" {
			t.Errorf("the keys %q and %q differ", got, want)
		}
	}
}

// TestStripeOut has no Stripe to talk to: everything is Busy, says when to come
// back, is over in time, and prints nothing.
func TestStripeOut(t *testing.T) {
	full.Slow(t)
	printed := stderrFile(t)
	closed := httptest.NewServer(http.NotFoundHandler())
	closed.Close()
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(hung.Close)
	t.Cleanup(sync.OnceFunc(func() { close(release) }))
	endless := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for junk := bytes.Repeat([]byte("x"), 64<<10); ; {
			if _, err := w.Write(junk); err != nil {
				return
			}
		}
	}))
	t.Cleanup(endless.Close)
	html := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "<html>bad gateway", http.StatusBadGateway)
	}))
	t.Cleanup(html.Close)
	elsewhere := httptest.NewServer(http.RedirectHandler(hung.URL, http.StatusFound))
	t.Cleanup(elsewhere.Close)

	for name, url := range map[string]string{"closed": closed.URL, "hung": hung.URL, "endless": endless.URL, "no JSON": html.URL, "redirect": elsewhere.URL} {
		t.Run(name, func(t *testing.T) {
			s := NewStripe(StripeConfig{SecretKey: secretKey, URL: url, HTTP: &http.Client{Timeout: 200 * time.Millisecond}})
			_, err := s.Begin(t.Context(), "a1", customerMail) // one that never ends is found by the test's time
			if !errors.Is(err, nodegate.Busy) || nodegate.AsError(err).RetryAfter <= 0 {
				t.Fatalf("got %v, want Busy with a time", err)
			}
			checkSilent(t, err)
		})
	}
	if text := printed(); text != "" {
		t.Errorf("the library printed %q", text)
	}
}

// TestStripeGivesUp ends with the caller's own time.
func TestStripeGivesUp(t *testing.T) {
	release := make(chan struct{})
	hung := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	defer hung.Close()
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	start := time.Now()
	err := NewStripe(StripeConfig{SecretKey: secretKey, URL: hung.URL}).Remove(ctx, &nodegate.Card{Processor: "stripe", Reference: "cus_1/pm_1"})
	if !errors.Is(err, nodegate.Busy) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > tryTime-time.Second {
		t.Errorf("it took %v", took)
	}
}

// stderrFile catches what a library prints past us.
func stderrFile(t *testing.T) (printed func() string) {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	kept := os.Stderr
	os.Stderr = file
	t.Cleanup(func() { os.Stderr = kept; file.Close() })
	return func() string {
		text, err := os.ReadFile(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
}
