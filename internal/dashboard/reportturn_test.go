package dashboard

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/full"
)

// slowUsage is a store whose usage by groups takes until the test ends it.
type slowUsage struct {
	*sqlstore.Store
	end     chan struct{}
	reading atomic.Int64
}

func (s *slowUsage) SumUsage(ctx context.Context, q nodegate.UsageSums) ([]nodegate.UsageSum, error) {
	if q.By != nodegate.NoDimension {
		s.reading.Add(1)
		defer s.reading.Add(-1)
		select {
		case <-s.end:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return s.Store.SumUsage(ctx, q)
}

// TestReportTurns: an account makes the reports of one page at a time. Its other pages wait for
// a while and are then refused; pages without reports, sign-ins and other accounts go on.
func TestReportTurns(t *testing.T) {
	full.Slow(t)
	slow := &slowUsage{end: make(chan struct{})}
	d := newBooth(t, nil)
	slow.Store, d.cfg.Reports = d.store, report.New(report.Config{Store: slow})
	d.turns.wait = 300 * time.Millisecond
	_, cookie := d.person(t, "a@example.com", false)
	_, other := d.person(t, "b@example.com", false)
	waitFor := func(n int64) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); slow.reading.Load() != n; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%d queries, want %d", slow.reading.Load(), n)
			}
		}
	}
	var pages sync.WaitGroup
	show := func(path, cookie string) {
		pages.Go(func() {
			if got := d.ask(http.MethodGet, path, cookie, nil); got.Code != http.StatusOK {
				t.Errorf("%s: %d", path, got.Code)
			}
		})
	}
	show("/usage", cookie)
	waitFor(1)
	for _, path := range []string{"/usage", "/usage?stack=key&by=key", "/usage.csv", "/", "/keys"} {
		got := d.ask(http.MethodGet, path, cookie, nil)
		if got.Code != http.StatusTooManyRequests || got.Header().Get("Retry-After") == "" || !strings.Contains(got.Body.String(), "nother page of this account") {
			t.Errorf("%s beside another: %d", path, got.Code)
		}
	}
	if n := slow.reading.Load(); n != 1 {
		t.Errorf("%d queries of one account, want 1", n)
	}
	for _, path := range []string{"/billing", "/account"} {
		if got := d.ask(http.MethodGet, path, cookie, nil); got.Code != http.StatusOK {
			t.Errorf("%s beside a report: %d", path, got.Code)
		}
	}
	login := url.Values{"email": {"b@example.com"}, "password": {boothPassword}}
	if got := d.ask(http.MethodPost, "/login", "", login); got.Code != http.StatusSeeOther {
		t.Errorf("a sign-in beside a report: %d", got.Code)
	}
	show("/usage", other)
	waitFor(2)
	close(slow.end)
	pages.Wait()
	for range 2 { // the turn is given back
		show("/usage", cookie)
		pages.Wait()
	}
	if len(d.turns.accounts) != 0 {
		t.Errorf("%d turns are kept", len(d.turns.accounts))
	}
}

// TestReportTurnWaits: a page whose turn comes in time is shown.
func TestReportTurnWaits(t *testing.T) {
	var turns reportTurns
	end, err := turns.take(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, end)
	second, err := turns.take(t.Context(), "a")
	if err != nil {
		t.Fatalf("the turn came: %v", err)
	}
	second()
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	third, _ := turns.take(t.Context(), "a")
	if _, err := turns.take(gone, "a"); err == nil {
		t.Error("a client that left gets a turn")
	}
	third()
	if len(turns.accounts) != 0 {
		t.Errorf("%d turns are kept", len(turns.accounts))
	}
}
