package edge

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate/internal/web"
)

// TestSlowdown: who is refused again and again is answered at a pace, and
// that is not felt by the requests of others, nor by its own that are good.
func TestSlowdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := benchEdge(t)
		ask := func(key string) time.Duration {
			start, req := time.Now(), httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/alpha/v3/"+key, strings.NewReader(okCall))
			req.Header.Set("Content-Type", "application/json")
			e.ServeHTTP(httptest.NewRecorder(), req)
			return time.Since(start)
		}
		for range web.RefusalsAtOnce {
			ask("unknown")
		}
		if took := ask("unknown"); took == 0 {
			t.Error("one refusal more comes at once")
		}
		start := time.Now()
		for range 10 * web.RefusalsPerSecond {
			ask("unknown")
		}
		if took := time.Since(start).Round(100 * time.Millisecond); took != 10*time.Second {
			t.Errorf("%d refusals take %v", 10*web.RefusalsPerSecond, took)
		}
		if took := ask("key1"); took != 0 {
			t.Errorf("a good request takes %v", took)
		}
		time.Sleep(time.Minute)
		if took := ask("unknown"); took != 0 {
			t.Errorf("a minute later a refusal takes %v", took)
		}
	})
}

// TestControlled: a socket that sends pings without a pause is read slowly. Many sockets
// of one client address that answer ours are not.
func TestControlled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := benchEdge(t)
		start := time.Now()
		for range 20 * web.RefusalsAtOnce {
			s := &socket{edge: e, visitor: &visitor{}}
			s.controlled()
		}
		if took := time.Since(start); took != 0 {
			t.Errorf("pongs of many sockets take %v", took)
		}
		s := &socket{edge: e, visitor: &visitor{}}
		for range mostControls + 100 {
			s.controlled()
		}
		if took := time.Since(start); took != 100*controlPause {
			t.Errorf("pings without a pause take %v", took)
		}
		time.Sleep(controlWindow)
		again := time.Now()
		if s.controlled(); time.Since(again) != 0 {
			t.Error("it is slow for good")
		}
	})
}
