package filter

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

func as(account, key string) context.Context {
	g, _ := nodegate.NewGrant(account, key, new(atomic.Pointer[nodegate.Policy]))
	return nodegate.WithGrant(context.Background(), g)
}

// servers are several that share a chain and a store.
func servers(n int, store Store) (*ledger, []*server, []*Node) {
	chain := newLedger()
	var below []*server
	var nodes []*Node
	for range n {
		s := &server{ledger: chain, pending: make(chan nodegate.Take, 8)}
		below, nodes = append(below, s), append(nodes, New(s, Config{Network: "main", Store: store, LogBlocks: 10_000}))
	}
	return chain, below, nodes
}

func call(t *testing.T, n *Node, ctx context.Context, name, params string) string {
	t.Helper()
	result, err := n.Call(ctx, name, []byte(params))
	if err != nil {
		t.Fatalf("%s%s: %v", name, params, err)
	}
	return string(result)
}

// TestOwners: nobody but the key that made a filter can use it.
func TestOwners(t *testing.T) {
	_, _, nodes := servers(1, &Memory{})
	n, alice := nodes[0], as("alice", "k1")
	id := call(t, n, alice, "eth_newBlockFilter", "[]")
	if len(id) != len(`"0x`)+32+1 {
		t.Fatalf("the id is %s", id)
	}
	for _, who := range []context.Context{as("mallory", "k9"), as("mallory", "k1"), as("alice", "k2"), context.Background()} {
		for _, name := range []string{"eth_getFilterChanges", "eth_getFilterLogs"} {
			if _, err := n.Call(who, name, []byte("["+id+"]")); !errors.Is(err, errNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if got := call(t, n, who, "eth_uninstallFilter", "["+id+"]"); got != "false" {
			t.Errorf("uninstalled by another: %s", got)
		}
	}
	if got := call(t, n, alice, "eth_getFilterChanges", "["+id+"]"); got != "[]" {
		t.Errorf("nothing is new, and it gets %s", got)
	}
	if got := call(t, n, alice, "eth_uninstallFilter", "["+id+"]"); got != "true" {
		t.Errorf("uninstalled: %s", got)
	}
	if _, err := n.Call(alice, "eth_getFilterChanges", []byte("["+id+"]")); !errors.Is(err, errNotFound) {
		t.Errorf("after the end: %v", err)
	}
}

func TestRefusals(t *testing.T) {
	_, _, nodes := servers(1, &Memory{})
	for _, c := range []struct{ name, params, want string }{
		{"eth_newFilter", `[]`, "missing value for required argument 0"},
		{"eth_newFilter", `[{"address":"0xbad"}]`, "invalid argument 0: hex string has length 3"},
		{"eth_newFilter", `[{"fromBlock":"pending"}]`, "pending logs are not supported"},
		{"eth_newFilter", `[{"fromBlock":"0x5","toBlock":"0x4"}]`, "invalid block range params"},
		{"eth_newFilter", `[{"toBlock":"0x4"}]`, "invalid block range params"},
		{"eth_newFilter", `[{"topics":["` + strings.Repeat("0", largestRequest) + `"]}]`, "invalid argument 0: the filter is too large: at most 64 KiB"},
		{"eth_getFilterChanges", `[]`, "missing value for required argument 0"},
		{"eth_getFilterChanges", `["0x1"]`, "filter not found"},
		{"eth_getFilterLogs", `["` + strings.Repeat("1", 1000) + `"]`, "filter not found"},
	} {
		if _, err := nodes[0].Call(as("a", "k"), c.name, []byte(c.params)); err == nil || nodegate.AsError(err).Msg != c.want {
			t.Errorf("%s%.60s: %v, want %s", c.name, c.params, err, c.want)
		}
	}
}

// TestRange: a filter with a range sees new logs within it only, and eth_getFilterLogs
// all of them.
func TestRange(t *testing.T) {
	chain, _, nodes := servers(1, &Memory{})
	n, ctx := nodes[0], as("a", "k")
	chain.grow(1)
	id := call(t, n, ctx, "eth_newFilter", `[{"fromBlock":"0x1","toBlock":"0x3"}]`)
	for range 4 {
		chain.grow(1)
	}
	changes, all := call(t, n, ctx, "eth_getFilterChanges", "["+id+"]"), call(t, n, ctx, "eth_getFilterLogs", "["+id+"]")
	if strings.Count(changes, "blockHash") != 2 || strings.Count(all, "blockHash") != 3 {
		t.Errorf("changes %s\nall %s", changes, all)
	}
	blocks := call(t, n, ctx, "eth_newBlockFilter", "[]")
	if _, err := n.Call(ctx, "eth_getFilterLogs", []byte("["+blocks+"]")); !errors.Is(err, errNotFound) {
		t.Errorf("logs of a block filter: %v", err)
	}
}

// TestBounds: an account has a share of the filters, and gets it back with time.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		_, _, nodes := servers(1, store)
		n := nodes[0]
		for range MaxPlaces {
			call(t, n, as("mallory", "k1"), "eth_newBlockFilter", "[]")
		}
		if _, err := n.Call(as("mallory", "k2"), "eth_newBlockFilter", []byte("[]")); !errors.Is(err, nodegate.AccountBusy) {
			t.Fatalf("one more: %v", err)
		}
		id := call(t, n, as("alice", "k3"), "eth_newBlockFilter", "[]")
		time.Sleep(Life - time.Second)
		call(t, n, as("alice", "k3"), "eth_getFilterChanges", "["+id+"]")
		time.Sleep(Life - time.Second)
		call(t, n, as("alice", "k3"), "eth_getFilterChanges", "["+id+"]") // each poll renews it
		call(t, n, as("mallory", "k2"), "eth_newFilter", `[{"topics":["`+strings.Repeat("0", 3*placeBytes)+`"]}]`)
		if len(store.filters) != 2 || len(store.places) != 2 || store.taken != 1+4 {
			t.Errorf("%d filters of %d accounts are left, %d places", len(store.filters), len(store.places), store.taken)
		}
	})
}

