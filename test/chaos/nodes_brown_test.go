package chaos

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

// startToxic stands before an address and can make it slow.
func startToxic(t *testing.T, to string) *toxiproxy.Proxy {
	t.Helper()
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	p := toxiproxy.NewProxy(server, "node", "127.0.0.1:0", strings.TrimPrefix(to, "http://"))
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func poison(t *testing.T, p *toxiproxy.Proxy, latency time.Duration) {
	t.Helper()
	toxic := fmt.Sprintf(`{"name":"slow","type":"latency","stream":"downstream","toxicity":1,"attributes":{"latency":%d}}`, latency.Milliseconds())
	if _, err := p.Toxics.AddToxicJson(strings.NewReader(toxic)); err != nil {
		t.Fatal(err)
	}
}

// devKey is of the first account of the development mnemonic, which every embedded
// chain has given ether.
const devKey = "ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"

// transfer is a signed transaction of the development account.
func transfer(t *testing.T, nonce uint64) (raw string) {
	t.Helper()
	key, err := crypto.HexToECDSA(devKey)
	if err != nil {
		t.Fatal(err)
	}
	to := common.HexToAddress("0x00000000000000000000000000000000000c0de0")
	tx, err := types.SignNewTx(key, types.LatestSignerForChainID(big.NewInt(1337)), &types.DynamicFeeTx{
		ChainID: big.NewInt(1337), Nonce: nonce, To: &to, Value: big.NewInt(1), Gas: 21000, GasFeeCap: big.NewInt(100e9), GasTipCap: big.NewInt(1e9),
	})
	if err != nil {
		t.Fatal(err)
	}
	data, err := tx.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return hexutil.Encode(data)
}

// TestBrownOut is row 2: the answers of one node of three take five seconds more.
func TestBrownOut(t *testing.T) {
	seconds := length(4, 30)
	o := begin(t, 2, fmt.Sprintf("1 of 3 nodes 5 s slower for %d s at 200 reads a second", seconds), "0 errors, p99 within 3x, requests at the nodes at most 1.05x + 10, sends hedged 0 times")
	nodes := startChains(t, 3)
	var relays []*relay
	var toxics []*toxiproxy.Proxy
	var urls []string
	for _, n := range nodes {
		relays = append(relays, startRelay(t, n.rpc("dev")))
		toxics = append(toxics, startToxic(t, relays[len(relays)-1].URL))
		urls = append(urls, "http://"+toxics[len(toxics)-1].Listen)
	}
	g := startGate(t, remoteYAML(urls...))
	g.allHealthy(3)
	c := newCaller(t)
	run := func(first, seconds int) *tally {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
		defer cancel()
		return stream(ctx, 200, func(i int) error { return c.read(t.Context(), g.rpc("main"), first+i) })
	}
	before := run(0, length(2, 10))
	poison(t, toxics[1], 5*time.Second)
	during := run(1e6, seconds)
	before.clean(t)
	during.clean(t)
	asked := 0
	for _, r := range relays {
		asked += r.count("eth_getBalance")
	}
	calls := before.count() + during.count()
	sendDuring(t, g, c, relays)
	o.say("%d of %d failed; p99 %v, %v before; %d requests for %d calls (%.3fx)", len(during.failed), during.count(), round(during.quantile(0.99)), round(before.quantile(0.99)), asked, calls, float64(asked)/float64(calls))
	o.within(during.quantile(0.99) <= 3*before.quantile(0.99))
	if float64(asked) > 1.05*float64(calls)+10 {
		t.Errorf("%d requests at the nodes for %d calls", asked, calls)
	}
}

// TestBrownOutEverywhere is row 2 too: a tenth of all replies, of every node and to
// the health checks as well, takes five seconds more. The budget of one hedge in twenty
// calls pays for half of them, and a hedge can be slow itself: so the p90 is what can
// stay where it was.
func TestBrownOutEverywhere(t *testing.T) {
	const slow = 5 * time.Second
	seconds := length(6, 30)
	o := begin(t, 2, fmt.Sprintf("10 %% of the replies of all 3 nodes 5 s slower for %d s at 200 reads a second", seconds),
		"0 errors, p90 within 3x of the p99 before, at most 8 % of the reads slow, requests at the nodes at most 1.05x + 10, no node put aside, sends hedged 0 times")
	var relays []*relay
	var urls []string
	for _, n := range startChains(t, 3) {
		relays = append(relays, startRelay(t, n.rpc("dev")))
		urls = append(urls, relays[len(relays)-1].URL)
	}
	// A first try gets half of the time: a reply that is 5 s late is late, not lost.
	g := startGate(t, remoteYAML(urls...), "NODEGATE_LIMITS_NODE_TIMEOUT=15s")
	g.allHealthy(3)
	c := newCaller(t)
	run := func(first, seconds int) *tally {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
		defer cancel()
		return stream(ctx, 200, func(i int) error { return c.read(t.Context(), g.rpc("main"), first+i) })
	}
	before := run(0, length(2, 10))
	for _, r := range relays {
		r.make(everyTenth(slow))
	}
	during := run(1e6, seconds)
	before.clean(t)
	during.clean(t)
	asked := 0
	for _, r := range relays {
		asked += r.count("eth_getBalance")
	}
	calls, late := before.count()+during.count(), during.longer(slow*9/10)
	sendDuring(t, g, c, relays)
	aside := g.metric("nodegate_node_ejections_total")
	o.say("%d of %d failed; p90 %v, p99 %v before; %.1f %% slow; %d requests for %d calls (%.3fx); %.0f put aside", len(during.failed), during.count(),
		round(during.quantile(0.9)), round(before.quantile(0.99)), 100*late, asked, calls, float64(asked)/float64(calls), aside)
	o.within(during.quantile(0.9) <= 3*before.quantile(0.99))
	if float64(asked) > 1.05*float64(calls)+10 || late > 0.08 || aside > 0 {
		t.Error(o.measured)
	}
}

// everyTenth holds one of each ten replies back for a while; which one is drawn.
func everyTenth(wait time.Duration) func(http.ResponseWriter, *http.Request, string, []byte) bool {
	var mu sync.Mutex
	var left []int
	draw := func() int {
		mu.Lock()
		defer mu.Unlock()
		if len(left) == 0 {
			left = rand.Perm(10)
		}
		n := left[0]
		left = left[1:]
		return n
	}
	return func(_ http.ResponseWriter, r *http.Request, _ string, _ []byte) bool {
		if draw() > 0 {
			return false
		}
		select {
		case <-time.After(wait):
		case <-r.Context().Done():
		}
		return false
	}
}

// longer is the share of calls that took at least so long.
func (y *tally) longer(than time.Duration) float64 {
	y.mu.Lock()
	defer y.mu.Unlock()
	n := 0
	for _, took := range y.times {
		if took >= than {
			n++
		}
	}
	return float64(n) / float64(max(len(y.times), 1))
}

// sendDuring sends transactions. However slow a node is, it sees each once at most.
func sendDuring(t *testing.T, g *gate, c *caller, relays []*relay) {
	t.Helper()
	nonce := c.must(t, g.rpc("main"), "eth_getTransactionCount", `["0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266","latest"]`)
	first, err := hexutil.DecodeUint64(strings.Trim(nonce, `"`))
	if err != nil {
		t.Fatal(err)
	}
	hedges := g.metric("nodegate_node_extra_total", `reason="hedge"`)
	for i := range uint64(5) {
		raw := transfer(t, first+i)
		c.must(t, g.rpc("main"), "eth_sendRawTransaction", `["`+raw+`"]`)
		time.Sleep(100 * time.Millisecond)
		for n, r := range relays {
			if seen := r.holding(raw); seen > 1 {
				t.Errorf("node %d was sent a transaction %d times", n, seen)
			}
		}
	}
	if after := g.metric("nodegate_node_extra_total", `reason="hedge"`); after != hedges {
		t.Errorf("%v hedges while only transactions were sent", after-hedges)
	}
}

// holding counts the requests with a text in them.
func (r *relay) holding(text string) (n int) {
	for _, s := range r.bodies() {
		if strings.Contains(s.body, text) {
			n++
		}
	}
	return n
}
