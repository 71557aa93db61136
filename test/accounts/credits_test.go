package accounts_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// TestCosts makes each call once and finds its price in the usage.
func TestCosts(t *testing.T) {
	t.Parallel()
	const at, hash = `"0x0000000000000000000000000000000000000001"`, `"0x0100000000000000000000000000000000000000000000000000000000000000"`
	s := shared(t)
	for _, c := range []struct {
		network, method, params, row string
		credits                      int64
	}{
		{"devnet", "eth_getStorageAt", `[` + at + `,"0x0","latest"]`, "eth_getStorageAt ok", 80},
		{"devnet", "eth_getProof", `[` + at + `,[],"latest"]`, "eth_getProof ok", 150},
		{"devnet", "eth_getTransactionByHash", `[` + hash + `]`, "eth_getTransactionByHash ok", 80},
		{"devnet", "eth_getTransactionByBlockHashAndIndex", `[` + hash + `,"0x0"]`, "eth_getTransactionByBlockHashAndIndex ok", 150},
		{"devnet", "eth_getTransactionReceipt", `[` + hash + `]`, "eth_getTransactionReceipt ok", 80},
		{"devnet", "eth_getBlockReceipts", `["latest"]`, "eth_getBlockReceipts ok", 1000},
		{"devnet", "eth_call", `[{"to":` + at + `},"latest"]`, "eth_call ok", 80},
		{"devnet", "eth_estimateGas", `[{"to":` + at + `}]`, "eth_estimateGas ok", 300},
		{"rollup", "layer2_estimateGas", `[{}]`, "layer2_estimateGas ok", 100},
		{"rollup", "linea_estimateGas", `[{}]`, "layer2_estimateGas ok", 100},
		{"devnet", "eth_getLogs", `[{"address":` + at + `}]`, "eth_getLogs ok", 255},
		{"devnet", "eth_chainId", `[]`, "eth_chainId ok", 5},
		{"devnet", "net_version", `[]`, "net_version ok", 5},
		{"devnet", "eth_sendRawTransaction", `["0x01"]`, "eth_sendRawTransaction execution failed", 80},
		{"devnet", "eth_blockNumber", `[]`, "eth_blockNumber ok", 80},
		{"devnet", "eth_getBalance", `[]`, "eth_getBalance invalid params", 80},
		{"devnet", "eth_getBlockTransactionCountByNumber", `["latest"]`, "other ok", 80},
		{"devnet", "eth_nope", `[]`, "other method not found", 160},
		{"devnet", "admin_peers", `[]`, "other method not found", 160},
		{"devnet", "layer2_estimateGas", `[{}]`, "layer2_estimateGas method not found", 160},
	} {
		t.Run(c.network+" "+c.method, func(t *testing.T) {
			k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
			send(t, s.URL(c.network, k.key), callOf(c.method, c.params))
			ask(t, dial(t, s.WS(c.network, k.key)), callOf(c.method, c.params))
			want := map[string]line{c.network + " " + c.row: {2, 2 * c.credits}}
			if got := k.usage(t, 2); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("usage is %v, want %v", got, want)
			}
		})
	}
}

// TestCostsBesideCalls: subscriptions, notifications, and what is refused before or
// instead of a call.
func TestCostsBesideCalls(t *testing.T) {
	t.Parallel()
	s := shared(t)
	big := `{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":["` + strings.Repeat("x", 5<<20) + `"]}`
	for _, c := range []struct {
		name   string
		do     func(t *testing.T, k *tenant) reply
		status int
		row    string
		want   line
	}{
		{"subscription", func(t *testing.T, k *tenant) reply {
			return ask(t, dial(t, k.ws()), callOf("eth_subscribe", `["syncing"]`)) // which has no events: they are charged too
		}, 0, "eth_subscribe ok", line{1, 5}},
		{"notification", func(t *testing.T, k *tenant) reply {
			return send(t, k.url, `{"jsonrpc":"2.0","method":"eth_blockNumber"}`)
		}, 204, "eth_blockNumber ok", line{1, 80}},
		{"only notifications", func(t *testing.T, k *tenant) reply {
			return send(t, k.url, `[{"jsonrpc":"2.0","method":"eth_chainId"},{"jsonrpc":"2.0","method":"eth_chainId"}]`)
		}, 204, "eth_chainId ok", line{2, 10}},
		{"not JSON", func(t *testing.T, k *tenant) reply { return send(t, k.url, `{`) }, 200, "other invalid request", line{1, 5}},
		{"not a request", func(t *testing.T, k *tenant) reply { return send(t, k.url, `{"jsonrpc":"2.0","id":1}`) }, 200, "other invalid request", line{1, 5}},
		{"content type", func(t *testing.T, k *tenant) reply {
			return rawPost(t, k, "text/plain", chainID)
		}, 415, "other media type", line{1, 5}},
		{"too large", func(t *testing.T, k *tenant) reply { return send(t, k.url, big) }, 413, "other too large", line{1, 5}},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newTenant(t, s, "unlimited", nodegate.KeySettings{})
			if r := c.do(t, k); r.status != c.status {
				t.Errorf("status %d, want %d: %s", r.status, c.status, r.body)
			}
			want := map[string]line{"devnet " + c.row: c.want}
			if got := k.usage(t, c.want.requests); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("usage is %v, want %v", got, want)
			}
		})
	}
}

