package edge_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/requestlog"
	"github.com/nodegate/nodegate/internal/budget"
	"github.com/nodegate/nodegate/internal/rpc/edge"
)

// largeResult is a result that is counted.
var largeResult = []byte(`"` + strings.Repeat("r", 300<<10) + `"`)

// buildBudget serves a node whose method "large" answers largeResult and whose method
// "panic" panics, within a budget.
func buildBudget(t *testing.T, cfg budget.Config, more ...func(*edge.Config)) (*house, *budget.Budget) {
	t.Helper()
	b := budget.New(cfg)
	h := buildWith(t, append(more, func(cfg *edge.Config) { cfg.Memory = b })...)
	h.tally.answer = func(_ context.Context, method string) ([]byte, error) {
		switch method {
		case "large":
			return largeResult, nil
		case "panic":
			panic("in a node")
		}
		return []byte(`"ok"`), nil
	}
	return h, b
}

// rpcCall is the body of a call with one parameter of so many bytes.
func rpcCall(method string, param int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":["%s"]}`, method, strings.Repeat("p", param))
}

// until waits for a state of the budget.
func until(t *testing.T, b *budget.Budget, what string, holds func(budget.Usage) bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(b.Usage()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not %s: %+v", what, b.Usage())
		}
	}
}

func givenBack(t *testing.T, b *budget.Budget) {
	t.Helper()
	until(t, b, "given back", func(u budget.Usage) bool { return u.Reserved == 0 && u.Accounts == 0 })
}

// TestMemoryIsGivenBack takes every way that a request can go and end, and looks that
// what is large was counted and that nothing stays reserved.
func TestMemoryIsGivenBack(t *testing.T) {
	large := rpcCall("echo", 400<<10)
	batch := "[" + strings.TrimSuffix(strings.Repeat(rpcCall("large", 8)+",", 3), ",") + "]"
	for name, c := range map[string]struct {
		do      func(t *testing.T, h *house)
		atLeast int64 // that was reserved at its highest
	}{
		"a small call":       {func(t *testing.T, h *house) { h.post(t, goodKey, rpcCall("echo", 8)) }, 0},
		"a large body":       {func(t *testing.T, h *house) { h.post(t, goodKey, large) }, 2 * 400 << 10},
		"a large answer":     {func(t *testing.T, h *house) { h.post(t, goodKey, rpcCall("large", 8)) }, 2 * 300 << 10},
		"both":               {func(t *testing.T, h *house) { h.post(t, goodKey, rpcCall("large", 200<<10)) }, 1000 << 10},
		"a batch":            {func(t *testing.T, h *house) { h.post(t, goodKey, batch) }, 3 * 300 << 10},
		"not compressed":     {func(t *testing.T, h *house) { plainPost(t, h, rpcCall("large", 8)) }, 600 << 10},
		"a panic":            {func(t *testing.T, h *house) { h.post(t, goodKey, rpcCall("panic", 400<<10)) }, 800 << 10},
		"not JSON":           {func(t *testing.T, h *house) { h.post(t, goodKey, strings.Repeat("x", 400<<10)) }, 400 << 10},
		"too large":          {func(t *testing.T, h *house) { h.post(t, goodKey, rpcCall("echo", 2<<20)) }, 0},
		"chunked, too large": {postChunked, 1 << 20},
		"cut in the body":    {cutInBody, 200 << 10},
		"unread answer":      {leaveUnread, 600 << 10},
		"a socket": {func(t *testing.T, h *house) {
			c := socket(t, h)
			c.SetReadLimit(2 << 20)
			exchange(t, c, large)
			exchange(t, c, rpcCall("large", 8))
		}, 800 << 10},
		"a socket cut in a message": {cutInMessage, 100 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, b := buildBudget(t, budget.Config{Process: 64 << 20, Account: 32 << 20})
			c.do(t, h)
			givenBack(t, b)
			if u := b.Usage(); u.Highest < c.atLeast || c.atLeast == 0 && u.Highest != 0 {
				t.Errorf("reserved %d bytes at most, want at least %d", u.Highest, c.atLeast)
			}
		})
	}
}

