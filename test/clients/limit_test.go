package clients_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// TestEthersLimit drives ethers into a small plan. It backs off longer each time and
// gets all its answers. Were Retry-After a bare "1", it would take that for a
// millisecond and give up after twelve tries.
func TestEthersLimit(t *testing.T) {
	needNode(t)
	packages := install(t)
	t.Parallel()
	const balanceCost, burst = 80, 800
	s := harness.Start(t, func(c *config.Config) {
		c.Plans["small"] = config.Plan{CreditsPerSecond: 800, Burst: burst}
		c.Usage.Flush = 50 * time.Millisecond
	})
	limited := credential.NewKey()
	if err := s.AddKey("limited", "small", limited, "", nodegate.KeySettings{}); err != nil {
		t.Fatal(err)
	}
	const calls, batch = 40, burst / balanceCost
	input, err := json.Marshal(map[string]any{"http": s.URL("devnet", limited), "calls": calls, "batch": batch})
	if err != nil {
		t.Fatal(err)
	}
	runScript(t, scriptFolder(t, packages), "limit.mjs", input)
	const answered = calls + 3*batch
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		ok, refused := balances(t, s)
		if ok >= answered {
			t.Logf("%d calls were answered and %d requests refused", ok, refused)
			if ok > answered || refused == 0 {
				t.Errorf("want %d answers and some refusals", answered)
			}
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d answers are recorded, want %d", ok, answered)
		}
	}
}

// balances counts what the usage says of eth_getBalance and of refusals.
func balances(t *testing.T, s *harness.Service) (ok, refused int64) {
	t.Helper()
	now := time.Now()
	rows, err := s.Server.Control().Store.Usage(t.Context(), nodegate.UsageQuery{
		AccountID: "a-limited", From: now.Add(-48 * time.Hour), To: now.Add(48 * time.Hour), By: nodegate.ByDay,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		switch {
		case r.Method == "eth_getBalance" && r.Outcome == "ok":
			ok += r.Requests
		case r.Outcome == nodegate.RateLimited.String():
			refused += r.Requests
		}
	}
	return ok, refused
}
