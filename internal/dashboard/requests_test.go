package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
)

// TestPagesOfRequests: a page has fifty requests, links keep the filter, and a page after
// the last is the last.
func TestPagesOfRequests(t *testing.T) {
	d, cookie, keys := crowded(t, 0, 1)
	var policy atomic.Pointer[nodegate.Policy]
	policy.Store(&nodegate.Policy{})
	grant, _ := nodegate.NewGrant(keys[0].AccountID, keys[0].ID, &policy)
	for i := range 120 {
		d.cfg.RequestLog.Record(grant, &requestlog.Entry{At: time.Now().Add(-time.Duration(i) * time.Second), Method: fmt.Sprintf("eth_number%d", i), Outcome: "ok", Network: "devnet"})
	}
	for _, c := range []struct {
		path        string
		rows        int
		has, hasNot []string
	}{
		{"/requests", 50, []string{"1 to 50 of 120", "page=2", ">eth_number0</code>", ">eth_number49</code>"}, []string{"page=0", ">eth_number50</code>"}},
		{"/requests?page=2&network=devnet", 50, []string{"51 to 100 of 120", "page=1", "page=3", "network=devnet", ">eth_number50</code>"}, []string{">eth_number49</code>", ">eth_number100</code>"}},
		{"/requests?page=3", 20, []string{"101 to 120 of 120", "page=2", ">eth_number119</code>"}, []string{"page=4"}},
		{"/requests?page=9", 20, []string{"101 to 120 of 120"}, nil},
		{"/requests?page=-1", 50, []string{"1 to 50 of 120"}, nil},
		{"/requests?method=eth_number7", 1, []string{">eth_number7</code>"}, []string{"page=", " of 120"}},
		{"/requests?outcome=failed", 0, []string{"No matches"}, []string{"page="}},
	} {
		got := d.ask(http.MethodGet, c.path, cookie, nil)
		page := got.Body.String()
		if n := strings.Count(page, `<td><div class="entry">`); got.Code != http.StatusOK || n != c.rows {
			t.Errorf("%s: %d, %d rows, want %d", c.path, got.Code, n, c.rows)
		}
		for _, text := range c.has {
			if !strings.Contains(page, text) {
				t.Errorf("%s lacks %q", c.path, text)
			}
		}
		for _, text := range c.hasNot {
			if strings.Contains(page, text) {
				t.Errorf("%s has %q", c.path, text)
			}
		}
	}
}

// TestLevelOfRequests: a request that the ledger answered shows how well that is verified.
func TestLevelOfRequests(t *testing.T) {
	d, cookie, keys := crowded(t, 0, 1)
	var policy atomic.Pointer[nodegate.Policy]
	policy.Store(&nodegate.Policy{})
	grant, _ := nodegate.NewGrant(keys[0].AccountID, keys[0].ID, &policy)
	for method, level := range map[string]nodegate.Level{"eth_getBlockReceipts": nodegate.LevelRoots, "eth_call": nodegate.LevelNone} {
		d.cfg.RequestLog.Record(grant, &requestlog.Entry{ID: method, At: time.Now(), Method: method, Outcome: "ok", Network: "main", Level: level})
	}
	for method, want := range map[string]int{"eth_getBlockReceipts": 1, "eth_call": 0} {
		page := d.ask(http.MethodGet, "/requests?open="+method+".0", cookie, nil).Body.String()
		if n := strings.Count(page, "verified: roots"); n != want {
			t.Errorf("%s shows the level %d times, want %d", method, n, want)
		}
	}
}

// logged is a dashboard with two networks and requests of one key, and of somebody else's.
func logged(t *testing.T, settings nodegate.KeySettings) (d *booth, cookie string, key *nodegate.Key) {
	t.Helper()
	d, cookie, keys := crowded(t, 0, 2)
	key = keys[0]
	networks := []Network{{Network: nodegate.Network{Name: "devnet"}}, {Network: nodegate.Network{Name: "main"}}}
	d.cfg.Networks = func() []Network { return networks }
	if err := d.cfg.Accounts.UpdateKey(t.Context(), nodegate.Actor{Name: "test"}, key.AccountID, key.ID, func(_ *string, s *nodegate.KeySettings) { *s = settings }); err != nil {
		t.Fatal(err)
	}
	record := func(account, id string, e requestlog.Entry) {
		policy := new(atomic.Pointer[nodegate.Policy])
		policy.Store(&nodegate.Policy{Settings: settings})
		grant, _ := nodegate.NewGrant(account, id, policy)
		d.cfg.RequestLog.Record(grant, &e)
	}
	now := time.Now()
	record(key.AccountID, key.ID, requestlog.Entry{
		ID: "cafe-1", At: now.Add(-2 * time.Minute), Network: "main", Method: "eth_call", Outcome: "reverted", Error: "execution reverted: no", Number: 3, Node: "alpha", Took: 40 * time.Millisecond, Waited: 30 * time.Millisecond,
		Credits: 80, Params: []byte(`[{"to":"0x1"},"latest"]`), Reply: []byte(`{"jsonrpc":"2.0","id":1,"error":{"code":3}}`),
	})
	record(key.AccountID, key.ID, requestlog.Entry{ID: "cafe-2", Place: 1, At: now.Add(-10 * time.Minute), Network: "devnet", Method: "eth_chainId", Outcome: "ok", Took: time.Millisecond, Credits: 5})
	record(key.AccountID, key.ID, requestlog.Entry{ID: "cafe-3", At: now.Add(-20 * time.Minute), Network: "devnet", Method: "eth_getLogs", Outcome: "rate limited", Error: "rate limit exceeded", Number: -32005})
	record(key.AccountID, keys[1].ID, requestlog.Entry{ID: "cafe-4", At: now, Network: "storage", Method: "add", Outcome: "ok", Took: time.Millisecond})
	record("somebody else", "k-foreign", requestlog.Entry{ID: "cafe-9", At: now, Network: "devnet", Method: "eth_foreign", Outcome: "ok", Params: []byte(`["private"]`)})
	return d, cookie, key
}

