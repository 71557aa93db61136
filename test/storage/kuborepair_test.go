package storage_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
)

// A running server brings a node the pins that it lost, and counts them.
func TestKuboRepair(t *testing.T) {
	first, second := newTenant(t), newTenant(t)
	s := start(t, both(overKubo(first.asNode(), second.asNode()), func(c *config.Config) {
		c.Storage.Kubo.Copies, c.Storage.Kubo.Repair = 2, time.Second
	}))
	id := s.tenant(t, "repaired", "unlimited").add(t, "", file("f", pattern(3, 1<<20)))[0]
	second.ok(t, "pin/rm?arg="+id)
	figures := ""
	for until := time.Now().Add(20 * time.Second); !strings.Contains(figures, "\nnodegate_storage_repair_copies_total 1\n") && time.Now().Before(until); time.Sleep(100 * time.Millisecond) {
		figures = metricsOf(t, s)
	}
	if _, ok := second.pins(t)[id]; !ok {
		t.Error("the node does not get the pin again")
	}
	for _, line := range []string{"nodegate_storage_repair_copies_total 1", "nodegate_storage_repair_failures_total 0", "nodegate_storage_missing_content 0"} {
		if !strings.Contains(figures, "\n"+line+"\n") {
			t.Errorf("the metrics lack %q", line)
		}
	}
}

func metricsOf(t *testing.T, s *service) string {
	t.Helper()
	res, err := http.Get(s.Admin + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
