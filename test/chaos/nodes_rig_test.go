package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// freeAddress is one that nobody listens on. A server that is to come back at the
// same address needs one.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// gate is a server with a known address of JSON-RPC, which it keeps when it is
// started again.
type gate struct {
	*program
	listen string
}

// startGate runs the program with a configuration file.
func startGate(t *testing.T, yaml string, env ...string) *gate {
	t.Helper()
	g := &gate{listen: freeAddress(t)}
	box := newSandbox(t)
	box.plain = strings.Contains(yaml, "store:")
	file := box.path("work", "nodegate.yaml")
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	box.env = append([]string{"NODEGATE_CONFIG=" + file, "NODEGATE_LISTEN=" + g.listen, "NODEGATE_MEMORY_ANSWERS=16MiB", "NODEGATE_MEMORY_STATE=16MiB"}, env...)
	g.program = box.start()
	return g
}

// again starts a program that was killed, in its folder and at its address.
func (g *gate) again() { g.program = g.sandbox.start() }

// rpc is the address of a network.
func (g *gate) rpc(network string) string {
	return "http://" + g.listen + "/" + network + "/v3/" + g.key
}

func (g *gate) ws(network string) string {
	return "ws://" + g.listen + "/" + network + "/ws/v3/" + g.key
}

// startChain runs a node: the program with an embedded chain that mines on demand.
// All of them have the same first blocks.
func startChain(t *testing.T) *gate {
	t.Helper()
	return startGate(t, "networks:\n  - {name: dev, embedded: {}, namespaces: [evm]}\n")
}

// startChains runs several nodes at once.
func startChains(t *testing.T, count int) []*gate {
	t.Helper()
	buildProgram(t)
	list := make([]*gate, count)
	for i := range list {
		list[i] = startChain(t)
	}
	return list
}

// remoteYAML is a network called main of nodes called n0, n1 and so on, with no
// cache and no ledger, so that every call reaches one.
func remoteYAML(urls ...string) string {
	s := "networks:\n  - name: main\n    cache: 0\n    ledger: {blocks: 0}\n    nodes:\n"
	for i, url := range urls {
		s += fmt.Sprintf("      - {name: n%d, url: %q}\n", i, url)
	}
	return s
}

// withSockets is remoteYAML over HTTP and WebSocket.
func withSockets(nodes []*gate) string {
	s := "networks:\n  - name: main\n    cache: 0\n    ledger: {blocks: 0}\n    nodes:\n"
	for i, n := range nodes {
		s += fmt.Sprintf("      - {name: n%d, url: %q, ws: %q}\n", i, n.rpc("dev"), n.ws("dev"))
	}
	return s
}

func urlsOf(nodes []*gate) (urls []string) {
	for _, n := range nodes {
		urls = append(urls, n.rpc("dev"))
	}
	return urls
}

// allHealthy waits until the server would ask so many nodes.
func (g *gate) allHealthy(count int) {
	g.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Count(g.page("/nodes"), `"healthy":true`) == count {
			return
		}
	}
	g.t.Fatalf("not all of %d nodes are well: %s", count, g.page("/nodes"))
}

// page is what the admin listener has at a path.
func (g *gate) page(path string) string {
	g.t.Helper()
	res, err := g.client.Get(g.admin + path)
	if err != nil {
		g.t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return string(data)
}

// metric adds up the series of a metric that have all these labels, as in node="n1".
func (g *gate) metric(name string, labels ...string) (sum float64) {
	g.t.Helper()
	line := regexp.MustCompile(`^` + name + `(\{.*\})? (\S+)$`)
	for text := range strings.Lines(g.page("/metrics")) {
		m := line.FindStringSubmatch(strings.TrimSpace(text))
		if m == nil || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(m[1], l) }) {
			continue
		}
		value, err := strconv.ParseFloat(m[2], 64)
		if err != nil {
			g.t.Fatal(err)
		}
		sum += value
	}
	return sum
}

