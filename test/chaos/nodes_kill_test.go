package chaos

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// TestNodeKilled is row 1: one of three nodes dies under a stream of reads, and
// comes back.
func TestNodeKilled(t *testing.T) {
	o := begin(t, 1, "1 of 3 nodes killed at 200 reads a second, and started again", "0 client errors, traffic back within 35 s")
	nodes := startChains(t, 3)
	g := startGate(t, remoteYAML(urlsOf(nodes)...))
	g.allHealthy(3)
	c := newCaller(t)
	alone, cancel := context.WithTimeout(t.Context(), time.Duration(length(1, 5))*time.Second)
	defer cancel()
	before := stream(alone, 200, func(i int) error { return c.read(t.Context(), g.rpc("main"), i) })
	before.clean(t)
	end := streaming(t, 200, func(i int) error { return c.read(t.Context(), g.rpc("main"), 1e6+i) })
	nodes[1].kill()
	time.Sleep(time.Duration(length(2, 15)) * time.Second)
	back := "not waited for"
	if !awaitEjection(g, "n1") {
		t.Errorf("the dead node was not put aside: %s", g.page("/nodes"))
	}
	if length(0, 1) == 1 { // it is put aside for half a minute
		nodes[1].again()
		took, returned := awaitTraffic(g, "n1")
		if o.within(took <= 35*time.Second); !returned {
			t.Errorf("the node that came back is not asked: %s", g.page("/nodes"))
		}
		back = fmt.Sprint("after ", took.Round(100*time.Millisecond))
	}
	y := end()
	y.clean(t)
	o.say("%d of %d calls failed, p99 %v (%v before), traffic back %s", len(y.failed), y.count(), round(y.quantile(0.99)), round(before.quantile(0.99)), back)
}

// awaitEjection waits until a node is put aside. Clients' calls avoid a node that fails
// often before its fifth failure in a row, which may then be the health check's.
func awaitEjection(g *gate, node string) bool {
	for begun := time.Now(); time.Since(begun) < 15*time.Second; time.Sleep(100 * time.Millisecond) {
		if g.metric("nodegate_node_ejections_total", `node="`+node+`"`) > 0 {
			return true
		}
	}
	return false
}

// awaitTraffic waits until a node is asked again by clients' calls.
func awaitTraffic(g *gate, node string) (took time.Duration, ok bool) {
	asked := func() float64 {
		return g.metric("nodegate_node_requests_total", `node="`+node+`"`, `method="eth_getBalance"`, `outcome="ok"`)
	}
	before, begun := asked(), time.Now()
	for time.Since(begun) < 60*time.Second {
		if asked() > before {
			return time.Since(begun), true
		}
		time.Sleep(100 * time.Millisecond)
	}
	return time.Since(begun), false
}

// TestRollingRestart is row 34: two servers are restarted in turn under a stream of
// calls whose client goes to the other one when a connection is refused.
func TestRollingRestart(t *testing.T) {
	cycles := length(2, 10)
	o := begin(t, 34, fmt.Sprintf("SIGTERM at 200 calls a second, %d cycles, two servers", cycles), "0 failed calls, WebSockets get 1012, exit within 10 s")
	node := startRelay(t, startChains(t, 1)[0].rpc("dev"))
	node.make(func(_ http.ResponseWriter, _ *http.Request, method string, _ []byte) bool {
		if method == "eth_getBalance" {
			time.Sleep(100 * time.Millisecond) // so that some twenty calls are in progress at any time
		}
		return false
	})
	fronts := []*gate{startGate(t, remoteYAML(node.URL)), startGate(t, remoteYAML(node.URL))}
	urls := []string{fronts[0].rpc("main"), fronts[1].rpc("main")}
	c := newCaller(t)
	end := streaming(t, 200, func(i int) error { return failOver(t, c, urls, node, i) })
	var slowest time.Duration
	time.Sleep(time.Second)
	for i := range cycles {
		slowest = max(slowest, restart(t, fronts[i%2]))
		time.Sleep(time.Second) // both serve
	}
	y := end()
	y.clean(t)
	o.say("%d of %d calls failed, p99 %v, exit after %v at most", len(y.failed), y.count(), round(y.quantile(0.99)), slowest.Round(10*time.Millisecond))
	o.within(slowest <= 10*time.Second)
}

// failOver makes a call at one server or, when that refuses the connection, at the
// other. A call that a server has taken is not made again.
func failOver(t *testing.T, c *caller, urls []string, node *relay, i int) error {
	err := c.read(t.Context(), urls[i%2], i)
	if isRefused(err) {
		err = c.read(t.Context(), urls[1-i%2], i)
	}
	if err != nil {
		err = fmt.Errorf("%w (the node saw this call %d times)", err, node.holding(fmt.Sprintf("0x%040x", i+1)))
	}
	return err
}

// restart ends a server with SIGTERM while a WebSocket is open, and starts it again.
func restart(t *testing.T, g *gate) (exit time.Duration) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	socket, _, err := websocket.Dial(ctx, g.ws("main"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.CloseNow()
	closed := make(chan error, 1)
	go func() {
		_, _, err := socket.Read(ctx)
		closed <- err
	}()
	begun := time.Now()
	if err := g.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	hung := time.AfterFunc(30*time.Second, func() { _ = g.cmd.Process.Signal(os.Kill) })
	state, err := g.cmd.Process.Wait()
	hung.Stop()
	exit = time.Since(begun)
	if err != nil || state.ExitCode() != 0 {
		t.Errorf("SIGTERM ends with %v, %v\n%.2000s", state, err, g.logs)
	}
	if err := <-closed; websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("the WebSocket ends with %v, want 1012", err)
	}
	g.again()
	return exit
}
