package edge_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// pusher is a node whose events come from the test.
type pusher struct {
	*tally
	mu    sync.Mutex
	takes []nodegate.Take
}

func (p *pusher) Subscribe(_ context.Context, _ []byte, take nodegate.Take) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.takes = append(p.takes, take)
	return nil
}

func (p *pusher) push(event []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, take := range p.takes {
		take(event, nodegate.NotEnded)
	}
}

// end ends all subscriptions.
func (p *pusher) end(why nodegate.End) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, take := range p.takes {
		take(nil, why)
	}
}

func buildPusher(t *testing.T) (*house, *pusher) {
	t.Helper()
	p := &pusher{tally: &tally{}}
	h := buildWith(t, func(cfg *edge.Config) {
		cfg.Networks = []nodegate.Network{{Name: "net", Node: p}}
	})
	return h, p
}

// nextMessage reads one, or fails.
func nextMessage(t *testing.T, c *websocket.Conn) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	_, b, err := c.Read(ctx)
	return string(b), err
}

func subscribed(t *testing.T, c *websocket.Conn) (id string) {
	t.Helper()
	answer := exchange(t, c, `{"jsonrpc":"2.0","id":1,"method":"eth_subscribe","params":["newHeads"]}`)
	_, rest, _ := strings.Cut(answer, `"result":"`)
	id, _, ok := strings.Cut(rest, `"`)
	if !ok {
		t.Fatalf("subscribing answers %s", answer)
	}
	return id
}

// TestEvents: each subscription of a socket gets every event under its own id, in order.
// Which of two is told of an event first is not promised.
func TestEvents(t *testing.T) {
	h, p := buildPusher(t)
	c := socket(t, h)
	ids := []string{subscribed(t, c), subscribed(t, c)}
	for n := range 300 {
		p.push(fmt.Appendf(nil, `{"number":%d,"pad":"%s"}`, n, strings.Repeat("x", n)))
	}
	next := map[string]int{ids[0]: 0, ids[1]: 0}
	for range 2 * 300 {
		got, err := nextMessage(t, c)
		if err != nil {
			t.Fatal(err)
		}
		id := ids[0]
		if strings.Contains(got, ids[1]) {
			id = ids[1]
		}
		n := next[id]
		next[id]++
		want := fmt.Sprintf(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"%s","result":{"number":%d,"pad":"%s"}}}`, id, n, strings.Repeat("x", n))
		if got != want {
			t.Fatalf("%s, want %s", got, want)
		}
	}
}

// TestSlowReader: who doesn't read is closed with 1008 behind what was sent, in order;
// the log says why, and the other reader misses nothing.
func TestSlowReader(t *testing.T) {
	h, p := buildPusher(t)
	slow, quick := socket(t, h), socket(t, h)
	slow.SetReadLimit(-1)
	quick.SetReadLimit(-1)
	subscribed(t, slow)
	subscribed(t, quick)
	const events = 400
	for n := range events {
		p.push(fmt.Appendf(nil, `"%d %s"`, n, strings.Repeat("x", 64<<10)))
		if got, err := nextMessage(t, quick); err != nil || !strings.Contains(got, fmt.Sprintf(`"result":"%d `, n)) {
			t.Fatalf("the quick reader: %v %.200s", err, got)
		}
	}
	var err error
	count := 0
	for ; err == nil; count++ {
		var got string
		if got, err = nextMessage(t, slow); err == nil && !strings.Contains(got, fmt.Sprintf(`"result":"%d `, count)) {
			t.Fatalf("event %d is %.200s", count, got)
		}
	}
	if websocket.CloseStatus(err) != websocket.StatusPolicyViolation || count >= events {
		t.Errorf("after %d events the slow reader is closed with %v", count, err)
	}
	if !strings.Contains(h.logs.String(), "slow reader") {
		t.Error("the log does not say why")
	}
}

// TestFeedEnds: a feed that ends closes the socket, rather than leave a gap or silence,
// and the socket says which it was.
func TestFeedEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end    nodegate.End
		status websocket.StatusCode
		reason string
	}{
		"lost":   {nodegate.EventsLost, websocket.StatusPolicyViolation, "events of this subscription were lost"},
		"closed": {nodegate.Closed, websocket.StatusServiceRestart, "the network was reconfigured"},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := buildPusher(t)
			s := socket(t, h)
			id := subscribed(t, s)
			p.push([]byte("1"))
			if got, err := nextMessage(t, s); err != nil || !strings.Contains(got, id) {
				t.Fatalf("%s, %v", got, err)
			}
			p.end(c.end)
			if _, err := nextMessage(t, s); websocket.CloseStatus(err) != c.status || !strings.Contains(err.Error(), c.reason) {
				t.Errorf("closed with %v", err)
			}
		})
	}
}

// TestUnsubscribedEnds: the end of a subscription that the client ended closes nothing.
func TestUnsubscribedEnds(t *testing.T) {
	h, p := buildPusher(t)
	s := socket(t, h)
	id := subscribed(t, s)
	exchange(t, s, `{"jsonrpc":"2.0","id":2,"method":"eth_unsubscribe","params":["`+id+`"]}`)
	p.end(nodegate.Closed)
	if got := exchange(t, s, `{"jsonrpc":"2.0","id":3,"method":"eth_unsubscribe","params":["`+id+`"]}`); !strings.Contains(got, "subscription not found") {
		t.Errorf("the socket answers %s", got)
	}
}