// TestRequestFilters: every filter of the form narrows the list, and the form shows it.
func TestRequestFilters(t *testing.T) {
	d, cookie, key := logged(t, nodegate.KeySettings{})
	all := []string{"eth_call", "eth_chainId", "eth_getLogs", "add"}
	from := time.Now().Add(-15 * time.Minute).UTC().Format("2006-01-02T15:04:05")
	for _, c := range []struct {
		query string
		want  []string
		shows string
	}{
		{"", all, `<option value="">Key: any</option>`},
		{"key=" + key.ID, all[:3], key.ID + `" selected`},
		{"outcome=failed", []string{"eth_call", "eth_getLogs"}, `value="failed" selected`},
		{"outcome=reverted", []string{"eth_call"}, `<option selected>reverted`},
		{"network=devnet", []string{"eth_chainId", "eth_getLogs"}, `<option selected>devnet`},
		{"method=eth_call", []string{"eth_call"}, `<option selected>eth_call`},
		{"q=ALPHA", []string{"eth_call"}, `value="ALPHA"`},
		{"q=cafe-2", []string{"eth_chainId"}, `value="cafe-2"`},
		{"q=limit+exceeded", []string{"eth_getLogs"}, `value="limit exceeded"`},
		{"code=-32005", []string{"eth_getLogs"}, `name="code" value="-32005"`},
		{"slower=40", []string{"eth_call"}, `name="slower" value="40"`},
		{"last=5m", []string{"eth_call", "add"}, `value="5m" selected`},
		{"last=15m", []string{"eth_call", "add", "eth_chainId"}, `value="15m" selected`},
		{"to=" + from, []string{"eth_getLogs"}, `name="to" value="` + from},
		{"from=" + from, []string{"eth_call", "eth_chainId", "add"}, `name="from" value="` + from},
		{"code=x&slower=-1&from=y&to=z&last=99h", all, `<details class="more-filters"><summary>`},
		{"q=eth_foreign", nil, "No matches"},
	} {
		got := d.ask(http.MethodGet, "/requests?"+c.query, cookie, nil)
		page := got.Body.String()
		if got.Code != http.StatusOK || !strings.Contains(page, c.shows) {
			t.Errorf("%s: %d, lacks %q", c.query, got.Code, c.shows)
		}
		for _, method := range append(all, "eth_foreign") {
			if strings.Contains(page, "<code>"+method+"</code>") != slices.Contains(c.want, method) {
				t.Errorf("%s: %s is there: %v", c.query, method, !slices.Contains(c.want, method))
			}
		}
	}
}