// TestCrowd: accounts that take all places don't shut out another one; the largest gives
// up what it has polled the longest ago.
func TestCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &Memory{}
		_, _, nodes := servers(1, store)
		first := ""
		for i := range maxAll / MaxPlaces {
			for range MaxPlaces {
				id := call(t, nodes[0], as(fmt.Sprint("crowd", i), "k"), "eth_newBlockFilter", "[]")
				if first == "" {
					first = id
					time.Sleep(time.Second)
				}
			}
		}
		call(t, nodes[0], as("crowd0", "k"), "eth_uninstallFilter", "["+first+"]")
		for range 50 {
			id := call(t, nodes[0], as("alice", "k"), "eth_newBlockFilter", "[]")
			call(t, nodes[0], as("alice", "k"), "eth_getFilterChanges", "["+id+"]")
		}
		if store.taken != maxAll || store.places[key{"main", "alice", ""}] != 50 || store.places[key{"main", "crowd0", ""}] < MaxPlaces-10 {
			t.Errorf("%d places are taken, %d of alice", store.taken, store.places[key{"main", "alice", ""}])
		}
	})
}

// follower is a client that applies what a filter brings.
type follower struct {
	ids  [2]string // a filter of blocks and one of logs
	logs []string
	from int // the blocks up to here were there before
}

func (f *follower) poll(t *testing.T, n *Node, ctx context.Context) {
	t.Helper()
	call(t, n, ctx, "eth_getFilterChanges", "["+f.ids[0]+"]")
	var events []json.RawMessage
	if err := json.Unmarshal([]byte(call(t, n, ctx, "eth_getFilterChanges", "["+f.ids[1]+"]")), &events); err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		text := string(e)
		if same, removed := strings.CutSuffix(text, `"removed":true}`); removed {
			i := slices.Index(f.logs, same+`"removed":false}`)
			if i < 0 {
				t.Fatalf("a log is removed that never came: %s", text)
			}
			f.logs = slices.Delete(f.logs, i, i+1)
			continue
		}
		if slices.Contains(f.logs, text) {
			t.Fatalf("a log comes twice: %s", text)
		}
		f.logs = append(f.logs, text)
	}
}

// TestModel: whatever the chain does, and whichever server is asked, a client that
// applies what it gets has exactly the logs of the chain.
func TestModel(t *testing.T) {
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(seed, 0))
		chain, below, nodes := servers(3, &Memory{})
		ctx := as("a", "k")
		for range 5 {
			chain.grow(random.IntN(3))
		}
		f := &follower{from: len(chain.chain)}
		f.ids = [2]string{call(t, nodes[0], ctx, "eth_newBlockFilter", "[]"), call(t, nodes[0], ctx, "eth_newFilter", "[{}]")}
		for range 60 {
			switch random.IntN(6) {
			case 0:
				if deep := random.IntN(4) + 1; len(chain.chain)-deep >= f.from {
					chain.drop(deep)
					for range deep + 1 {
						chain.grow(random.IntN(3))
					}
				}
			case 1, 2:
				for range random.IntN(4) {
					chain.grow(random.IntN(30) / 9)
				}
			case 3:
				below[random.IntN(3)].behind.Store(int64(random.IntN(3)))
			default:
				f.poll(t, nodes[random.IntN(3)], ctx)
			}
		}
		for _, s := range below {
			s.behind.Store(0)
		}
		f.poll(t, nodes[0], ctx)
		var want []string
		for _, b := range chain.chain[f.from:] {
			for i := range b.logs {
				want = append(want, b.log(i))
			}
		}
		slices.Sort(want)
		slices.Sort(f.logs)
		if !slices.Equal(want, f.logs) {
			t.Fatalf("seed %d: the client has %d logs, the chain %d", seed, len(f.logs), len(want))
		}
	}
}

