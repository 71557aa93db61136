package nodes_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/config"
	"github.com/nodegate/nodegate/test/dbtest"
	"github.com/nodegate/nodegate/test/harness"
)

// miner is a node that makes a block when a test wants one.
func miner(t *testing.T) *front {
	t.Helper()
	return &front{Service: harness.Start(t, func(c *config.Config) {
		c.Networks = []config.Network{{Name: "dev", Dialect: "standard", Embedded: &config.Embedded{Preset: "devnet"}, Namespaces: []string{"evm"}}}
		c.DefaultNetwork = "dev"
	})}
}

// countBalances stands before a node and counts what it is asked for an address.
func countBalances(t *testing.T, to, address string) (at string, asked *atomic.Int64) {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	asked = new(atomic.Int64)
	proxy := &httputil.ReverseProxy{Rewrite: func(p *httputil.ProxyRequest) { p.Out.URL, p.Out.Host = target, target.Host }}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // what is cut short isn't what is counted
		if bytes.Contains(body, []byte(address)) {
			asked.Add(1)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// untilKept waits until Redis has an answer: a server doesn't wait for that itself.
func untilKept(t *testing.T, addr string) {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	in := bufio.NewReader(c)
	for {
		if _, err := c.Write([]byte("EVAL \"return #redis.call('keys','nodegate:answer:*')\" 0\r\n")); err != nil {
			t.Fatal(err)
		}
		switch line, err := in.ReadString('\n'); {
		case err != nil || line[0] != ':':
			t.Fatalf("Redis says %q, %v", line, err)
		case strings.TrimSpace(line) != ":0":
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// head is the newest block that a server tells of.
func (f *front) head(t *testing.T) uint64 {
	t.Helper()
	a := f.call(t, "main", "eth_blockNumber", "[]")
	n, err := strconv.ParseUint(strings.Trim(a.result, `"`), 0, 64)
	if err != nil {
		t.Fatalf("eth_blockNumber is %+v", a)
	}
	return n
}

// reaches waits until a server tells of a block, and fails if it ever goes back.
func (f *front) reaches(t *testing.T, want uint64) {
	t.Helper()
	last := uint64(0)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		now := f.head(t)
		if now < last {
			t.Fatalf("the head goes from %d to %d", last, now)
		}
		if last = now; now >= want {
			return
		}
	}
	t.Fatalf("the head stays at %d, want %d", last, want)
}

// TestTwoServers is what servers share over Redis: final answers and the head, each
// with a node of its own that the other doesn't know. Redis dies and comes back.
func TestTwoServers(t *testing.T) {
	redis := dbtest.Redis(t)
	const address = "0x00000000000000000000000000000000005ead5e"
	final := `["` + address + `","0x5"]`
	nodes, urls := [2]*front{miner(t), miner(t)}, [2]string{}
	var asked [2]*atomic.Int64
	var servers [2]*front
	for i, n := range nodes {
		urls[i], asked[i] = countBalances(t, n.URL("dev", key), address)
		servers[i] = startFront(t, fmt.Sprintf("redis: {url: %q}\nnetworks:\n", "redis://"+redis.Addr)+network("main", "", urls[i]))
	}
	a, b := servers[0], servers[1]
	a.ready(t)
	b.ready(t)

	// What A got is what B answers, without asking its node.
	first := a.call(t, "main", "eth_getBalance", final)
	if first.result == "" || asked[0].Load() != 1 {
		t.Fatalf("%+v, asked %d times", first, asked[0].Load())
	}
	untilKept(t, redis.Addr)
	if got := b.call(t, "main", "eth_getBalance", final); got.result != first.result || asked[1].Load() != 0 || got.header.Get("X-Cache") != "hit" {
		t.Errorf("the other server: %+v, its node was asked %d times", got, asked[1].Load())
	}

	// Only A's node has the next block. Whoever saw it at A doesn't see less at B.
	head := a.head(t)
	nodes[0].call(t, "dev", "evm_mine", "[]")
	a.reaches(t, head+1)
	b.reaches(t, head+1)

	// Without Redis each goes on alone, and neither goes back.
	redis.Stop()
	for i, f := range servers {
		for n := range 20 {
			if got := f.call(t, "main", "eth_getBalance", fmt.Sprintf(`["0x%040x","0x3"]`, 1000*i+n)); got.result == "" {
				t.Fatalf("server %d without Redis: %+v", i, got)
			}
			if now := f.head(t); now < head+1 {
				t.Fatalf("server %d goes back to %d", i, now)
			}
		}
	}
	nodes[0].call(t, "dev", "evm_mine", "[]")
	a.reaches(t, head+2)
	if now := b.head(t); now != head+1 {
		t.Errorf("B tells of %d, which nobody can have told it", now)
	}
	redis.Restart()
	b.reaches(t, head+2)
}
