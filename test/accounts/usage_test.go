package accounts_test

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// TestUsageAtShutdown: what was counted last is in the store when a server has
// closed, and the day's credits stay spent after the next start.
func TestUsageAtShutdown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	change := func(c *config.Config) {
		devnetOnly(c)
		c.Usage.Flush = time.Hour // only closing writes
	}
	s, err := harness.Launch(dir, change)
	if err != nil {
		t.Fatal(err)
	}
	free := newTenant(t, s, "unlimited", nodegate.KeySettings{})
	daily := newTenant(t, s, "daily", nodegate.KeySettings{})
	l := startLoad(chainID, 4, time.Millisecond, nil, free.url)
	for range 5 {
		send(t, daily.url, balance).want(t, 200, 0, "", "7")
	}
	checkDay(t, send(t, daily.url, balance), 402, 400)
	l.see(t, 200, 100)
	samples, _ := l.wait()
	if _, total := usageOf(t, s.Server.Control().Store, free.account); total != 0 {
		t.Fatalf("%d requests were written early: the test shows nothing", total)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = harness.Launch(dir, change); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	if _, total := usageOf(t, s.Server.Control().Store, free.account); total != int64(len(samples)) {
		t.Errorf("%d requests were answered, %d are in the store", len(samples), total)
	}
	checkDay(t, send(t, s.URL("devnet", daily.key), balance), 402, 400)
}
