package cache_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/store/redisstore"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// TestRedis: two servers over one real Redis; when it stands still, both go on.
func TestRedis(t *testing.T) {
	full.Slow(t)
	r := dbtest.Redis(t)
	node := openChain(t)
	server := func() *cache.Cache {
		s, err := redisstore.Open(t.Context(), "redis://"+r.Addr, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(s.Close)
		// Nothing in memory, so that the second level is what answers.
		return cache.New(node, cache.Config{Network: "devnet", Shared: s.Answers()})
	}
	one, two := server(), server()
	ask := func(c *cache.Cache) (string, nodegate.CacheOutcome) {
		var trace nodegate.Trace
		result, err := c.Call(nodegate.WithTrace(t.Context(), &trace), "eth_getBlockByNumber", []byte(`["0x0",false]`))
		if err != nil {
			t.Fatal(err)
		}
		return string(result), trace.Cache
	}
	want := call(t, node, "eth_getBlockByNumber", `["0x0",false]`)
	if got, outcome := ask(one); got != want || outcome != nodegate.CacheMiss {
		t.Errorf("at first: %s, %s", got, outcome)
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got, outcome := ask(two)
		if got != want {
			t.Fatalf("%s, want %s", got, want)
		}
		if outcome == nodegate.CacheHit {
			r.Pause()
			if got, outcome := ask(two); got != want || outcome != nodegate.CacheMiss {
				t.Errorf("while Redis stands still: %s, %s", got, outcome)
			}
			return
		}
	}
	t.Error("the second server never found what the first one put")
}
