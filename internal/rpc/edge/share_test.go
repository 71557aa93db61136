package edge_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/edge"
	"github.com/nodegate/nodegate/test/full"
)

// tenants lets keys of the form account.number in.
type tenants struct {
	mu   sync.Mutex
	plan map[string]nodegate.Plan // by account
}

func (a *tenants) Authenticate(_ context.Context, c nodegate.Credentials) (*nodegate.Grant, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	account, _, _ := strings.Cut(c.Key, ".")
	return edge.NewAccountGrant(account, c.Key, nodegate.Policy{Plan: a.plan[account]}), nil
}

// buildShares is an edge with bounds over a node whose events come from the test.
func buildShares(t *testing.T, b edge.Bounds, plan map[string]nodegate.Plan) (*house, *pusher) {
	t.Helper()
	p := &pusher{tally: &tally{}}
	h := buildWith(t, func(cfg *edge.Config) {
		cfg.Networks = []nodegate.Network{{Name: "net", Node: p}}
		cfg.Auth, cfg.Bounds, cfg.SubscriptionsPerConn = &tenants{plan: plan}, b, 100
		cfg.Methods = []string{"eth_blockNumber", "eth_subscribe"}
		cfg.Costs.Methods = map[string]int64{"eth_subscribe": 5, "eth_subscription": 10}
	})
	return h, p
}

func (h *house) dialSocket(t *testing.T, key string) (*websocket.Conn, *http.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, res, err := websocket.Dial(ctx, "ws://"+h.addr+"/net/ws/v3/"+key, nil)
	if err == nil {
		t.Cleanup(func() { _ = c.CloseNow() })
	}
	return c, res, err
}

// eventually waits for something that must come.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// TestSocketsPerAccount: 40 keys get as many sockets as one, the one too many gets 429
// with Retry-After, all accounts together 503, and everything is counted back.
func TestSocketsPerAccount(t *testing.T) {
	h, _ := buildShares(t, edge.Bounds{SocketsPerAccount: 5, Sockets: 12}, map[string]nodegate.Plan{"large": {Sockets: 6}})
	open := func(account string) (open []*websocket.Conn, last *http.Response) {
		for i := range 40 {
			c, res, err := h.dialSocket(t, fmt.Sprintf("%s.%d", account, i))
			if last = res; err != nil {
				break
			}
			open = append(open, c)
		}
		return open, last
	}
	a, res := open("a")
	if len(a) != 5 || res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d sockets, then %v", len(a), res.Status)
	}
	if large, res := open("large"); len(large) != 6 || res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("%d sockets of a larger plan, then %v", len(large), res.Status)
	}
	if b, res := open("b"); len(b) != 1 || res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d sockets of another account, then %v", len(b), res.Status)
	}
	for _, c := range a {
		_ = c.CloseNow()
	}
	eventually(t, "the sockets are not counted back", func() bool {
		o := h.edge.OpenOf("a")
		return o.Sockets == 0 && o.AllSockets == 7
	})
	if _, _, err := h.dialSocket(t, "a.1"); err != nil {
		t.Errorf("a socket after the others: %v", err)
	}
}

