package kubo_test

import (
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/ipfs/kubo"
	"github.com/nodegate/nodegate/test/full"
)

// hung is a node that accepts connections and never answers.
func hung(t *testing.T) kubo.Endpoint {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var conns []net.Conn
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range conns {
			_ = c.Close()
		}
	})
	return kubo.Endpoint{URL: "http://" + l.Addr().String()}
}

// onlyProbes makes an engine whose uploads end only by what health checks find.
func onlyProbes(c *kubo.Config) {
	c.Hurry(hurry, 64<<10)
	c.OnlyProbes()
}

// A node that hangs is found by its health check. Uploads that wait for it go to another
// node, or fail as those without a node do.
func TestHung(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	e := open(t, onlyProbes, hung(t), shared(t))
	mustStore(t, e, "a", "past a node that hangs")
	eventually(t, "the node is out of use", func() error {
		if stats := e.Stats(); stats[0].Up || !stats[1].Up {
			return errors.New("it counts as up")
		}
		return nil
	})
	alone := open(t, onlyProbes, hung(t))
	if _, err := store(t.Context(), alone, "a", "nowhere to go"); !errors.Is(err, nodegate.Busy) {
		t.Errorf("with no other node: %v, want Busy", err)
	}
	if err := storeLarge(t, open(t, onlyProbes, hung(t)), "nowhere to go"); !errors.Is(err, nodegate.Busy) {
		t.Errorf("a stream with no other node: %v, want Busy", err)
	}
}