// plainPost sends a request that takes the fast path: small, and without compression.
func plainPost(t *testing.T, h *house, body string) {
	t.Helper()
	_, answers := h.raw(t, "POST /net/v3/"+goodKey+" HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: "+fmt.Sprint(len(body))+"\r\n\r\n"+body)
	if len(answers) != 1 || !strings.Contains(answers[0], string(largeResult)) {
		t.Errorf("%d answers", len(answers))
	}
}

// postChunked sends more than the limit without saying so before.
func postChunked(t *testing.T, h *house) {
	req, err := http.NewRequest(http.MethodPost, h.url(goodKey), io.MultiReader(strings.NewReader(rpcCall("echo", 2<<20))))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil { // or the connection was reset while it was written
		_ = res.Body.Close()
	}
}

func begin(t *testing.T, h *house, text string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", h.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// stall begins a body of so many bytes and sends all but the last.
func stall(t *testing.T, h *house, size int) net.Conn {
	t.Helper()
	return begin(t, h, fmt.Sprintf("POST /net/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", goodKey, size, strings.Repeat(" ", size-1)))
}

func cutInBody(t *testing.T, h *house) {
	c := stall(t, h, 800<<10)
	time.Sleep(100 * time.Millisecond) // some of it is read
	_ = c.Close()
}

// leaveUnread asks for large answers on one connection, reads nothing and leaves.
func leaveUnread(t *testing.T, h *house) {
	body := rpcCall("large", 8)
	one := fmt.Sprintf("POST /net/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", goodKey, len(body), body)
	c := begin(t, h, strings.Repeat(one, 30))
	for h.tally.calls.Load() == 0 {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(100 * time.Millisecond) // the system's buffers fill
	_ = c.Close()
}

func cutInMessage(t *testing.T, h *house) {
	c := socket(t, h)
	w, err := c.Writer(t.Context(), websocket.MessageText)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = w.Write(bytes.Repeat([]byte(" "), 600<<10))
	time.Sleep(100 * time.Millisecond)
	_ = c.CloseNow()
}

// TestAccountOverItsShare refuses what is large with 429 while the account's own bodies
// hold its share; what is small passes, and all passes when they have gone.
func TestAccountOverItsShare(t *testing.T) {
	h, b := buildBudget(t, budget.Config{Process: 64 << 20, Account: 2 << 20})
	var stalled []net.Conn
	for range 2 {
		stalled = append(stalled, stall(t, h, 900<<10))
	}
	until(t, b, "full", func(u budget.Usage) bool { return u.Reserved > 1700<<10 })
	if res, text := h.post(t, goodKey, rpcCall("echo", 8)); res.StatusCode != http.StatusOK || !strings.Contains(text, `"ok"`) {
		t.Errorf("a small call: %d %s", res.StatusCode, text)
	}
	batch := "[" + rpcCall("echo", 8) + "," + rpcCall("large", 8) + "]"
	if res, text := h.post(t, goodKey, batch); res.StatusCode != http.StatusOK || !strings.Contains(text, `"ok"`) || !strings.Contains(text, "-32005") {
		t.Errorf("a batch: %d %.300s", res.StatusCode, text)
	}
	begun := time.Now()
	res, text := h.post(t, goodKey, rpcCall("echo", 400<<10))
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") != "01" || !strings.Contains(text, "-32005") || !strings.Contains(text, "MiB") {
		t.Errorf("a large body: %d %v %s", res.StatusCode, res.Header, text)
	}
	h.tally.calls.Store(0)
	if res, text := h.post(t, goodKey, rpcCall("large", 8)); res.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "-32005") || !strings.Contains(text, `"id":7`) {
		t.Errorf("a large answer: %d %.300s", res.StatusCode, text)
	}
	if h.tally.calls.Load() != 0 && time.Since(begun) < time.Second { // a busy machine may take longer
		t.Error("a call was executed within the time that the account was told to wait")
	}
	for _, c := range stalled {
		_ = c.Close()
	}
	givenBack(t, b)
	if res, text := h.post(t, goodKey, rpcCall("large", 400<<10)); res.StatusCode != http.StatusOK {
		t.Errorf("afterwards: %d %.300s", res.StatusCode, text)
	}
}