// TestSubscriptionsPerAccount counts them over keys and sockets, and back when they end
// by themselves, with a refusal of the node, or with their socket.
func TestSubscriptionsPerAccount(t *testing.T) {
	h, _ := buildShares(t, edge.Bounds{SubscriptionsPerAccount: 4}, nil)
	one, _, err := h.dialSocket(t, "a.1")
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := h.dialSocket(t, "a.2")
	if err != nil {
		t.Fatal(err)
	}
	id := subscribed(t, one)
	subscribed(t, one)
	subscribed(t, two)
	subscribed(t, two)
	const more = `{"jsonrpc":"2.0","id":7,"method":"eth_subscribe","params":["newHeads"]}`
	for _, c := range []*websocket.Conn{one, two} {
		if got := exchange(t, c, more); !strings.Contains(got, `"code":-32005`) || !strings.Contains(got, "too many subscriptions of this account: at most 4") {
			t.Errorf("one too many answers %s", got)
		}
	}
	if got := exchange(t, one, `{"jsonrpc":"2.0","id":1,"method":"eth_unsubscribe","params":["`+id+`"]}`); !strings.Contains(got, "true") {
		t.Fatal(got)
	}
	if o := h.edge.OpenOf("a"); o.Subscriptions != 3 || o.AllSubscriptions != 3 {
		t.Errorf("open after one has ended: %+v", o)
	}
	subscribed(t, two)
	_ = two.CloseNow()
	eventually(t, "the subscriptions of a socket are not counted back", func() bool { return h.edge.OpenOf("a").Subscriptions == 1 })
	_ = one.CloseNow()
	eventually(t, "something is left", func() bool {
		o := h.edge.OpenOf("a")
		return o.Sockets == 0 && o.Subscriptions == 0 && o.AllSubscriptions == 0
	})
}

// TestCallsPerAccount holds all calls of an account up: with 40 keys, over HTTP and
// WebSockets, no more than its share reach the node. Another account's go on.
func TestCallsPerAccount(t *testing.T) {
	const share = 3
	h, p := buildShares(t, edge.Bounds{CallsPerAccount: share}, nil)
	release := make(chan struct{})
	p.answer = func(_ context.Context, method string) ([]byte, error) {
		if method == "hold" {
			<-release
		}
		return []byte("1"), nil
	}
	const body = `{"jsonrpc":"2.0","id":1,"method":"hold"}`
	var all sync.WaitGroup
	for i := range 20 {
		key := fmt.Sprintf("a.%d", i)
		c, _, err := h.dialSocket(t, key)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			for range 3 {
				_ = c.Write(t.Context(), websocket.MessageText, []byte(body))
			}
			for range 3 {
				if _, b, err := c.Read(t.Context()); err != nil || !strings.Contains(string(b), `"result":1`) {
					t.Errorf("%s, %v", b, err)
				}
			}
		})
	}
	eventually(t, "the share is not used", func() bool { return p.calls.Load() == share })
	res, text := h.post(t, "a.20", body)
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || !strings.Contains(text, "too many calls of this account") {
		t.Errorf("HTTP beyond the share: %s %s", res.Status, text)
	}
	if res, text := h.post(t, "b.1", `{"jsonrpc":"2.0","id":1,"method":"quick"}`); res.StatusCode != http.StatusOK {
		t.Errorf("another account: %s %s", res.Status, text)
	}
	if n := p.calls.Load(); n != share+1 {
		t.Errorf("%d calls have reached the node", n)
	}
	close(release)
	all.Wait()
	eventually(t, "calls are not counted back", func() bool { return h.edge.OpenOf("a").Calls == 0 })
	if res, text := h.post(t, "a.20", body); res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %s %s", res.Status, text)
	}
}

// TestCallsPerAccountOverPlainHTTP does the same with small requests that net/http never
// sees. What is refused is counted under its method.
func TestCallsPerAccountOverPlainHTTP(t *testing.T) {
	full.Slow(t)
	const share = 3
	h, p := buildShares(t, edge.Bounds{CallsPerAccount: share}, nil)
	release := make(chan struct{})
	p.answer = func(context.Context, string) ([]byte, error) {
		<-release
		return []byte("1"), nil
	}
	const clients = 20
	statuses := make(chan int, clients)
	for range clients {
		c := h.dial(t)
		body := envelope("eth_blockNumber") // and a path without dots, which net/http would clean
		_, err := fmt.Fprintf(c, "POST /net/v3/a HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Error(err)
				res = &http.Response{}
			}
			statuses <- res.StatusCode
		}()
	}
	for range clients - share {
		if status := <-statuses; status != http.StatusTooManyRequests {
			t.Errorf("beyond the share: %d", status)
		}
	}
	if n := p.calls.Load(); n != share {
		t.Errorf("%d calls have reached the node", n)
	}
	close(release)
	for range share {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("within the share: %d", status)
		}
	}
	eventually(t, "calls are not counted back", func() bool { return h.edge.OpenOf("a").Calls == 0 })
	if err := h.usage.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	refused := int64(0)
	for _, row := range h.sink.Rows() {
		if row.Method == "eth_blockNumber" && row.Outcome == nodegate.AccountBusy.String() && row.Credits == 0 {
			refused += row.Requests
		}
	}
	if refused != clients-share {
		t.Errorf("%d refused calls are counted under their method", refused)
	}
}

