package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// TestPace: an address is served its burst of pages and then told to wait; other
// addresses, and the clients of a trusted proxy, are apart.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Dashboard{cfg: Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, pace: newPace(5)}
		get := func(from, forwarded, path string) *httptest.ResponseRecorder {
			req := httptest.NewRequest("GET", path, nil)
			req.RemoteAddr = from
			if forwarded != "" {
				req.Header.Set("X-Forwarded-For", forwarded)
			}
			w := httptest.NewRecorder()
			if d.admit(w, req) {
				w.WriteHeader(http.StatusNoContent)
			}
			return w
		}
		for i := range 20 {
			if w := get("192.0.2.1:1000", "", "/docs"); w.Code != http.StatusNoContent {
				t.Fatalf("page %d of the burst: %d", i, w.Code)
			}
		}
		start := time.Now()
		w := get("192.0.2.1:1001", "", "/docs")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "01" {
			t.Errorf("after the burst: %d, Retry-After %q", w.Code, w.Header().Get("Retry-After"))
		}
		if time.Since(start) != slowed {
			t.Errorf("the refusal took %v, want %v", time.Since(start), slowed)
		}
		for _, other := range [][2]string{{"192.0.2.2:1", ""}, {"10.0.0.1:1", "192.0.2.3"}, {"10.0.0.1:1", "192.0.2.4"}} {
			if w := get(other[0], other[1], "/docs"); w.Code != http.StatusNoContent {
				t.Errorf("%v: %d", other, w.Code)
			}
		}
		for i := range 200 {
			if w := get("192.0.2.9:1", "", "/static/x/style.css"); w.Code != http.StatusNoContent {
				t.Fatalf("static file %d: %d", i, w.Code)
			}
		}
	})
}

// TestPaceGroups: an IPv6 network of 64 bits is one client.
func TestPaceGroups(t *testing.T) {
	d := &Dashboard{pace: newPace(1)}
	served := 0
	for i := range 40 {
		req := httptest.NewRequest("GET", "/docs", nil)
		req.RemoteAddr = netip.AddrPortFrom(netip.AddrFrom16([16]byte{0x20, 1, 0xd, 0xb8, 15: byte(i)}), 1).String()
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nobody waits for a refusal
		if d.admit(httptest.NewRecorder(), req.WithContext(ctx)) {
			served++
		}
	}
	if served < 4 || served > 39 {
		t.Errorf("%d of 40 requests of one network were served", served)
	}
}

// TestPaceRefusals: the requests that are made to wait are bounded; the others are
// refused at once and their connections closed.
func TestPaceRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPace(1)
		refused := make(chan *httptest.ResponseRecorder, mostSlowed+1)
		for range mostSlowed + 1 {
			go func() {
				w := httptest.NewRecorder()
				p.refuse(w, httptest.NewRequest("GET", "/", nil), time.Second)
				refused <- w
			}()
		}
		synctest.Wait()
		if n := len(refused); n != 1 {
			t.Fatalf("%d were refused at once, want 1", n)
		}
		if w := <-refused; w.Header().Get("Connection") != "close" {
			t.Error("its connection stays open")
		}
		time.Sleep(slowed)
		synctest.Wait()
		if n := len(refused); n != mostSlowed {
			t.Errorf("%d were refused later, want %d", n, mostSlowed)
		}
	})
}

// slowPage is a page that takes some time until it is ready, and some while it is sent.
type slowPage struct {
	account, pattern string
	working, sending time.Duration
}

// open asks for the page as its account and from an address of its own, which may be
// refused.
func (p slowPage) open(d *Dashboard, from string) (served bool) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel() // nobody waits for a refusal
	req := httptest.NewRequestWithContext(ctx, "GET", "/keys", nil)
	req.RemoteAddr = from
	v := &visit{Dashboard: d, w: httptest.NewRecorder(), req: req, account: &nodegate.Account{ID: p.account}}
	v.route = route{pattern: p.pattern, serve: func(v *visit) error {
		time.Sleep(p.working)
		handOver(v)
		time.Sleep(p.sending)
		served = true
		return nil
	}}
	if d.admit(v.w, req) {
		_ = v.paced()
	}
	return served
}

// TestSlowPagesCostMore opens pages one after the other for 20 seconds, as one account from
// many addresses and as many accounts from one address: what is served goes by the time
// that the pages take, and not by their number.
func TestSlowPagesCostMore(t *testing.T) {
	full.Slow(t)
	const rate, length = 50, 20 * time.Second
	most := rate*length.Seconds() + pagesAtOnce*rate // tokens
	for name, c := range map[string]struct {
		slowPage
		cost float64
	}{
		"fast pages":               {slowPage{"a", "GET /keys", pageTime / 4, 0}, 1},
		"slow pages":               {slowPage{"a", "GET /keys", 5 * pageTime, 0}, 5},
		"very slow pages":          {slowPage{"a", "GET /keys", 20 * pageTime, 0}, 20},
		"slow clients":             {slowPage{"a", "GET /keys", pageTime, pageTime}, 1},
		"slow forms":               {slowPage{"a", "POST /files", 5 * pageTime, 0}, 5},
		"forms that wait":          {slowPage{"a", "POST /try", pageTime, pageTime}, 1},
		"slow pages of an address": {slowPage{"", "GET /keys", 5 * pageTime, 0}, 5},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, served, i := &Dashboard{pace: newPace(rate)}, 0.0, 0
				for begun := time.Now(); time.Since(begun) < length; i++ {
					page, from := c.slowPage, netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)})
					if page.account == "" {
						page.account, from = strconv.Itoa(i), netip.AddrFrom4([4]byte{192, 0, 2, 1})
					}
					if page.open(d, netip.AddrPortFrom(from, 1).String()) {
						served++
					} else {
						time.Sleep(time.Millisecond)
					}
				}
				if want := most / c.cost; served < want*0.97 || served > want*1.03 {
					t.Errorf("%v pages were served, want about %v", served, want)
				}
			})
		})
	}
}

// TestPagesBegunTogether: pages that begin at the same time can't all be charged later.
func TestPagesBegunTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, served := &Dashboard{pace: newPace(50)}, make(chan bool, 1000)
		for i := range cap(served) {
			go func() {
				from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, byte(i >> 8), byte(i)}), 1)
				served <- slowPage{"a", "GET /keys", time.Second, 0}.open(d, from.String())
			}()
		}
		n := 0
		for range cap(served) {
			if <-served {
				n++
			}
		}
		if n != pagesInProgress {
			t.Errorf("%d pages were in progress, want %d", n, pagesInProgress)
		}
	})
}

// TestCostIsBounded: a page that had to wait, for a database for example, doesn't keep its
// reader out for long.
func TestCostIsBounded(t *testing.T) {
	for _, c := range []struct {
		rate int
		took time.Duration
		want float64
	}{
		{50, 0, 1}, {50, pageTime, 1}, {50, 10 * pageTime, 10}, {50, time.Hour, 25}, {1, time.Hour, 1}, {0, time.Hour, 1},
	} {
		if got := newPace(c.rate).cost(c.took); got != c.want {
			t.Errorf("at %d pages a second one that took %v costs %v, want %v", c.rate, c.took, got, c.want)
		}
	}
}
