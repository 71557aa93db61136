package edge_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// TestBodyRate: an account that sends large bodies much faster than its rate is refused,
// over HTTP and WebSockets. Its small calls are answered, and so are other accounts.
func TestBodyRate(t *testing.T) {
	h, p := buildShares(t, edge.Bounds{BodyRate: 64 << 10}, nil)
	p.answer = func(context.Context, string) ([]byte, error) { return []byte("1"), nil }
	large := rpcCall("large", 250<<10)
	var all sync.WaitGroup
	var served, refused atomic.Int64
	for range 20 {
		all.Go(func() {
			switch res, text := h.post(t, "a.1", large); {
			case res.StatusCode == http.StatusOK:
				served.Add(1)
			case res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" || !strings.Contains(text, "limits.body_rate"):
				t.Errorf("%s %s", res.Status, text)
			default:
				refused.Add(1)
			}
		})
	}
	all.Wait()
	if served.Load() == 0 || refused.Load() == 0 || int64(p.calls.Load()) != served.Load() {
		t.Errorf("%d served, %d refused, %d executed", served.Load(), refused.Load(), p.calls.Load())
	}
	if res, text := h.post(t, "a.2", rpcCall("small", 100)); res.StatusCode != http.StatusOK {
		t.Errorf("a small call: %s %s", res.Status, text)
	}
	if res, text := h.post(t, "b.1", large); res.StatusCode != http.StatusOK {
		t.Errorf("another account: %s %s", res.Status, text)
	}
	c, _, err := h.dialSocket(t, "a.3")
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	for range 20 {
		if err := c.Write(t.Context(), websocket.MessageText, []byte(large)); err != nil {
			t.Fatal(err)
		}
		_, b, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "limits.body_rate") {
			return
		}
	}
	t.Error("20 large messages of a socket were all executed")
}