func rawPost(t *testing.T, k *tenant, kind, body string) reply {
	t.Helper()
	c := rawDial(t, k.svc)
	fmt.Fprintf(c, "POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s", k.key, kind, len(body), body)
	return c.read(t)
}

// TestBatchCosts: a batch costs the sum of its elements, and is refused whole.
func TestBatchCosts(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "slow", nodegate.KeySettings{})
	batch := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(balance+",", n), ",") + "]" }
	r := send(t, k.url, batch(13)) // 1,040 credits do not fit into 1,000
	e := r.want(t, 200, -32600, "batch too large: it costs 1040 credits and at most 1000 can be spent at once; its first 12 requests fit", "null")
	if e.Data != nil {
		t.Errorf("data %s", e.Data)
	}
	var answers []json.RawMessage
	r = send(t, k.url, batch(10)) // 800
	if err := json.Unmarshal([]byte(r.body), &answers); err != nil || len(answers) != 10 || r.status != 200 {
		t.Fatalf("%d %s", r.status, r.body)
	}
	for _, url := range []string{"http", "more"} {
		var header []string
		if url == "more" {
			header = []string{"X-Other", "1"}
		}
		checkRate(t, k, send(t, k.url, batch(3), header...), 429, 1, 40, "null") // 240, of which 200 are left
	}
	checkRate(t, k, ask(t, dial(t, k.ws()), batch(3)), 0, 1, 40, "null")
	send(t, k.url, batch(2)).wantBatch(t, 2)
	lines := k.usage(t, 10+2+13+3*3) // refused batches count their calls too
	if got := lines["devnet eth_getBalance ok"]; got != (line{12, 960}) {
		t.Errorf("admitted: %+v", got)
	}
	if got := lines["devnet eth_getBalance rate limited"]; got != (line{9, 0}) {
		t.Errorf("refused: %+v", got)
	}
}

func (r reply) wantBatch(t *testing.T, n int) {
	t.Helper()
	var answers []json.RawMessage
	if err := json.Unmarshal([]byte(r.body), &answers); err != nil || len(answers) != n || r.status != 200 {
		t.Errorf("got %d %s, want %d answers", r.status, r.body, n)
	}
}

