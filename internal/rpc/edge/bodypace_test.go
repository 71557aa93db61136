package edge_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/internal/rpc/edge"
	"github.com/nodegate/nodegate/test/full"
)

// TestBodyRate: an account that sends large bodies much faster than its rate is refused,
// over HTTP and WebSockets. Its small calls are answered, and so are other accounts.
func TestBodyRate(t *testing.T) {
	full.Slow(t)
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
			if !strings.Contains(string(b), `"id":7`) {
				t.Errorf("the refusal of a message doesn't have its id: %s", b)
			}
			return
		}
	}
	t.Error("20 large messages of a socket were all executed")
}

// TestBodyRateOfUnfinished: bytes count when they come. An account that begins large messages
// and bodies, and never ends one, is behind as if it had.
func TestBodyRateOfUnfinished(t *testing.T) {
	part := bytes.Repeat([]byte(" "), 900<<10)
	for name, begin := range map[string]func(t *testing.T, h *house){
		"message": func(t *testing.T, h *house) {
			c, _, err := h.dialSocket(t, "a.1")
			if err != nil {
				t.Fatal(err)
			}
			w, err := c.Writer(t.Context(), websocket.MessageText)
			if err == nil {
				_, err = w.Write(part)
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		"body": func(t *testing.T, h *house) {
			body, feed := io.Pipe()
			t.Cleanup(func() { _ = feed.Close() })
			go func() {
				if res, err := http.Post(h.url("a.1"), "application/json", body); err == nil {
					_ = res.Body.Close()
				}
			}()
			if _, err := feed.Write(part); err != nil && !errors.Is(err, io.ErrClosedPipe) { // refused already
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := buildShares(t, edge.Bounds{BodyRate: 1 << 20}, nil) // 12 MiB of such bytes are 2 s behind
			p.answer = func(context.Context, string) ([]byte, error) { return []byte("1"), nil }
			for range 20 {
				begin(t, h)
			}
			for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) { // as many bytes as it may send
				res, text := h.post(t, "a.2", rpcCall("large", 100<<10))
				if res.StatusCode == http.StatusTooManyRequests && strings.Contains(text, "limits.body_rate") {
					return
				}
				if time.Now().After(end) {
					t.Fatalf("a large call beside them: %s %.200s", res.Status, text)
				}
			}
		})
	}
}

// TestBodyRateOfRefused: what is refused counts too, since its bytes were read: a batch with
// too many calls whole, and no JSON in part. A few of them are told what is wrong.
func TestBodyRateOfRefused(t *testing.T) {
	full.Slow(t)
	call := `{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber"}`
	for name, body := range map[string]struct {
		text, code string
		told       int // that many at least
	}{
		"batch":     {"[" + strings.Repeat(call+",", 250<<10/len(call)) + call + "]", "-32600", 1},
		"nested":    {strings.Repeat("[", 250<<10), "-32700", 4},
		"bad end":   {rpcCall("large", 250<<10) + "x", "-32700", 4},
		"no object": {strings.Repeat(" ", 250<<10) + "x", "-32700", 4},
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := buildShares(t, edge.Bounds{BodyRate: 64 << 10}, nil)
			var all sync.WaitGroup
			var told, refused atomic.Int64
			for range 40 {
				all.Go(func() {
					res, text := h.post(t, "a.1", body.text)
					switch {
					case strings.Contains(text, body.code):
						told.Add(1)
					case res.StatusCode == http.StatusTooManyRequests && strings.Contains(text, "limits.body_rate"):
						refused.Add(1)
					default:
						t.Errorf("%s %.200s", res.Status, text)
					}
				})
			}
			all.Wait()
			if told.Load() < int64(body.told) || refused.Load() == 0 {
				t.Errorf("%d were told what is wrong, and %d that they are too many", told.Load(), refused.Load())
			}
		})
	}
}

// TestBodyRateOfMessages: who sends messages that are no JSON gets an answer to each, also
// beyond its rate.
func TestBodyRateOfMessages(t *testing.T) {
	h, _ := buildShares(t, edge.Bounds{BodyRate: 64 << 10}, nil)
	var all sync.WaitGroup
	var refused atomic.Int64
	for range 20 {
		c, _, err := h.dialSocket(t, "a.1")
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			if err := c.Write(t.Context(), websocket.MessageText, []byte(strings.Repeat("[", 250<<10))); err != nil {
				t.Error(err)
				return
			}
			_, b, err := c.Read(t.Context())
			switch {
			case err != nil:
				t.Error(err)
			case strings.Contains(string(b), "limits.body_rate"):
				refused.Add(1)
			case !strings.Contains(string(b), "-32700"):
				t.Errorf("%.200s", b)
			}
		})
	}
	all.Wait()
	if refused.Load() == 0 {
		t.Error("20 large messages at once, and none was refused")
	}
}
