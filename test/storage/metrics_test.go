package storage_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/nodegate/nodegate/internal/config"
)

// TestMetrics: requests, bytes and the store's figures are on the admin listener, and
// the log has a line for each request without a key.
func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, func(c *config.Config) { c.Storage.Gateway = "keys" })
	n := s.tenant(t, "metrics", "unlimited")
	content := pattern(1500, 100_000)
	cid := n.add(t, "", file("x", content))[0]
	n.ok(t, "cat?arg="+cid)
	n.get(t, "/ipfs/"+cid)
	n.fails(t, "cat?arg=notacid", http.StatusInternalServerError, "invalid path")
	other := *n
	other.secret = "wrong"
	other.fails(t, "cat?arg="+cid, http.StatusUnauthorized, "basic auth failure")
	for name, least := range map[string]float64{
		`nodegate_storage_requests_total{command="add",outcome="ok"}`:               1,
		`nodegate_storage_requests_total{command="cat",outcome="ok"}`:               1,
		`nodegate_storage_requests_total{command="cat",outcome="execution failed"}`: 1,
		`nodegate_storage_requests_total{command="gateway",outcome="ok"}`:           1,
		`nodegate_storage_requests_total{command="other",outcome="secret invalid"}`: 1,
		`nodegate_storage_duration_seconds_count{command="cat"}`:                    2,
		`nodegate_storage_bytes_total{direction="in"}`:                              100_000,
		`nodegate_storage_bytes_total{direction="out"}`:                             200_000,
		`nodegate_blocks_disk_bytes`:                                                100_000,
		`nodegate_blocks_live_bytes`:                                                100_000,
	} {
		if got := metric(t, s, name); got < least || got > 2*least {
			t.Errorf("%s is %v, want about %v", name, got, least)
		}
	}
	for _, name := range []string{"nodegate_storage_uploads", "nodegate_blocks_damaged", "nodegate_blocks_read_only"} {
		if got := metric(t, s, name); got != 0 {
			t.Errorf("%s is %v", name, got)
		}
	}
	log := s.Logs.String()
	if strings.Contains(log, n.key) || strings.Contains(log, n.secret) || strings.Contains(log, "arg=") {
		t.Error("the log has a key or a query")
	}
	for _, outcome := range []string{"command=add outcome=ok", "command=gateway outcome=ok", `command=cat outcome="execution failed"`, `command=other outcome="secret invalid"`} {
		if strings.Count(log, "msg=\"storage request\"") < 5 || !strings.Contains(log, outcome) {
			t.Errorf("the log lacks %s", outcome)
		}
	}
}

// metric reads one value off the admin listener.
func metric(t *testing.T, s *service, name string) float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.Admin+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(fmt.Sprintf(`(?m)^%s (\S+)$`, regexp.QuoteMeta(name))).FindStringSubmatch(send(req).body)
	if m == nil {
		t.Errorf("there is no %s", name)
		return 0
	}
	v, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Error(err)
	}
	return v
}
