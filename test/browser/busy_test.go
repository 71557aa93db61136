package browser

import (
	"context"
	"math"
	"math/rand/v2"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// busyService is a service that is in use: networks of nodes beside the embedded ones, three
// keys with a day of usage, files, and a daily limit that is near.
func busyService(t *testing.T) *harness.Service {
	t.Helper()
	chain, gone := harness.Start(t, nil), httptest.NewServer(nil)
	gone.Close()
	rows := busyDay(time.Now().UTC())
	s := harness.Start(t, func(c *config.Config) {
		c.Dashboard.Status, c.Storage.Gateway = true, "public"
		c.Networks = append(c.Networks, farNetwork(chain, gone.URL, "ethereum", "devnet", "eth-01", "eth-02", "eth-03"), farNetwork(chain, "", "base", "rollup", "base-01"))
		plan := c.Plans["free"]
		plan.CreditsPerDay = nearLimit(rows, time.Now().UTC())
		c.Plans["growth"] = plan
	})
	use(t, s, rows)
	keepAll(t, s)
	for range 12 {
		chainID(t, s)
	}
	for _, body := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByNumber","params":["latest",false]}`, `{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x5"]}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x5fbdb2315678afecb367f032d93f642f64180aa3"},"latest"]}`, `{"jsonrpc":"2.0","id":1,"method":"eth_nothing"}`,
	} {
		call(t, s, body)
	}
	addFolder(t, s, "&name-pins=true&wrap-with-directory=true&pin-name=launch", map[string]string{"readme.txt": "Launch files\n", "traits.json": `{"traits": []}`})
	addFolder(t, s, "&name-pins=true", map[string]string{"cover.png": string(drawing(t)), "metadata.json": `{"name": "Launch"}`, "notes.md": "# Notes\n"})
	first := s.Server.FirstKey().Key
	if err := s.Server.Control().Accounts.SetPlan(t.Context(), nodegate.Actor{Name: "test"}, first.AccountID, "growth"); err != nil {
		t.Fatal(err)
	}
	return s
}

// farNetwork is a network of remote nodes, which all are one chain of another server. The last
// of several doesn't answer.
func farNetwork(chain *harness.Service, gone, name, of string, nodes ...string) config.Network {
	n := config.Network{Name: name, Dialect: "spec", MaxLag: 5, Ledger: config.Ledger{Blocks: 1000, Disk: 1 << 30, Memory: 1 << 20}}
	for i, node := range nodes {
		address, role := chain.URL(of, harness.KeyA), "primary"
		if i > 0 && i == len(nodes)-1 {
			address, role = gone, "backup"
		}
		n.Nodes = append(n.Nodes, config.Node{Name: node, URL: config.NodeURL(address), Role: role})
	}
	return n
}

// busyDay is what busy apps do: more by day than by night, a few failures, on four networks. The
// rows have no key yet.
func busyDay(now time.Time) (rows []nodegate.Usage) {
	random := rand.New(rand.NewPCG(1, 2))
	for minute := range 24 * 60 {
		at := now.Add(-time.Duration(minute) * time.Minute).Truncate(time.Minute)
		busy := 1.2 - math.Cos(2*math.Pi*(float64(at.Hour())+float64(at.Minute())/60)/24)
		for _, m := range []struct {
			name  string
			share float64
			took  time.Duration
		}{{"eth_call", 60, 9 * time.Millisecond}, {"eth_getBlockReceipts", 12, 31 * time.Millisecond}, {"eth_blockNumber", 30, time.Millisecond}, {"eth_getLogs", 4, 70 * time.Millisecond}, {"eth_estimateGas", 9, 14 * time.Millisecond}} {
			for _, o := range []struct {
				name string
				part float64
			}{{nodegate.OutcomeOK, 0.975}, {nodegate.Reverted.String(), 0.02}, {nodegate.RateLimited.String(), 0.005}} {
				n := int64(busy*m.share*o.part*(0.7+0.6*random.Float64()) + random.Float64())
				if n == 0 {
					continue
				}
				u := nodegate.Usage{UsageKey: nodegate.UsageKey{Method: m.name, Outcome: o.name, Network: []string{"devnet", "ethereum", "ethereum", "base"}[random.IntN(4)]}, At: at, Requests: n, Credits: n * 80}
				if o.name != nodegate.RateLimited.String() { // it was not executed
					u.Latency[nodegate.Bucket(time.Duration(float64(m.took)*math.Exp(random.NormFloat64()*0.5)))] = n
				}
				rows = append(rows, u)
			}
		}
	}
	return rows
}

// nearLimit is a daily limit that is reached in an hour or two at the rate of the last one.
func nearLimit(rows []nodegate.Usage, now time.Time) (limit int64) {
	var today, hour int64
	for i := range rows {
		if rows[i].At.Truncate(24 * time.Hour).Equal(now.Truncate(24 * time.Hour)) {
			today += rows[i].Credits
		}
		if now.Sub(rows[i].At) < time.Hour {
			hour += rows[i].Credits
		}
	}
	left := now.Truncate(24 * time.Hour).Add(24 * time.Hour).Sub(now).Hours()
	return today + int64(float64(hour)*min(2, left/2))
}

// use records rows for three keys of the first account.
func use(t *testing.T, s *harness.Service, rows []nodegate.Usage) {
	t.Helper()
	first, ids := s.Server.FirstKey().Key, []string{}
	for _, name := range []string{"indexer", "mobile"} {
		issued, err := s.Server.Control().Accounts.CreateKey(t.Context(), nodegate.Actor{Name: "test"}, first.AccountID, name, nodegate.KeySettings{})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, issued.Key.ID)
	}
	batch := &nodegate.UsageBatch{Server: "pictures", Number: 1}
	for i, u := range rows {
		u.AccountID, u.KeyID = first.AccountID, first.ID
		if i%3 == 0 {
			u.KeyID = ids[i%2]
		}
		batch.Rows = append(batch.Rows, u)
	}
	if err := s.Server.Control().Store.AddUsage(context.Background(), batch); err != nil {
		t.Fatal(err)
	}
}

// useADay records a busy day of the first key on an embedded network.
func useADay(t *testing.T, s *harness.Service) {
	t.Helper()
	use(t, s, busyDay(time.Now().UTC()))
}
