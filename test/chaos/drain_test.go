package chaos

import (
	"net/http"
	"syscall"
	"testing"
	"time"
)

// TestShutdownDelay: a server that is stopped says so to balancers and goes on serving, on
// connections that are open and on new ones.
func TestShutdownDelay(t *testing.T) {
	g := startGate(t, "networks:\n  - {name: dev, embedded: {}}\nshutdown_delay: 1m\n") // it is killed before that is over
	open := newCaller(t)
	open.must(t, g.rpc("dev"), "eth_blockNumber", "[]")
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(50 * time.Second); g.readyz() != http.StatusServiceUnavailable; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("/readyz still says that traffic is welcome")
		}
	}
	open.must(t, g.rpc("dev"), "eth_blockNumber", "[]")
	newCaller(t).must(t, g.rpc("dev"), "eth_blockNumber", "[]")
}

// readyz is what a balancer gets, or 0.
func (g *gate) readyz() int {
	res, err := g.client.Get("http://" + g.listen + "/readyz")
	if err != nil {
		return 0
	}
	defer res.Body.Close()
	return res.StatusCode
}