// TestDroppedResultIsPaid: whose answers are dropped for want of memory pays for the
// work, unless it is the whole server that lacks it.
func TestDroppedResultIsPaid(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  budget.Config
		want nodegate.Code
		paid bool
	}{
		"the account": {budget.Config{Process: 64 << 20, Account: 100 << 10}, nodegate.AccountBusy, true},
		"the server":  {budget.Config{Process: 100 << 10, Account: 64 << 20}, nodegate.Busy, false},
	} {
		t.Run(name, func(t *testing.T) {
			h, b := buildBudget(t, c.cfg)
			h.post(t, goodKey, rpcCall("large", 8))
			givenBack(t, b)
			found := false
			for _, e := range h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries {
				found = true
				if e.Outcome != c.want.String() || (e.Credits > 0) != c.paid {
					t.Errorf("recorded as %s for %d credits", e.Outcome, e.Credits)
				}
			}
			if !found {
				t.Error("not recorded")
			}
		})
	}
}

// TestServerOverItsLimit answers 503 on HTTP, and on a WebSocket an error after which
// the socket goes on.
func TestServerOverItsLimit(t *testing.T) {
	h, b := buildBudget(t, budget.Config{Process: 300 << 10, Account: 64 << 20})
	res, text := h.post(t, goodKey, rpcCall("echo", 400<<10))
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") != "01" || !strings.Contains(text, "-32603") || !strings.Contains(text, "memory") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, text)
	}
	c := socket(t, h)
	if text := exchange(t, c, rpcCall("echo", 400<<10)); !strings.Contains(text, "-32603") || !strings.Contains(text, `"id":null`) {
		t.Errorf("a large message: %s", text)
	}
	if text := exchange(t, c, rpcCall("large", 8)); !strings.Contains(text, "-32603") || !strings.Contains(text, `"id":7`) {
		t.Errorf("a large answer: %.300s", text)
	}
	if text := exchange(t, c, rpcCall("echo", 8)); !strings.Contains(text, `"ok"`) {
		t.Errorf("afterwards: %s", text)
	}
	givenBack(t, b)
}

// TestHeldWhileMade: a list of logs draws on the account's memory while it is made. What it
// held is given back, and an account without memory pays for the search.
func TestHeldWhileMade(t *testing.T) {
	h, b := buildBudget(t, budget.Config{Process: 64 << 20, Account: 1 << 20}, traced)
	most := int64(0)
	h.answer = func(ctx context.Context, method string) ([]byte, error) {
		hold := nodegate.TraceFrom(ctx).Hold
		if method != "eth_getLogs" {
			if hold != nil {
				t.Errorf("%s may hold memory", method)
			}
			return []byte(`"ok"`), nil
		}
		for range 4 {
			if err := hold(400 << 10); err != nil {
				return nil, err
			}
			most = max(most, b.Usage().Reserved)
		}
		return []byte(`[]`), nil
	}
	res, text := h.post(t, goodKey, rpcCall("eth_getLogs", 8))
	if res.StatusCode != http.StatusTooManyRequests || !strings.Contains(text, "-32005") {
		t.Errorf("%d %s", res.StatusCode, text)
	}
	if most < 800<<10 || most > 1<<20 {
		t.Errorf("at most %d bytes were held", most)
	}
	givenBack(t, b)
	for _, e := range h.kept.Latest("account of "+goodKey, goodKey, requestlog.Filter{}).Entries {
		if e.Outcome != nodegate.AccountBusy.String() || e.Credits == 0 {
			t.Errorf("recorded as %s for %d credits", e.Outcome, e.Credits)
		}
	}
	h.post(t, goodKey, rpcCall("echo", 8))
}