// TestRequestPanel: a request can be opened with all that is kept of it, sent again and
// copied, and somebody else's is not there.
func TestRequestPanel(t *testing.T) {
	d, cookie, key := logged(t, nodegate.KeySettings{KeepParams: true, KeepResponses: true})
	for _, c := range []struct {
		open        string
		has, hasNot []string
	}{
		{"cafe-1.0", []string{
			`id="request"`, "The contract reverted the call.", "execution reverted: no", "reverted 3", "40 ms", "30 ms", "80 credits", "alpha", `aria-current="true"`, `class="here"`,
			`name="params" value="[{&#34;to&#34;:&#34;0x1&#34;},&#34;latest&#34;]"`, "Replay</button>", "Copy as curl", "Copy as viem", "Copy as ethers", "Copy as cast", "/main/v3/", "$KEY", "Response", `<span class="j-name">&#34;code&#34;</span>: <span class="j-value">3</span>`,
		}, []string{"refused before it was executed"}},
		{"cafe-2.1", []string{"call number 1, counted from 0", "not cached", ">Open in Playground<", "not recorded for this request"}, []string{"Replay</button>", "Copy as curl"}},
		{"cafe-3.0", []string{"Rate limit reached: this second&#39;s credits were used up.", "tag warn", "refused before it was executed"}, nil},
		{"cafe-4.0", []string{`id="request"`}, []string{"Playground</button>", "Replay</button>"}},
		{"cafe-2.0", []string{"no longer kept"}, []string{`id="request"`}},
		{"cafe-9.0", []string{"no longer kept"}, []string{`id="request"`, "private", "eth_foreign"}},
		{"nonsense", []string{"4 in the last hour"}, []string{`id="request"`}},
	} {
		got := d.ask(http.MethodGet, "/requests?outcome=&open="+c.open, cookie, nil)
		for _, text := range c.has {
			if !strings.Contains(got.Body.String(), text) {
				t.Errorf("%s lacks %q", c.open, text)
			}
		}
		for _, text := range c.hasNot {
			if strings.Contains(got.Body.String(), text) {
				t.Errorf("%s has %q", c.open, text)
			}
		}
	}
	if got := d.ask(http.MethodGet, "/requests?key=k-foreign&open=cafe-9.0", cookie, nil); got.Code != http.StatusNotFound {
		t.Errorf("a key of somebody else: %d", got.Code)
	}
	if got := d.ask(http.MethodGet, "/requests?open=cafe-1.0&key="+key.ID, "", nil); got.Code != http.StatusSeeOther || !strings.HasPrefix(got.Header().Get("Location"), "/login") {
		t.Errorf("a stranger: %d %s", got.Code, got.Header().Get("Location"))
	}
}

// TestNothingKept: without the settings neither parameters nor responses are there.
func TestNothingKept(t *testing.T) {
	d, cookie, _ := logged(t, nodegate.KeySettings{})
	page := d.ask(http.MethodGet, "/requests?open=cafe-1.0", cookie, nil).Body.String()
	if strings.Contains(page, "0x1") || strings.Contains(page, "jsonrpc") || strings.Count(page, "can turn that on") != 2 {
		t.Errorf("the page is %s", page)
	}
}

// TestLiveView: the list says how often it is refreshed, also to browsers without scripts.
func TestLiveView(t *testing.T) {
	d, cookie, _ := logged(t, nodegate.KeySettings{})
	for query, live := range map[string]bool{"": false, "live=1": true, "live=1&method=eth_call": true} {
		page := d.ask(http.MethodGet, "/requests?"+query, cookie, nil).Body.String()
		for _, text := range []string{`data-refresh="2"`, `<noscript><meta http-equiv="refresh"`, "Stop live view"} {
			if strings.Contains(page, text) != live {
				t.Errorf("%q: %q is there: %v", query, text, !live)
			}
		}
	}
}

// TestSilentServers: the page says when a server did not answer.
func TestSilentServers(t *testing.T) {
	far, silent := newJournal(t), 1
	near := requestlog.New(requestlog.Config{Ask: func(_ context.Context, q []byte) ([][]byte, int, error) { return [][]byte{far.Answer(q)}, silent, nil }})
	t.Cleanup(near.Close)
	d, cookie, keys := crowded(t, 0, 1)
	d.cfg.RequestLog = near
	grant, _ := nodegate.NewGrant(keys[0].AccountID, keys[0].ID, new(atomic.Pointer[nodegate.Policy]))
	far.Record(grant, &requestlog.Entry{ID: "far-1", Method: "eth_farAway", Outcome: "ok", Network: "main"})
	for path, text := range map[string]string{"/requests": "<code>eth_farAway</code>", "/requests?open=far-1.0": `id="request"`} {
		page := d.ask(http.MethodGet, path, cookie, nil).Body.String()
		if !strings.Contains(page, text) || !strings.Contains(page, "1 server did not answer in time. Its requests") || !strings.Contains(page, "1 in the last hour") {
			t.Errorf("%s: %s", path, page)
		}
	}
	silent = 2
	if page := d.ask(http.MethodGet, "/requests", cookie, nil).Body.String(); !strings.Contains(page, "2 servers did not answer in time. Their requests") {
		t.Errorf("two servers: %s", page)
	}
}

// TestExplanations: every outcome that a request can have is explained.
func TestExplanations(t *testing.T) {
	for _, code := range nodegate.Codes() {
		if text := explain(code.String()); !strings.HasSuffix(text, ".") {
			t.Errorf("%s: %q", code, text)
		}
	}
	if len(explanations) != len(nodegate.Codes()) || explain(nodegate.OutcomeOK) != "" {
		t.Errorf("%d explanations of %d codes", len(explanations), len(nodegate.Codes()))
	}
}
