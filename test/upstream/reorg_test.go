package upstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/blocktag"
	"github.com/nodegate/nodegate/internal/rpc/cache"
	"github.com/nodegate/nodegate/internal/rpc/upstream/pool"
	"github.com/nodegate/nodegate/test/full"
)

// reorgNode is a node whose chain reorganizes. A block is known by the version of the
// chain that brought it, and that is also what the node says of any balance in it.
type reorgNode struct {
	mu     sync.Mutex
	blocks []int // versions, by number
	asked  atomic.Int64
}

func (n *reorgNode) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var call struct {
		ID     json.RawMessage
		Method string
		Params []json.RawMessage
	}
	if err := json.NewDecoder(r.Body).Decode(&call); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, call.ID, n.answer(call.Method, call.Params))
}

func (n *reorgNode) answer(method string, params []json.RawMessage) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch method {
	case "eth_chainId":
		return `"0x539"`
	case "eth_syncing":
		return "false"
	case "eth_getBlockByNumber":
		return n.block(string(params[0]))
	case "eth_getBalance":
		n.asked.Add(1)
		if at := heightOf(string(params[1])); at < len(n.blocks) {
			return fmt.Sprintf(`"0x%x"`, n.blocks[at])
		}
	}
	return "null"
}

// block describes one. The node is locked.
func (n *reorgNode) block(which string) string {
	at := len(n.blocks) - 1
	switch which {
	case `"latest"`:
	case `"safe"`, `"finalized"`:
		at = 1
	default:
		if at = heightOf(which); at >= len(n.blocks) {
			return "null"
		}
	}
	return fmt.Sprintf(`{"number":"0x%x","hash":%s,"parentHash":%s,"timestamp":"0x%x","gasLimit":"0x1c9c380"}`,
		at, n.hash(at), n.hash(at-1), time.Now().Unix())
}

func (n *reorgNode) hash(at int) string {
	if at < 0 {
		return fmt.Sprintf(`"0x%064x"`, 0)
	}
	return fmt.Sprintf(`"0x%032x%032x"`, n.blocks[at]+1, at+1)
}

// heightOf reads a quoted number.
func heightOf(quoted string) int {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.Trim(quoted, `"`), "0x"), 16, 32)
	if err != nil {
		panic(quoted)
	}
	return int(n)
}

// depth is how many blocks each version of the chain replaces.
const depth = 3

// reorganize replaces the newest blocks and adds one. Each head's number says to which
// version it belongs.
func (n *reorgNode) reorganize(version int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.blocks = n.blocks[:len(n.blocks)-depth]
	for range depth + 1 {
		n.blocks = append(n.blocks, version)
	}
}

const (
	firstHead = 10 // of version 0
	versions  = 12
)

// TestNoOrphansBehindTheCache: a chain that reorganizes all the time stands behind the pool, the
// cache and the tags. Who was shown a head never gets an answer that this head replaced,
// and the cache still answers.
func TestNoOrphansBehindTheCache(t *testing.T) {
	full.Slow(t)
	remote := &reorgNode{blocks: make([]int, firstHead+1)}
	server := httptest.NewServer(remote)
	t.Cleanup(server.Close)
	pool, _ := openPool(t, pool.Node{Name: "a", URL: server.URL})
	top := blocktag.New(cache.New(pool, cache.Config{Network: "devnet", Bytes: 1 << 20}))

	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	var hits atomic.Int64
	for range 4 {
		readers.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				readBelowHead(t, top, &hits)
			}
		})
	}
	for version := 1; version <= versions && !t.Failed(); version++ {
		remote.reorganize(version)
		wait(t, "the new head", func() bool {
			head, err := top.Head(t.Context())
			return err == nil && head.Number == uint64(firstHead+version)
		})
	}
	stop()
	readers.Wait()
	if hits.Load() == 0 || remote.asked.Load() == 0 {
		t.Errorf("%d answers from the cache, %d from the node: nothing was shown", hits.Load(), remote.asked.Load())
	}
	if head, err := pool.Head(t.Context()); err != nil || head.Fork < versions {
		t.Errorf("%+v, %v after %d reorgs", head, err, versions)
	}
}

// readBelowHead reads the blocks that the newest head replaced.
func readBelowHead(t *testing.T, top nodegate.Node, hits *atomic.Int64) {
	head, err := top.Head(t.Context())
	if err != nil {
		t.Error(err)
		return
	}
	for at := head.Number; at > head.Number-depth; at-- {
		var trace nodegate.Trace
		params := fmt.Sprintf(`["0x%040x","0x%x"]`, 1, at)
		got, err := top.Call(nodegate.WithTrace(t.Context(), &trace), "eth_getBalance", []byte(params))
		if err != nil {
			t.Error(err)
			return
		}
		if trace.Cache == nodegate.CacheHit {
			hits.Add(1)
		}
		if version := heightOf(string(got)); version < int(head.Number)-firstHead {
			t.Errorf("head %d is of version %d; block %d came from version %d (%s)", head.Number, head.Number-firstHead, at, version, trace.Cache)
			return
		}
	}
}

// TestNothingFinalOutlivesItsChain: a test chain is started over with the same first block and
// is at once higher than the old one. What the cache kept as final is asked for again.
func TestNothingFinalOutlivesItsChain(t *testing.T) {
	full.Slow(t)
	remote := &reorgNode{blocks: make([]int, firstHead+1)}
	server := httptest.NewServer(remote)
	t.Cleanup(server.Close)
	pool, _ := openPool(t, pool.Node{Name: "a", URL: server.URL})
	top := blocktag.New(cache.New(pool, cache.Config{Network: "devnet", Bytes: 1 << 20}))
	ask := func() (version int, from string) {
		var trace nodegate.Trace
		got, err := top.Call(nodegate.WithTrace(t.Context(), &trace), "eth_getBalance", fmt.Appendf(nil, `["0x%040x","0x1"]`, 1))
		if err != nil {
			t.Fatal(err)
		}
		return heightOf(string(got)), string(trace.Cache)
	}
	wait(t, "the final block", func() bool {
		head, err := top.Head(t.Context())
		return err == nil && head.Finalized == 1
	})
	ask()
	if version, from := ask(); version != 0 || from != string(nodegate.CacheHit) {
		t.Fatalf("version %d (%s) before", version, from)
	}
	remote.mu.Lock()
	for i := range remote.blocks[1:] {
		remote.blocks[i+1] = 1
	}
	remote.blocks = append(remote.blocks, 1)
	remote.mu.Unlock()
	wait(t, "the answer of the new chain", func() bool {
		version, _ := ask()
		return version == 1
	})
	if head, err := top.Head(t.Context()); err != nil || head.Lost != 1 || head.Finalized != 1 {
		t.Errorf("%+v, %v", head, err)
	}
	if version, from := ask(); version != 1 || from != string(nodegate.CacheHit) {
		t.Errorf("version %d (%s) after", version, from)
	}
}