// checkRate checks a refusal of a tenant by the rate, and returns its backoff. Credits have
// come back since the tenant was made, so the backoff may be that much less.
func checkRate(t *testing.T, k *tenant, r reply, status int, rate, most int64, id string) time.Duration {
	t.Helper()
	e := r.want(t, status, -32005, "rate limit exceeded", id)
	var data struct {
		Rate struct {
			Allowed *int64 `json:"allowed_credits_per_second"`
			Backoff int64  `json:"backoff_seconds"`
		} `json:"rate"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil || data.Rate.Allowed == nil {
		t.Fatalf("data %s: %v", e.Data, err)
	}
	if got := *data.Rate.Allowed; got != rate {
		t.Errorf("%d credits a second are allowed, want %d", got, rate)
	}
	passed := int64(time.Since(k.made).Seconds()) + 1
	backoff := data.Rate.Backoff
	if backoff > most || backoff < max(1, most-passed) {
		t.Errorf("backoff %d s, want at most %d, and %d s have passed", backoff, most, passed)
	}
	if status != 0 {
		checkRetryAfter(t, r, backoff)
	}
	return time.Duration(backoff) * time.Second
}

func checkRetryAfter(t *testing.T, r reply, backoff int64) {
	t.Helper()
	if want := fmt.Sprintf("0%d", backoff); r.header.Get("Retry-After") != want {
		t.Errorf("Retry-After is %q, want %q", r.header.Get("Retry-After"), want)
	}
	checkHeaders(t, r)
}

// TestRateLimit: 429 on both ways of HTTP, an envelope on a WebSocket, which stays
// open and works again after the backoff.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "slow", nodegate.KeySettings{})
	c := dial(t, k.ws())
	ask(t, c, callOf("eth_getBlockReceipts", `["latest"]`)).want(t, 0, 0, "", "7") // all 1,000
	path := "/devnet/v3/" + k.key
	for _, lines := range []string{"", "X-Other: 1\r\n"} {
		checkRate(t, k, rawDial(t, s).post(t, path, balance, lines), 429, 1, 80, "7")
	}
	checkRate(t, k, ask(t, c, balance), 0, 1, 80, "7")
	notice := `{"jsonrpc":"2.0","method":"eth_getBalance","params":[]}`
	if r := send(t, k.url, notice); r.status != 429 {
		t.Errorf("a notification over HTTP: %d %s", r.status, r.body)
	}
	write(t, c, notice) // has nobody to tell: the next answer is the next call's
	checkRate(t, k, ask(t, c, balance), 0, 1, 80, "7")
	if got := k.usage(t, 7)["devnet eth_getBalance rate limited"]; got != (line{6, 0}) {
		t.Errorf("refusals: %+v", got)
	}

	k = newTenant(t, s, "quick", nodegate.KeySettings{})
	c = dial(t, k.ws())
	ask(t, c, balance).want(t, 0, 0, "", "7")
	backoff := checkRate(t, k, send(t, k.url, balance), 429, 10, 6, "7") // 20 are left, and it costs 80
	time.Sleep(backoff)                                                  // is enough
	ask(t, c, balance).want(t, 0, 0, "", "7")
}

// TestKeyLimit: a key's own limits hold below its plan's.
func TestKeyLimit(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "unlimited", nodegate.KeySettings{CreditsPerSecond: 8}) // a bucket of 160
	send(t, k.url, balance).want(t, 200, 0, "", "7")
	send(t, k.url, balance).want(t, 200, 0, "", "7")
	checkRate(t, k, send(t, k.url, balance), 429, 8, 10, "7")
	k = newTenant(t, s, "daily", nodegate.KeySettings{CreditsPerDay: 100})
	send(t, k.url, balance).want(t, 200, 0, "", "7")
	checkDay(t, send(t, k.url, balance), 402, 100)
}

// TestDailyLimit: 402 without a Retry-After, an envelope on a WebSocket.
func TestDailyLimit(t *testing.T) {
	t.Parallel()
	s := shared(t)
	k := newTenant(t, s, "daily", nodegate.KeySettings{})
	c := dial(t, k.ws())
	for range 5 {
		ask(t, c, balance).want(t, 0, 0, "", "7")
	}
	path := "/devnet/v3/" + k.key
	for _, lines := range []string{"", "X-Other: 1\r\n"} {
		checkDay(t, rawDial(t, s).post(t, path, balance, lines), 402, 400)
	}
	checkDay(t, ask(t, c, balance), 0, 400)
	e := send(t, k.url, "["+balance+"]").want(t, 402, -32042, "daily credit limit reached", "null")
	if e.Code == 0 {
		t.Error("a batch passes")
	}
	if got := k.usage(t, 9)["devnet eth_getBalance credits spent"]; got != (line{4, 0}) {
		t.Errorf("refusals: %+v", got)
	}
	// The owner gets a larger plan: the open socket works on.
	patiently(t, func() error {
		return s.Server.Control().Accounts.SetPlan(t.Context(), actor, k.account, "unlimited")
	})
	until(t, "the new plan holds", func() bool {
		_, e := answerOf(t, ask(t, c, balance).body)
		return e.Code == 0
	})
}

func checkDay(t *testing.T, r reply, status int, limit int64) {
	t.Helper()
	e := r.want(t, status, -32042, "daily credit limit reached", "7")
	var data struct {
		Limit  int64     `json:"limit"`
		Resets time.Time `json:"resets_at"`
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		t.Fatalf("data %s: %v", e.Data, err)
	}
	midnight := data.Resets.UTC().Truncate(24 * time.Hour)
	if left := time.Until(data.Resets); data.Limit != limit || !data.Resets.Equal(midnight) || left > 24*time.Hour || left < -time.Minute {
		t.Errorf("data %s: want the limit %d and the next midnight in UTC", e.Data, limit)
	}
	if status != 0 {
		checkHeaders(t, r)
		if got := r.header.Get("Retry-After"); got != "" {
			t.Errorf("Retry-After %s: a client would try again", got)
		}
	}
}
