package clients_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/harness"
)

// TestIndexersOverLedger counts the calls that reach the node of a remote network while
// indexers read it, with a ledger and without one.
func TestIndexersOverLedger(t *testing.T) {
	const before, after, value = 100, 20, 1000 // a ledger begins with 128 blocks
	for _, kept := range []uint64{0, 10_000} {
		t.Run(fmt.Sprintf("ledger of %d blocks", kept), func(t *testing.T) {
			dir, _ := fullProject(t, "indexers") // Ponder keeps what it read there
			node := startService(t)
			changeValue(t, node, 0, before)
			counted := countCalls(t, node.http("devnet", key))
			front := startFront(t, node, counted.URL, kept)
			counted.report(t, "start")
			runSquid(t, front, dir)
			squid := counted.report(t, "Subsquid")
			api := startPonder(t, front, dir)
			ponder := counted.report(t, "Ponder, history")
			changeValue(t, node, value, after)
			awaitChange(t, api, value+after-1)
			counted.report(t, fmt.Sprintf("Ponder, %d new blocks", after))
			if n := squid.lookups() + ponder.lookups(); kept > 0 && n > 0 {
				t.Errorf("%d lookups and log queries reached the node", n)
			}
		})
	}
}

// changeValue has the demo contract of a node log so many new values, each in a block.
func changeValue(t *testing.T, node *service, first, count int) {
	t.Helper()
	c := dialGeth(t, node.http("devnet", key), node.facts["devnet"])
	for i := range count {
		tip, fee, nonce := c.fees(t, c.account)
		tx := c.sign(c.account, &types.DynamicFeeTx{
			ChainID: new(big.Int).SetUint64(c.facts.ChainID), Nonce: nonce, GasTipCap: tip, GasFeeCap: fee, Gas: 100_000,
			To: &c.facts.Demo, Data: c.pack(t, "setValue", big.NewInt(int64(first+i))).Data,
		})
		if err := c.SendTransaction(c.ctx, tx); err != nil {
			t.Fatal(err)
		}
		c.mined(t, tx.Hash())
	}
}

func (s *service) height(t *testing.T) uint64 {
	t.Helper()
	head, err := dialGeth(t, s.http("devnet", key), s.facts["devnet"]).BlockNumber(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// startFront serves a node as a remote network, and waits until its ledger has the chain.
func startFront(t *testing.T, node *service, url string, kept uint64) *service {
	t.Helper()
	front := harness.Start(t, func(c *config.Config) {
		n := remoteNetwork("devnet", url)
		n.Cache, n.Ledger = config.Default().Networks[0].Cache, config.Ledger{Blocks: kept, Disk: 1 << 30, Memory: 8 << 20}
		c.Networks, c.DefaultNetwork = []config.Network{n}, n.Name
	})
	awaitReady(t, front)
	s := &service{Service: front, base: front.RPC, facts: readFacts(t)}
	head := node.height(t)
	s.facts["devnet"].raise(t, head)
	if kept > 0 {
		awaitLedger(t, front, head)
	}
	return s
}

// raise tells scripts of a chain that has grown.
func (f *facts) raise(t *testing.T, head uint64) {
	t.Helper()
	var members map[string]json.RawMessage
	if err := json.Unmarshal(f.raw, &members); err != nil {
		t.Fatal(err)
	}
	members["head"] = fmt.Append(nil, head)
	raw, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	f.Head, f.raw = head, raw
}

// awaitLedger waits until a ledger has all blocks.
func awaitLedger(t *testing.T, s *harness.Service, head uint64) {
	t.Helper()
	await(t, "the ledger", func() bool {
		res, err := http.Get(s.Admin + "/ledgers")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var all map[string]struct{ Blocks, Last, Lag uint64 }
		now := json.NewDecoder(res.Body).Decode(&all)
		l := all["devnet"]
		return now == nil && l.Last >= head && l.Blocks > head && l.Lag == 0
	})
}

// awaitChange waits until Ponder has indexed a value.
func awaitChange(t *testing.T, api string, value int) {
	t.Helper()
	await(t, "the newest event", func() bool {
		res, err := http.Get(api + "/changes")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		var changes []struct{ Value int }
		return json.NewDecoder(res.Body).Decode(&changes) == nil && slices.Contains(changes, struct{ Value int }{value})
	})
}

// counted is a node behind a proxy that counts its calls.
type counted struct {
	*httptest.Server
	mu    sync.Mutex
	calls calls
	since time.Time
}

// calls are numbers of calls by method. Those for the newest block have a mark: they poll.
type calls map[string]int

const polls = ", newest"

// lookups are those for what a ledger has.
func (c calls) lookups() (n int) {
	for name, count := range c {
		if !strings.HasSuffix(name, polls) && (strings.HasPrefix(name, "eth_getBlock") || strings.HasPrefix(name, "eth_getTransaction") || name == "eth_getLogs") {
			n += count
		}
	}
	return n
}

func countCalls(t *testing.T, to string) *counted {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	c := &counted{calls: calls{}, since: time.Now()}
	next := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut short is the node's to refuse
		c.count(body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *counted) count(body []byte) {
	var call struct {
		Method string
		Params []any
	}
	if json.Unmarshal(body, &call) != nil {
		call.Method = "not one call"
	}
	if len(call.Params) > 0 && slices.Contains([]any{"latest", "safe", "finalized"}, call.Params[0]) {
		call.Method += polls
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[call.Method]++
}

// report shows the calls since the last report.
func (c *counted) report(t *testing.T, what string) calls {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.calls
	t.Logf("%s, %.1f s:", what, time.Since(c.since).Seconds())
	for _, name := range slices.Sorted(maps.Keys(was)) {
		t.Logf("  %-40s %d", name, was[name])
	}
	c.calls, c.since = calls{}, time.Now()
	return was
}
