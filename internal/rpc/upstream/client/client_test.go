package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

func TestCall(t *testing.T) {
	node := startNode(t, func(r *request) bool { return r.result(`{"seen":` + string(r.body) + `}`) })
	c := newClient(t, Config{URL: strings.Replace(node.URL, "http://", "http://user:pa%20ss@", 1) + "v1/key?q=1#f", Headers: map[string]string{"x-token": "a b"}})
	for i, tt := range []struct{ method, params, want string }{
		{"eth_call", `[{"to":"0x"},"latest"]`, `{"seen":{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"0x"},"latest"]}}`},
		{"eth_blockNumber", ``, `{"seen":{"jsonrpc":"2.0","id":2,"method":"eth_blockNumber","params":[]}}`},
		{"odd\"\n", `[]`, `{"seen":{"jsonrpc":"2.0","id":3,"method":"odd\"\n","params":[]}}`},
	} {
		var params []byte
		if tt.params != "" {
			params = []byte(tt.params)
		}
		got, err := c.Call(soon(t), tt.method, params)
		if err != nil || string(got) != tt.want {
			t.Errorf("call %d: %s, %v", i, got, err)
		}
		if cap(got)-len(got) > 64 { // what the allocator rounds up to
			t.Errorf("a result of %d bytes in %d", len(got), cap(got))
		}
	}
	req := node.last.Load()
	want := http.Header{
		"Accept-Encoding": {"identity"}, "Content-Type": {"application/json"}, "User-Agent": {"nodegate"}, "X-Token": {"a b"},
		"Authorization": {"Basic dXNlcjpwYSBzcw=="}, "Content-Length": req.Header["Content-Length"],
	}
	if got := fmt.Sprint(req.Header); got != fmt.Sprint(want) {
		t.Errorf("headers %v", got)
	}
	if req.RequestURI != "/v1/key?q=1" || "http://"+req.Host+"/" != node.URL || req.Method != http.MethodPost {
		t.Errorf("%s %s at %s", req.Method, req.RequestURI, req.Host)
	}
	if n := node.conns.Load(); n != 1 {
		t.Errorf("%d connections for calls one after the other", n)
	}
}

