package gateway

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/web"
)

// TestSlowdown: who is refused again and again is answered at a pace, an address without a
// key as well as an account. Others, and a proxy that speaks for many, are not.
func TestSlowdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway()
		g.cfg.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
		ask := func(from string) time.Duration {
			start, req := time.Now(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v0/version", nil)
			req.RemoteAddr = from
			w := httptest.NewRecorder()
			if g.ServeHTTP(w, req); w.Code != http.StatusUnauthorized {
				t.Fatalf("without a key: %d %s", w.Code, w.Body)
			}
			return time.Since(start)
		}
		for range web.RefusalsAtOnce {
			ask("192.0.2.1:1")
			ask("10.0.0.1:1")
		}
		if took := ask("192.0.2.1:2"); took == 0 {
			t.Error("one refusal more comes at once")
		}
		for _, other := range []string{"192.0.2.2:1", "10.0.0.1:2"} {
			if took := ask(other); took != 0 {
				t.Errorf("%s waits %v", other, took)
			}
		}
	})
}

// TestSlowedAccount: requests of an account that pass a bound count many times over.
func TestSlowedAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gateway()
		refused := func(account string) time.Duration {
			start := time.Now()
			c := g.newCall(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v0/cat", nil))
			c.grant = &nodegate.Grant{AccountID: account}
			slow(c, errCompress(1))
			return time.Since(start)
		}
		for range web.RefusalsAtOnce / web.LargeRefusal {
			refused("a")
		}
		if refused("a") == 0 || refused("b") != 0 {
			t.Error("the wrong account waits")
		}
	})
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		code  nodegate.Code
		large bool
		want  float64
	}{
		{nodegate.NotFound, true, 0}, {nodegate.NotFound, false, 0}, {nodegate.Internal, true, 0}, {nodegate.Busy, false, 0},
		{nodegate.ExecutionFailed, false, 0}, {nodegate.ExecutionFailed, true, web.LargeRefusal}, {nodegate.TooLarge, false, web.LargeRefusal},
		{nodegate.RateLimited, false, 1}, {nodegate.KeyInvalid, false, 1}, {nodegate.InvalidInput, true, 1},
	} {
		if got := refusals(c.code, c.large); got != c.want {
			t.Errorf("%v, large %v: %v refusals, want %v", c.code, c.large, got, c.want)
		}
	}
}
