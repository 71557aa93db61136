package dashboard

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
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
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "1" {
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
