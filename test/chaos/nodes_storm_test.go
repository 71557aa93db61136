package chaos

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"
)

// TestRetryStorm is row 3: every node answers 503. What clients ask must not grow on
// its way to the nodes.
func TestRetryStorm(t *testing.T) {
	seconds := length(3, 20)
	o := begin(t, 3, fmt.Sprintf("all nodes answer 503, 200 calls a second for %d s", seconds), "requests at the nodes at most 1.2x + 3, client error within 1 s")
	chain := startChains(t, 1)[0]
	relays := []*relay{startRelay(t, chain.rpc("dev")), startRelay(t, chain.rpc("dev")), startRelay(t, chain.rpc("dev"))}
	g := startGate(t, remoteYAML(relays[0].URL, relays[1].URL, relays[2].URL))
	g.allHealthy(3)
	c := newCaller(t)
	for _, r := range relays {
		r.make(func(w http.ResponseWriter, _ *http.Request, _ string, _ []byte) bool {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		})
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	y := stream(ctx, 200, func(i int) error {
		a, err := c.post(t.Context(), g.rpc("main"), balance(i))
		if err == nil && (a.status != http.StatusServiceUnavailable || a.code != -32603) {
			err = fmt.Errorf("%d %.200s", a.status, a.body)
		}
		return err
	})
	y.clean(t)
	asked := 0
	for _, r := range relays {
		asked += r.count("eth_getBalance")
		r.make(nil)
	}
	begun := time.Now()
	for c.read(t.Context(), g.rpc("main"), 1e6) != nil && time.Since(begun) < 45*time.Second {
		time.Sleep(50 * time.Millisecond)
	}
	well := time.Since(begun)
	o.say("%d requests for %d calls (%.2fx), slowest error %v; well again after %v", asked, y.count(), float64(asked)/float64(y.count()), round(y.quantile(1)), well.Round(10*time.Millisecond))
	o.within(y.quantile(1) < time.Second)
	if float64(asked) > 1.2*float64(y.count())+3 {
		t.Errorf("%d requests at the nodes for %d calls", asked, y.count())
	}
	if well > 40*time.Second {
		t.Error("the network stays down after its nodes came back")
	}
}
