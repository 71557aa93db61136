package dashboard

import (
	"fmt"
	"net/http"
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
		if n := strings.Count(page, "<td><time") + strings.Count(page, `"Time"><time`); got.Code != http.StatusOK || n != c.rows {
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
	for method, level := range map[string]nodegate.Level{"eth_getTransactionReceipt": nodegate.LevelRoots, "eth_call": nodegate.LevelNone} {
		d.cfg.RequestLog.Record(grant, &requestlog.Entry{At: time.Now(), Method: method, Outcome: "ok", Network: "main", Level: level})
	}
	for method, want := range map[string]int{"eth_getTransactionReceipt": 1, "eth_call": 0} {
		page := d.ask(http.MethodGet, "/requests?method="+method, cookie, nil).Body.String()
		if n := strings.Count(page, "verified: roots"); n != want {
			t.Errorf("%s shows the level %d times, want %d", method, n, want)
		}
	}
}
