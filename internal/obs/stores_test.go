package obs

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// shows reads the metrics and wants lines in them.
func shows(t *testing.T, m *Metrics, lines ...string) {
	t.Helper()
	page := httptest.NewRecorder()
	m.Handler().ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, line := range lines {
		if !strings.Contains(page.Body.String(), "\n"+line+"\n") {
			t.Errorf("no line %q", line)
		}
	}
}

// TestAccountStore counts what the database did not do, and nothing else.
func TestAccountStore(t *testing.T) {
	m, up := NewMetrics(), true
	count := m.AccountStore(func() bool { return up })
	count(false, time.Millisecond, nil)
	count(false, time.Millisecond, &nodegate.Error{Code: nodegate.NotFound})
	count(true, time.Second, &nodegate.Error{Code: nodegate.Busy})
	count(true, time.Second, &nodegate.Error{Code: nodegate.Busy, Err: context.Canceled})
	shows(t, m, `nodegate_store_up 1`, `nodegate_store_errors_total{operation="read"} 0`, `nodegate_store_errors_total{operation="write"} 1`,
		`nodegate_store_duration_seconds_count{operation="read"} 2`, `nodegate_store_duration_seconds_sum{operation="write"} 2`)
	up = false
	shows(t, m, `nodegate_store_up 0`)
}

// TestReloads: a refused configuration shows until one is taken over.
func TestReloads(t *testing.T) {
	m := NewMetrics()
	r := m.Reloads(time.Unix(1000, 0))
	shows(t, m, `nodegate_config_last_reload_successful 1`, `nodegate_config_last_reload_success_timestamp_seconds 1000`)
	r.Done(context.Canceled, time.Second)
	shows(t, m, `nodegate_config_last_reload_successful 0`, `nodegate_config_last_reload_success_timestamp_seconds 1000`,
		`nodegate_config_reloads_total{outcome="refused"} 1`, `nodegate_config_last_reload_duration_seconds 1`)
	r.Done(nil, 2*time.Second)
	shows(t, m, `nodegate_config_last_reload_successful 1`, `nodegate_config_reloads_total{outcome="ok"} 1`)
}