// TestEventsArePaid: events draw on the account's credits, whichever key subscribed, and
// are counted. When there are none left, the socket is closed: a stream has no gaps.
func TestEventsArePaid(t *testing.T) {
	for _, c := range []struct {
		name   string
		plan   nodegate.Plan
		reason string
	}{
		{"rate", nodegate.Plan{CreditsPerSecond: 1, Burst: 80}, "rate limit exceeded: events of subscriptions cost credits"},
		{"day", nodegate.Plan{CreditsPerDay: 80}, "daily credit limit reached: events of subscriptions cost credits"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h, p := buildShares(t, edge.Bounds{}, map[string]nodegate.Plan{"a": c.plan})
			conn, _, err := h.dialSocket(t, "a.1")
			if err != nil {
				t.Fatal(err)
			}
			subscribed(t, conn) // 5 credits; 75 are left for 7 events of 10
			got := 0
			for err == nil {
				p.push([]byte(fmt.Sprint(got)))
				var text string
				if text, err = nextMessage(t, conn); err == nil && !strings.HasSuffix(text, fmt.Sprintf(`"result":%d}}`, got)) {
					t.Fatalf("event %d is %s", got, text)
				}
				got++
			}
			if got != 8 || websocket.CloseStatus(err) != websocket.StatusPolicyViolation || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("after %d events: %v", got-1, err)
			}
			eventually(t, "the socket is not counted back", func() bool { return h.edge.OpenOf("a").Sockets == 0 })
			if err := h.usage.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			var events, credits int64
			for _, row := range h.sink.Rows() {
				if row.Method == "eth_subscription" && row.Outcome == nodegate.OutcomeOK {
					events, credits = events+row.Requests, credits+row.Credits
				}
			}
			if events != 7 || credits != 70 {
				t.Errorf("%d events and %d credits were recorded", events, credits)
			}
		})
	}
}

// TestNonReadersTakeNoSender: many sockets of one account that read nothing don't keep
// its other socket from its events.
func TestNonReadersTakeNoSender(t *testing.T) {
	h, p := buildShares(t, edge.Bounds{}, nil)
	var open []*websocket.Conn
	for i := range 20 {
		c, _, err := h.dialSocket(t, fmt.Sprintf("a.%d", i))
		if err != nil {
			t.Fatal(err)
		}
		subscribed(t, c)
		open = append(open, c)
	}
	reader, _, err := h.dialSocket(t, "a.reader")
	if err != nil {
		t.Fatal(err)
	}
	reader.SetReadLimit(-1)
	subscribed(t, reader)
	for n := range 40 {
		p.push(fmt.Appendf(nil, `"%d %s"`, n, strings.Repeat("x", 64<<10)))
		if got, err := nextMessage(t, reader); err != nil || !strings.Contains(got, fmt.Sprintf(`"result":"%d `, n)) {
			t.Fatalf("event %d: %v %.100s", n, err, got)
		}
	}
	for _, c := range open {
		_ = c.CloseNow()
	}
	_ = reader.CloseNow()
	eventually(t, "something is left", func() bool { return h.edge.OpenOf("a").Sockets == 0 && h.edge.SendersOf("a") == 0 })
}
