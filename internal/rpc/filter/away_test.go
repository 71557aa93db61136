package filter

import (
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/store/redisstore"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/full"
)

// TestRedisAway: while Redis hangs or is gone, every filter method is busy. None says that a
// filter isn't there, which would have its owner give it up: it works again when Redis does.
func TestRedisAway(t *testing.T) {
	full.Slow(t)
	server := dbtest.Redis(t)
	s, err := redisstore.Open(t.Context(), "redis://"+server.Addr, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	bounds := redisstore.FilterBounds{Life: int(Life.Seconds()), Places: MaxPlaces, Pending: MaxPending}
	chain, _, nodes := servers(1, s.Filters(bounds))
	logs := call(t, nodes[0], as("a", "k"), "eth_newFilter", `[{}]`)
	blocks := call(t, nodes[0], as("a", "k"), "eth_newBlockFilter", `[]`)
	busy := func(why string) {
		t.Helper()
		var all sync.WaitGroup
		for _, c := range [][2]string{
			{"eth_getFilterChanges", logs}, {"eth_getFilterChanges", blocks}, {"eth_getFilterLogs", logs}, {"eth_uninstallFilter", logs},
			{"eth_newFilter", "{}"}, {"eth_newBlockFilter", ""}, {"eth_newPendingTransactionFilter", ""},
		} {
			all.Go(func() {
				if got, err := nodes[0].Call(as("a", "k"), c[0], []byte("["+c[1]+"]")); !errors.Is(err, nodegate.Busy) {
					t.Errorf("%s while Redis %s: %s, %v", c[0], why, got, err)
				}
			})
		}
		all.Wait()
	}
	server.Pause()
	busy("hangs")
	server.Resume()
	chain.grow(1)
	awaitFilter(t, nodes[0], blocks)
	server.Stop()
	busy("is gone")
}

// awaitFilter waits until a filter can be read again.
func awaitFilter(t *testing.T, n *Node, id string) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		got, err := n.Call(as("a", "k"), "eth_getFilterChanges", []byte("["+id+"]"))
		if err == nil {
			if string(got) == "[]" {
				t.Error("the block that came meanwhile is lost")
			}
			return
		}
		if !errors.Is(err, nodegate.Busy) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}
