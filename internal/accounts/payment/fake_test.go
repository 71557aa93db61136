package payment

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

const (
	secretKey    = "sk_test_swordfish"
	clientSecret = "seti_1_secret_hunter2"
	customerMail = "a@example.com"
)

// call is one request that the stand-in for Stripe got.
type call struct {
	Line        string // method and path
	Query, Form url.Values
	Header      http.Header
}

// fakeStripe answers with what Stripe was seen to answer, changed by the test.
type fakeStripe struct {
	mu     sync.Mutex
	calls  []call
	answer map[string]func(n int) (int, any) // by method and path; n counts from 1
	seen   map[string]int
}

func newFake(t *testing.T) (*fakeStripe, *Stripe) {
	t.Helper()
	f := &fakeStripe{seen: map[string]int{}}
	f.answer = map[string]func(int) (int, any){
		"GET /v1/customers":                    always(200, object{"object": "list", "data": []any{}, "has_more": false}),
		"POST /v1/customers":                   always(200, customerObject("cus_1", "a1")),
		"POST /v1/setup_intents":               always(200, intentObject(nil)),
		"GET /v1/setup_intents/seti_1":         always(200, intentObject(nil)),
		"GET /v1/payment_methods/pm_1":         always(200, methodObject(nil)),
		"POST /v1/payment_methods/pm_1/detach": always(200, methodObject(object{"customer": nil})),
	}
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return f, NewStripe(StripeConfig{SecretKey: secretKey, PublicKey: "pk_test_1", URL: srv.URL, HTTP: srv.Client()})
}

func (f *fakeStripe) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	line := r.Method + " " + r.URL.Path
	f.mu.Lock()
	f.calls = append(f.calls, call{line, r.URL.Query(), form, r.Header})
	f.seen[line]++
	n, answer := f.seen[line], f.answer[line]
	f.mu.Unlock()
	status, value := 404, any(errorObject("invalid_request_error", "resource_missing"))
	if answer != nil {
		status, value = answer(n)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Request-Id", "req_1")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(value); err != nil {
		panic(fmt.Sprintf("the answer is no JSON: %v", err))
	}
}

// of lists the requests of one kind.
func (f *fakeStripe) of(line string) []call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []call
	for _, c := range f.calls {
		if c.Line == line {
			list = append(list, c)
		}
	}
	return list
}

type object = map[string]any

func always(status int, value any) func(int) (int, any) {
	return func(int) (int, any) { return status, value }
}

func with(base, changes object) object {
	for k, v := range changes {
		base[k] = v
	}
	return base
}

func customerObject(id, account string) object {
	return object{"id": id, "object": "customer", "email": customerMail, "livemode": false, "metadata": object{"account_id": account}}
}

func intentObject(changes object) object {
	return with(object{
		"id": "seti_1", "object": "setup_intent", "client_secret": clientSecret, "customer": "cus_1",
		"metadata": object{"account_id": "a1"}, "payment_method": "pm_1", "payment_method_types": []string{"card"},
		"status": "succeeded", "usage": "off_session", "last_setup_error": nil, "livemode": false,
	}, changes)
}

func methodObject(changes object) object {
	return with(object{
		"id": "pm_1", "object": "payment_method", "type": "card", "customer": "cus_1", "livemode": false,
		"card": object{"brand": "visa", "last4": "4242", "exp_month": 8, "exp_year": 2090, "funding": "credit", "fingerprint": "AOB934RV"},
	}, changes)
}

func errorObject(kind, code string) object {
	return object{"error": object{"type": kind, "code": code, "message": "No such thing: " + secretKey, "setup_intent": intentObject(nil)}}
}
