package payment

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestStripeMock sends every kind of request to stripe-mock, which checks it
// against Stripe's published description of the API. It keeps nothing, so what
// comes of the answers is tested elsewhere.
func TestStripeMock(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("builds stripe-mock")
	}
	p := &mockProxy{}
	s := NewStripe(StripeConfig{SecretKey: "sk_test_123", PublicKey: "pk_test_1", URL: p.start(t, startMock(t))})

	setup, err := s.Begin(t.Context(), "a1", customerMail)
	if err != nil || !strings.HasPrefix(setup.ClientSecret, "seti_") {
		t.Fatalf("Begin: %+v, %v", setup, err)
	}
	card, err := s.Complete(t.Context(), nodegate.CardEntry{AccountID: "a1", SetupID: setup.ID})
	if err != nil || card.Brand != "visa" || card.LastFour != "4242" || !card.Valid(time.Now()) {
		t.Fatalf("Complete: %+v, %v", card, err)
	}
	if err := s.Remove(t.Context(), card); err != nil {
		t.Fatalf("Remove: %v", err)
	}
	want := []string{
		"GET /v1/customers 200", "POST /v1/customers 200", "POST /v1/setup_intents 200",
		"GET /v1/setup_intents/" + setup.ID + " 200", "GET /v1/payment_methods/pm_1 200", "POST /v1/payment_methods/pm_1/detach 200",
	}
	if !slices.Equal(p.seen, want) {
		t.Errorf("the requests were\n%s\nwant\n%s", strings.Join(p.seen, "\n"), strings.Join(want, "\n"))
	}
}

// TestStripeMockBites makes sure that stripe-mock refuses a wrong shape.
func TestStripeMockBites(t *testing.T) {
	full.Slow(t)
	if testing.Short() {
		t.Skip("builds stripe-mock")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, startMock(t)+"/v1/setup_intents", strings.NewReader("usage=off_session&no_such=1"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer sk_test_123")
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("status %d, want 400", res.StatusCode)
	}
}

// mockProxy stands before stripe-mock. It notes the requests, and puts into the
// answers what stripe-mock has no memory for: whose they are, and that all is well.
type mockProxy struct {
	mu   sync.Mutex
	seen []string
}

func (p *mockProxy) start(t *testing.T, mock string) string {
	t.Helper()
	target, err := url.Parse(mock)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target) },
		ModifyResponse: p.change,
	}
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv.URL
}

func (p *mockProxy) change(res *http.Response) error {
	p.mu.Lock()
	p.seen = append(p.seen, fmt.Sprintf("%s %s %d", res.Request.Method, res.Request.URL.Path, res.StatusCode))
	p.mu.Unlock()
	answer := object{}
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		return err
	}
	switch answer["object"] {
	case "setup_intent":
		with(answer, object{"customer": "cus_1", "metadata": object{"account_id": "a1"}, "payment_method": "pm_1", "status": "succeeded"})
	case "payment_method":
		with(answer, object{"customer": "cus_1"})
		with(answer["card"].(object), object{"exp_year": 2090})
	}
	text, err := json.Marshal(answer)
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(text))
	res.ContentLength = int64(len(text))
	res.Header.Set("Content-Length", fmt.Sprint(len(text)))
	return nil
}

// startMock builds stripe-mock and runs it on a free port.
func startMock(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "stripe-mock")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "github.com/stripe/stripe-mock")
	build.Dir = "../../../tools/stripemock"
	if out, err := build.CombinedOutput(); err != nil {
		t.Skipf("stripe-mock can't be built here, so the requests are not checked against Stripe's description: %v\n%s", err, out)
	}
	ctx, stop := context.WithCancel(context.Background())
	run := exec.CommandContext(ctx, binary, "-http-addr", "127.0.0.1:0", "-https-addr", "127.0.0.1:0")
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(); _ = run.Wait() })
	return mockAddress(t, out)
}

// mockAddress reads what stripe-mock says of itself, and goes on reading so that
// it never waits for us.
func mockAddress(t *testing.T, out io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "Listening for HTTP at address: "); ok {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://" + addr
		}
	}
	t.Fatalf("stripe-mock does not say where it listens: %v", lines.Err())
	return ""
}