// caller makes calls over kept connections.
type caller struct{ client *http.Client }

func newCaller(t *testing.T) *caller {
	tr := &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &caller{&http.Client{Timeout: 30 * time.Second, Transport: tr}}
}

// answer is what a call came to.
type answer struct {
	status int
	header http.Header
	body   []byte
	result json.RawMessage
	code   int // of a JSON-RPC error
	text   string
}

// post sends a body and reads one answer, which need not be a good one.
func (c *caller) post(ctx context.Context, url, body string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := c.client.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer res.Body.Close()
	a := answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		return a, err
	}
	var envelope struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if json.Unmarshal(a.body, &envelope) == nil {
		a.result = envelope.Result
		if envelope.Error != nil {
			a.code, a.text = envelope.Error.Code, envelope.Error.Message
		}
	}
	return a, nil
}

func envelopeOf(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":` + params + `}`
}

// must makes a call that has to have a result.
func (c *caller) must(t *testing.T, url, method, params string) string {
	t.Helper()
	a, err := c.post(t.Context(), url, envelopeOf(method, params))
	if err != nil || a.result == nil {
		t.Fatalf("%s: %v, %d %.300s", method, err, a.status, a.body)
	}
	return string(a.result)
}

// balance is a read that no other read is like.
func balance(i int) string {
	return envelopeOf("eth_getBalance", fmt.Sprintf(`["0x%040x","latest"]`, i+1))
}

// read asks for a balance; an answer without one is an error.
func (c *caller) read(ctx context.Context, url string, i int) error {
	a, err := c.post(ctx, url, balance(i))
	if err == nil && (a.status != http.StatusOK || a.result == nil) {
		err = fmt.Errorf("%d %.200s", a.status, a.body)
	}
	return err
}

// tally is what a stream of calls came to.
type tally struct {
	mu     sync.Mutex
	failed []error
	times  []time.Duration
}

func (y *tally) add(took time.Duration, err error) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.times = append(y.times, took)
	if err != nil {
		y.failed = append(y.failed, err)
	}
}

func (y *tally) count() int {
	y.mu.Lock()
	defer y.mu.Unlock()
	return len(y.times)
}

// quantile is of the times of all calls.
func (y *tally) quantile(q float64) time.Duration {
	y.mu.Lock()
	defer y.mu.Unlock()
	if len(y.times) == 0 {
		return 0
	}
	times := slices.Sorted(slices.Values(y.times))
	return times[int(q*float64(len(times)-1))]
}

// mostUnderWay bounds the calls of a stream that have no answer yet.
const mostUnderWay = 2000

var errCrowded = errors.New("too many calls have no answer")

// stream makes calls at a rate, each when it is due whether or not others are
// answered, until the context ends; then it waits for the answers.
func stream(ctx context.Context, rate int, call func(i int) error) *tally {
	y := new(tally)
	places := make(chan struct{}, mostUnderWay)
	var wait sync.WaitGroup
	begun := time.Now()
	for i := 0; ; i++ {
		due := begun.Add(time.Duration(i) * time.Second / time.Duration(rate))
		select {
		case <-ctx.Done():
			wait.Wait()
			return y
		case <-time.After(time.Until(due)):
		}
		select {
		case places <- struct{}{}:
		default:
			y.add(0, errCrowded)
			continue
		}
		wait.Go(func() {
			err := call(i)
			y.add(time.Since(due), err)
			<-places
		})
	}
}

// streaming is a stream beside the test. The function ends it.
func streaming(t *testing.T, rate int, call func(i int) error) (end func() *tally) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan *tally, 1)
	go func() { done <- stream(ctx, rate, call) }()
	return func() *tally { cancel(); return <-done }
}

// clean fails the test for calls that failed.
func (y *tally) clean(t *testing.T) {
	t.Helper()
	if len(y.failed) > 0 {
		t.Errorf("%d of %d calls failed, the first with: %v", len(y.failed), len(y.times), y.failed[0])
	}
}