// TestBlocks: every block comes once, in order, also more than one answer has.
func TestBlocks(t *testing.T) {
	chain, _, nodes := servers(2, &Memory{})
	ctx := as("a", "k")
	id := call(t, nodes[0], ctx, "eth_newBlockFilter", "[]")
	for range 2*maxBlockSpan + 7 {
		chain.grow(0)
	}
	var got []string
	for i := range 3 {
		var part []string
		if err := json.Unmarshal([]byte(call(t, nodes[i%2], ctx, "eth_getFilterChanges", "["+id+"]")), &part); err != nil {
			t.Fatal(err)
		}
		got = append(got, part...)
	}
	if len(got) != 2*maxBlockSpan+7 {
		t.Fatalf("%d blocks", len(got))
	}
	for i, hash := range got {
		if hash != chain.chain[i+1].hash {
			t.Fatalf("block %d is %s", i+1, hash)
		}
	}
}

// TestSetBack: a chain that was set back (a development node's snapshot) takes its logs
// back and goes on.
func TestSetBack(t *testing.T) {
	chain, _, nodes := servers(1, &Memory{})
	n, ctx := nodes[0], as("a", "k")
	id := call(t, n, ctx, "eth_newFilter", "[{}]")
	chain.grow(2)
	if got := call(t, n, ctx, "eth_getFilterChanges", "["+id+"]"); strings.Count(got, `"removed":false`) != 2 {
		t.Fatalf("two logs: %s", got)
	}
	gone := chain.chain[1]
	chain.drop(1)
	delete(chain.known, gone.hash)
	if got := call(t, n, ctx, "eth_getFilterChanges", "["+id+"]"); strings.Count(got, `"removed":true`) != 2 {
		t.Fatalf("two logs taken back: %s", got)
	}
	chain.grow(1)
	if got := call(t, n, ctx, "eth_getFilterChanges", "["+id+"]"); strings.Count(got, `"removed":false`) != 1 {
		t.Fatalf("one new log: %s", got)
	}
}

// TestPollsAtOnce: two polls of one filter never bring the same.
func TestPollsAtOnce(t *testing.T) {
	chain, _, nodes := servers(4, &Memory{})
	ctx := as("a", "k")
	id := call(t, nodes[0], ctx, "eth_newFilter", "[{}]")
	var total atomic.Int64
	done := make(chan error, 4)
	for _, n := range nodes {
		go func() {
			for range 200 {
				got, err := n.Call(ctx, "eth_getFilterChanges", []byte("["+id+"]"))
				if err != nil && !errors.Is(err, nodegate.Busy) {
					done <- err
					return
				}
				total.Add(int64(strings.Count(string(got), "blockHash")))
			}
			done <- nil
		}()
	}
	for range 300 {
		chain.grow(1)
	}
	for range nodes {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	total.Add(int64(strings.Count(call(t, nodes[0], ctx, "eth_getFilterChanges", "["+id+"]"), "blockHash")))
	if total.Load() != 300 {
		t.Errorf("%d logs of 300", total.Load())
	}
}

// TestPending: what entered the pool comes once, as hashes or whole, from any server.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, below, nodes := servers(2, &Memory{})
		ctx := as("a", "k")
		hashes := call(t, nodes[0], ctx, "eth_newPendingTransactionFilter", "[]")
		take := <-below[0].pending
		hash := func(i int) []byte { return fmt.Appendf(nil, `"0x%064x"`, i) }
		take(hash(1), nodegate.NotEnded)
		whole := call(t, nodes[1], ctx, "eth_newPendingTransactionFilter", "[true]")
		again := <-below[1].pending
		time.Sleep(2 * storeAfter)
		again(hash(1), nodegate.NotEnded) // another server sees it too
		take(hash(2), nodegate.NotEnded)
		take([]byte(`"nonsense"`), nodegate.NotEnded)
		time.Sleep(2 * storeAfter)
		if got, want := call(t, nodes[1], ctx, "eth_getFilterChanges", "["+hashes+"]"), "["+string(hash(1))+","+string(hash(2))+"]"; got != want {
			t.Errorf("hashes: %s", got)
		}
		if got := call(t, nodes[0], ctx, "eth_getFilterChanges", "["+whole+"]"); !strings.Contains(got, `{"hash":`+string(hash(2))+`}`) {
			t.Errorf("whole: %s", got)
		}
		if got := call(t, nodes[0], ctx, "eth_getFilterChanges", "["+hashes+"]"); got != "[]" {
			t.Errorf("again: %s", got)
		}
		take(nil, nodegate.EventsLost)
		synctest.Wait()
		call(t, nodes[0], ctx, "eth_getFilterChanges", "["+hashes+"]")
		<-below[0].pending // it subscribes again
		time.Sleep(3 * Life)
		for _, n := range nodes {
			n.pending.mu.Lock()
			if n.pending.now != nil {
				t.Error("a pool is followed that nobody asks for")
			}
			n.pending.mu.Unlock()
		}
	})
}