func TestConfig(t *testing.T) {
	for name, cfg := range map[string]Config{
		"no URL":          {},
		"a broken URL":    {URL: "http://h/SECRET%zz"},
		"no scheme":       {URL: "host:80/SECRET"},
		"a socket":        {URL: "ws://h/SECRET"},
		"no host":         {URL: "http:///SECRET"},
		"a host in UTF-8": {URL: "http://h\u00f6st/SECRET"},
		"line feed":       {URL: "http://h/SECRET\n"},
		"host header":     {URL: "http://h/", Headers: map[string]string{"host": "SECRET"}},
		"length":          {URL: "http://h/", Headers: map[string]string{"Content-length": "SECRET"}},
		"coding":          {URL: "http://h/", Headers: map[string]string{"transfer-encoding": "SECRET"}},
		"two lines":       {URL: "http://h/", Headers: map[string]string{"A": "SECRET\r\nB: c"}},
		"bad name":        {URL: "http://h/", Headers: map[string]string{"A b": "SECRET"}},
		"empty name":      {URL: "http://h/", Headers: map[string]string{"": "SECRET"}},
	} {
		_, err := NewClient(cfg)
		if !errors.Is(err, nodegate.BadConfig) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestStatus: what an answer with a status other than 200 amounts to.
func TestStatus(t *testing.T) {
	const callErr, page = `{"jsonrpc":"2.0","id":%ID,"error":{"code":-32000,"message":"no","data":"0x"}}`, `<html>`
	for _, tt := range []struct {
		status  int
		headers string
		body    string
		want    string
	}{
		{200, "", callErr, "call -32000 no 0x"},
		{200, "", strings.Replace(callErr, "%ID", "null", 1), "call -32000 no 0x"},
		{200, "", strings.Replace(callErr, `"id":%ID,`, "", 1), "call -32000 no 0x"},
		{200, "", strings.Replace(callErr, "%ID", "99", 1), "fault 200 0s"},
		{200, "", strings.Replace(callErr, "%ID", `"%ID"`, 1), "fault 200 0s"},
		{200, "", `{"id":null,"result":1}`, "fault 200 0s"},
		{200, "", page, "fault 200 0s"},
		{200, "", ``, "fault 200 0s"},
		{200, "", `{"id":%ID,"result":{"a":tru}}`, "fault 200 0s"},
		{200, "", `{"id":%ID,"result":1}{"id":%ID,"result":2}`, "fault 200 0s"},
		{200, "Content-Encoding: gzip\r\n", callErr, "fault 200 0s"},
		{201, "", `{"id":%ID,"result":"0x1"}`, `result "0x1"`},
		{204, "", ``, "fault 204 0s"},
		{302, "Location: http://127.0.0.1:1/\r\n", callErr, "fault 302 0s"},
		{400, "", callErr, "call -32000 no 0x"},
		{400, "", `{"id":%ID,"result":1}`, "fault 400 0s"},
		{404, "", page, "fault 404 0s"},
		{413, "", callErr, "call -32000 no 0x"},
		{401, "", callErr, "fault 401 0s"},
		{403, "", callErr, "fault 403 0s"},
		{429, "Retry-After: 3\r\n", callErr, "fault 429 3s"},
		{500, "", callErr, "fault 500 0s"},
		{503, "Retry-After: 2\r\n", page, "fault 503 2s"},
		{599, "", `{"id":%ID,"result":1}`, "fault 599 0s"},
	} {
		node := startNode(t, func(r *request) bool {
			body := strings.ReplaceAll(tt.body, "%ID", r.id)
			return r.say("HTTP/1.1 %d X\r\n%sContent-Length: %d\r\n\r\n%s", tt.status, tt.headers, len(body), body)
		})
		got, err := newClient(t, Config{URL: node.URL}).Call(soon(t), "m", nil)
		if outcome(got, err) != tt.want {
			t.Errorf("%d %s: got %s (%v), want %s", tt.status, tt.body, outcome(got, err), err, tt.want)
		}
		var fault *Fault
		if errors.As(err, &fault) && !fault.Sent {
			t.Errorf("%d %s: the fault says that nothing was sent", tt.status, tt.body)
		}
	}
}

func outcome(result []byte, err error) string {
	var call *CallError
	var fault *Fault
	switch {
	case errors.As(err, &call):
		return fmt.Sprintf("call %d %s %s", call.Code, call.Message, strings.Trim(string(call.Data), `"`))
	case errors.As(err, &fault):
		return fmt.Sprintf("fault %d %v", fault.Status, fault.RetryAfter)
	case err != nil:
		return err.Error()
	}
	return "result " + string(result)
}

// TestKept: which answers leave a connection that is used again.
func TestKept(t *testing.T) {
	length := func(r *request, id, more string) string {
		body := `{"id":` + id + `,"result":1}`
		return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", more, len(body), body)
	}
	for name, tt := range map[string]struct {
		answer func(r *request) string
		kept   bool
	}{
		"a length":    {func(r *request) string { return length(r, r.id, "") }, true},
		"keep-alive":  {func(r *request) string { return length(r, r.id, "Connection: keep-alive\r\n") }, true},
		"close":       {func(r *request) string { return length(r, r.id, "Connection: close\r\n") }, false},
		"HTTP/1.0":    {func(r *request) string { return strings.Replace(length(r, r.id, ""), "1.1", "1.0", 1) }, false},
		"two answers": {func(r *request) string { return length(r, r.id, "") + length(r, r.id, "") }, false},
		"a wrong id":  {func(r *request) string { return length(r, "77", "") }, false},
		"not JSON":    {func(r *request) string { return "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx" }, false},
		"status 503":  {func(r *request) string { return "HTTP/1.1 503 X\r\nContent-Length: 1\r\n\r\nx" }, true},
		"an error": {func(r *request) string {
			return "HTTP/1.1 400 X\r\nContent-Length: 40\r\n\r\n" + `{"error":{"code":-32000,"message":"no"}}`
		}, true},
		"to the close": {func(r *request) string { return "HTTP/1.1 200 OK\r\n\r\n" + `{"id":` + r.id + `,"result":1}` }, false},
	} {
		t.Run(name, func(t *testing.T) {
			node := startNode(t, func(r *request) bool { return r.say("%s", tt.answer(r)) && name != "to the close" })
			c := newClient(t, Config{URL: node.URL})
			for range 3 {
				_, _ = c.Call(soon(t), "m", nil)
			}
			want := int32(3)
			if tt.kept {
				want = 1
			}
			if got := node.conns.Load(); got != want {
				t.Errorf("%d connections for 3 calls, want %d", got, want)
			}
		})
	}
}

// TestLIFO: after a burst the connection that was used last carries what follows, so
// that the others grow old and are closed.
func TestLIFO(t *testing.T) {
	gate := make(chan struct{})
	var mu sync.Mutex
	used := map[int]int{}
	node := startNode(t, func(r *request) bool {
		<-gate
		mu.Lock()
		used[r.conn]++
		mu.Unlock()
		return r.result("1")
	})
	c := newClient(t, Config{URL: node.URL})
	var burst sync.WaitGroup
	for range 5 {
		burst.Go(func() { _, _ = c.Call(context.Background(), "m", nil) })
	}
	eventually(t, "five connections", func() bool { return node.calls.Load() == 5 })
	close(gate)
	burst.Wait()
	for range 20 {
		if _, err := c.Call(soon(t), "m", nil); err != nil {
			t.Fatal(err)
		}
	}
	most := 0
	for _, n := range used {
		most = max(most, n)
	}
	if most != 21 || len(used) != 5 {
		t.Errorf("the calls of each connection: %v", used)
	}
}

// TestMaxConns: more calls than connections wait, and get their turn.
func TestMaxConns(t *testing.T) {
	var calls, now, most atomic.Int32
	three := make(chan struct{})
	node := startNode(t, func(r *request) bool {
		n := now.Add(1)
		if calls.Add(1) <= 3 { // the first ones wait for each other
			if n == 3 {
				close(three)
			}
			<-three
		}
		for {
			if m := most.Load(); n <= m || most.CompareAndSwap(m, n) {
				break
			}
		}
		time.Sleep(time.Millisecond)
		now.Add(-1)
		return r.result("1") && r.call%5 != 0 // now and then a connection ends, and its place is taken
	})
	c := newClient(t, Config{URL: node.URL, MaxConns: 3})
	var all sync.WaitGroup
	for range 60 {
		all.Go(func() {
			if _, err := c.CallSafe(soon(t), "m", nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most.Load() != 3 {
		t.Errorf("%d connections at once, want 3", most.Load())
	}
}

// TestWaiting: who waits for a connection can leave, and leaves no trace.
func TestWaiting(t *testing.T) {
	gate := make(chan struct{})
	node := startNode(t, func(r *request) bool { <-gate; return r.result("1") })
	c := newClient(t, Config{URL: node.URL, MaxConns: 1})
	first := make(chan error, 1)
	go func() { _, err := c.Call(context.Background(), "m", nil); first <- err }()
	eventually(t, "the first call is there", func() bool { return node.calls.Load() == 1 })
	ctx, cancel := context.WithCancel(context.Background())
	second := make(chan error, 1)
	go func() { _, err := c.Call(ctx, "m", nil); second <- err }()
	eventually(t, "the second waits", func() bool { c.pool.mu.Lock(); defer c.pool.mu.Unlock(); return len(c.pool.waiting) == 1 })
	cancel()
	if f := asFault(t, <-second); f.Sent || !errors.Is(f, context.Canceled) {
		t.Errorf("the second: %+v", f)
	}
	late, cancelLate := context.WithTimeout(context.Background(), 30*time.Millisecond)
	defer cancelLate()
	_, err := c.Call(late, "m", nil)
	if f := asFault(t, err); f.Sent || !errors.Is(f, context.DeadlineExceeded) {
		t.Errorf("the third: %+v", f)
	}
	close(gate)
	if err := <-first; err != nil {
		t.Error(err)
	}
	if _, err := c.Call(soon(t), "m", nil); err != nil || node.conns.Load() != 1 {
		t.Errorf("afterwards: %v on %d connections", err, node.conns.Load())
	}
}

// TestLateTurn: who leaves just when a turn comes passes it on.
func TestLateTurn(t *testing.T) {
	p := pool{most: 1}
	here, there := net.Pipe()
	defer there.Close()
	c := &conn{Conn: here, raw: here, idleFor: idleTime}
	for _, give := range []func(){func() { p.put(c) }, func() { p.drop(c) }} {
		p.idle, p.open = nil, 1
		_, w, err := p.take()
		if w == nil || err != nil {
			t.Fatal("there is a free connection")
		}
		give()
		p.withdraw(w)
		if len(p.waiting) != 0 || p.open != len(p.idle) {
			t.Errorf("%d wait, %d connections are open, %d idle", len(p.waiting), p.open, len(p.idle))
		}
	}
	p.shut()
}

// TestFinishWatched: a connection is not kept when its call's context ended, whatever
// came first.
func TestFinishWatched(t *testing.T) {
	for _, cancelled := range []bool{false, true} {
		here, there := net.Pipe()
		defer there.Close()
		c := &conn{Conn: here, raw: here, idleFor: idleTime}
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		if err := c.begin(ctx, time.Now().Add(time.Hour), 2*largeRequest); err != nil {
			t.Fatal(err)
		}
		if cancelled {
			cancel()
		}
		if c.finish() == cancelled {
			t.Errorf("cancelled %v: kept %v", cancelled, !cancelled)
		}
		cancel()
		if !cancelled && here.SetDeadline(time.Time{}) != nil {
			t.Error("the end of a call's context closes a connection that it gave back")
		}
	}
}

func TestTooManyWaiting(t *testing.T) {
	p := pool{most: 0, waiting: make([]*waiter, maxWaiting)}
	if _, err := p.get(context.Background(), time.Now().Add(time.Hour), true); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
}

// TestClosedBetween: the node closes a kept connection. A safe call doesn't notice; one
// that is not safe is never sent twice, and is sent at all only when that is certain.
func TestClosedBetween(t *testing.T) {
	node := startNode(t, func(r *request) bool { return r.result("1") })
	c := newClient(t, Config{URL: node.URL})
	for i := range 50 {
		if _, err := c.Call(soon(t), "m", nil); err != nil {
			t.Fatalf("call %d: %v", i, err)
		}
		node.hangUp()
		if i%2 == 0 {
			continue // Call again, on a connection whose end has arrived or not
		}
		if _, err := c.CallSafe(soon(t), "m", nil); err != nil {
			t.Fatalf("safe call %d: %v", i, err)
		}
	}
}

// TestClosedOnArrival: the node reads a request on a kept connection and closes it.
func TestClosedOnArrival(t *testing.T) {
	for _, safe := range []bool{true, false} {
		for _, reset := range []bool{true, false} {
			node := startNode(t, func(r *request) bool {
				if r.conn == 1 && r.call == 2 {
					if reset {
						_ = r.Conn.(interface{ SetLinger(int) error }).SetLinger(0)
					}
					return false
				}
				return r.result("1")
			})
			c := newClient(t, Config{URL: node.URL})
			call := c.Call
			if safe {
				call = c.CallSafe
			}
			if _, err := call(soon(t), "m", nil); err != nil {
				t.Fatal(err)
			}
			_, err := call(soon(t), "m", nil)
			switch {
			case safe && (err != nil || node.calls.Load() != 3):
				t.Errorf("reset %v: safe: %v after %d requests", reset, err, node.calls.Load())
			case !safe && (err == nil || node.calls.Load() != 2 || !asFault(t, err).Sent):
				t.Errorf("reset %v: not safe: %v after %d requests", reset, err, node.calls.Load())
			}
		}
	}
}

// TestNotTwice: what fails on a new connection is not tried again, nor what fails
// after the first byte of an answer, nor what fails twice.
func TestNotTwice(t *testing.T) {
	for name, tt := range map[string]struct {
		answer func(r *request) bool
		calls  int32
	}{
		"a new connection": {func(r *request) bool { return r.call > 1 && r.result("1") }, 1},
		"after a byte":     {func(r *request) bool { return r.call == 1 && r.result("1") || r.say("H") && false }, 2},
		"again":            {func(r *request) bool { return r.conn == 1 && r.call == 1 && r.result("1") }, 3},
	} {
		node := startNode(t, tt.answer)
		c := newClient(t, Config{URL: node.URL})
		_, err := c.CallSafe(soon(t), "m", nil)
		if err == nil {
			_, err = c.CallSafe(soon(t), "m", nil)
		}
		if f := asFault(t, err); !f.Sent || node.calls.Load() != tt.calls {
			t.Errorf("%s: %v after %d requests", name, err, node.calls.Load())
		}
	}
}

func TestCancel(t *testing.T) {
	for name, cfg := range map[string]int{"small": 10, "large": 1 << 20} {
		arrived, left := make(chan struct{}, 1), make(chan struct{})
		node := startNode(t, func(r *request) bool {
			arrived <- struct{}{}
			_, _ = r.Read(make([]byte, 1)) // returns when the client closes
			close(left)
			return false
		})
		c := newClient(t, Config{URL: node.URL})
		ctx, cancel := context.WithCancel(context.Background())
		go func() { <-arrived; time.Sleep(30 * time.Millisecond); cancel() }()
		_, err := c.Call(ctx, "m", []byte(`["`+strings.Repeat("x", cfg)+`"]`))
		if f := asFault(t, err); !f.Sent || !errors.Is(f, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-left:
		case <-time.After(patience):
			t.Errorf("%s: the node is not told", name)
		}
		if c.pool.open != 0 {
			t.Errorf("%s: %d connections are open", name, c.pool.open)
		}
	}
}

// TestCancelWrite: a node that stops reading can't hold a large request.
func TestCancelWrite(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		if c, err := ln.Accept(); err == nil {
			t.Cleanup(func() { _ = c.Close() })
			_, _ = c.Read(make([]byte, 1)) // it has begun to arrive
		}
	}()
	c, large := newClient(t, Config{URL: "http://" + ln.Addr().String()}), []byte(`["`+strings.Repeat("x", 32<<20)+`"]`)
	_, err = c.Call(ctx, "m", large)
	if f := asFault(t, err); !f.Sent || !errors.Is(f, context.Canceled) {
		t.Errorf("got %v, sent %v", err, f.Sent)
	}
	if _, err := c.Call(ctx, "m", nil); asFault(t, err).Sent {
		t.Error("a call whose context has ended was sent")
	}
}

func TestClose(t *testing.T) {
	arrived, gate := make(chan struct{}, 1), make(chan struct{})
	node := startNode(t, func(r *request) bool { arrived <- struct{}{}; <-gate; return r.result("1") })
	c := newClient(t, Config{URL: node.URL, MaxConns: 1})
	first, second := make(chan error, 1), make(chan error, 1)
	go func() { _, err := c.Call(context.Background(), "m", nil); first <- err }()
	<-arrived
	go func() { _, err := c.Call(context.Background(), "m", nil); second <- err }()
	eventually(t, "the second waits", func() bool { c.pool.mu.Lock(); defer c.pool.mu.Unlock(); return len(c.pool.waiting) == 1 })
	c.Close()
	if err := <-second; !errors.Is(err, ErrClosed) || asFault(t, err).Sent {
		t.Errorf("who waits: %v", err)
	}
	close(gate)
	if err := <-first; err != nil {
		t.Errorf("who is under way: %v", err)
	}
	if _, err := c.Call(soon(t), "m", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("who comes later: %v", err)
	}
	if c.pool.open != 0 {
		t.Errorf("%d connections are open", c.pool.open)
	}
}

func TestTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		_, rest, _ := bytes.Cut(body, []byte(`"id":`))
		id, _, _ := bytes.Cut(rest, []byte(","))
		time.Sleep(2 * quickTime) // the first wait is over, and TLS goes on all the same
		fmt.Fprintf(w, `{"id":%s,"result":"%s"}`, id, strings.Repeat("y", 100_000))
	}))
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of handshakes that are meant to fail
	server.StartTLS()
	defer server.Close()
	ca := Transport{CA: certPEM(server.Certificate())}
	c := newClient(t, Config{URL: server.URL, Transport: ca})
	for range 3 {
		got, err := c.Call(soon(t), "m", nil)
		if err != nil || len(got) != 100_002 {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
	c.pool.idle[0].idleFrom = time.Now().Add(-2 * freshTime)
	if _, err := c.CallSafe(soon(t), "m", nil); err != nil || c.pool.open != 1 {
		t.Errorf("after a rest: %v", err)
	}
	for name, cfg := range map[string]Config{
		"an unknown authority": {URL: server.URL},
		"another name":         {URL: strings.Replace(server.URL, "127.0.0.1", "localhost", 1), Transport: ca},
	} {
		_, err := newClient(t, cfg).Call(soon(t), "m", nil)
		if f := asFault(t, err); f.Sent || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNobodyThere(t *testing.T) {
	node := startNode(t, func(*request) bool { return false })
	url := node.URL
	c := newClient(t, Config{URL: strings.Replace(url, "127.0.0.1", "127.9.9.9", 1) + "SECRET", MaxConns: 1})
	for range 3 { // a dial that failed gives its place back
		_, err := c.Call(soon(t), "m", nil)
		if f := asFault(t, err); f.Sent || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("got %v", err)
		}
	}
}

func TestFrameAllocatesNothing(t *testing.T) {
	c := newClient(t, Config{URL: "http://127.0.0.1/"})
	id, params, buf := []byte("12"), []byte(`[1]`), []byte(nil)
	if n := testing.AllocsPerRun(100, func() { buf, _ = c.frame(buf, id, "eth_call", params, nil) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
