package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// peer is a node's side of a socket.
type peer struct {
	*websocket.Conn
	t testing.TB
}

// ask is a call that a peer has read.
type ask struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// startSocketNode serves sockets by a function. The socket ends when it returns.
func startSocketNode(t testing.TB, serve func(p *peer)) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		c.SetReadLimit(1 << 20)
		defer c.CloseNow()
		serve(&peer{c, t})
	}))
	t.Cleanup(server.Close)
	return "ws" + strings.TrimPrefix(server.URL, "http") + "/"
}

// next reads one call; nil when the socket has ended.
func (p *peer) next() *ask {
	_, text, err := p.Read(context.Background())
	if err != nil {
		return nil
	}
	var a ask
	if err := json.Unmarshal(text, &a); err != nil || a.ID == nil || a.Method == "" {
		p.t.Errorf("not a call: %s", text)
		return nil
	}
	return &a
}

func (p *peer) say(format string, args ...any) bool {
	return p.Write(context.Background(), websocket.MessageText, fmt.Appendf(nil, format, args...)) == nil
}

func (p *peer) answer(a *ask, result string) bool {
	return a != nil && p.say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, a.ID, result)
}

func (p *peer) event(sub, result string) bool {
	return p.say(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":%s,"result":%s}}`, sub, result)
}

func dialNode(t testing.TB, url string) *Socket {
	t.Helper()
	s, err := DialSocket(soon(t), Config{URL: url, MaxAnswer: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// ended waits for a socket's end and returns why it ended.
func ended(t testing.TB, s *Socket) error {
	t.Helper()
	select {
	case <-s.Done():
	case <-time.After(patience):
		t.Fatal("the socket has not ended")
	}
	asFault(t, s.Err())
	return s.Err()
}

// TestSocketCalls: many calls at once, answered out of order.
func TestSocketCalls(t *testing.T) {
	const n = 64
	s := dialNode(t, startSocketNode(t, func(p *peer) {
		var asks []*ask
		for range n {
			asks = append(asks, p.next())
		}
		for i := range asks {
			a := asks[n-1-i]
			if a == nil || a.Method == "bad" && !p.say(`{"id":%s,"error":{"code":3,"message":"no","data":%s}}`, a.ID, a.Params) || a.Method != "bad" && !p.answer(a, string(a.Params)) {
				return
			}
		}
		p.next()
	}))
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			method, params := "m", fmt.Sprintf(`[%d]`, i)
			want := "result " + params
			if i%8 == 0 {
				method, want = "bad", "call 3 no "+params
			}
			if got, err := s.Call(soon(t), method, []byte(params)); outcome(got, err) != want {
				t.Errorf("call %d: %s, %v", i, got, err)
			}
		})
	}
	all.Wait()
}

func TestSocketDial(t *testing.T) {
	var asked atomic.Pointer[http.Request]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Store(r)
		status := http.StatusUnauthorized
		_, _ = fmt.Sscanf(r.URL.Path, "/%d", &status)
		w.Header().Set("Retry-After", "4")
		w.Header().Set("Location", "/200")
		w.WriteHeader(status)
	}))
	defer server.Close()
	url := "ws" + strings.TrimPrefix(server.URL, "http")
	for _, status := range []int{200, 302, 401, 403, 404, 429, 503} {
		_, err := DialSocket(soon(t), Config{URL: fmt.Sprintf("%s/%d/SECRET", url, status), Headers: map[string]string{"X-Token": "t"}})
		if f := asFault(t, err); f.Status != status || f.Sent || f.RetryAfter != 4*time.Second || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%d: %v, %+v", status, err, f)
		}
	}
	if r := asked.Load(); r.Header.Get("X-Token") != "t" || r.Header.Get("User-Agent") != "nodegate" || r.Header.Get("Sec-WebSocket-Extensions") != "" {
		t.Errorf("the handshake's headers: %v", r.Header)
	}
	server.Close()
	_, err := DialSocket(soon(t), Config{URL: url + "/SECRET"})
	if f := asFault(t, err); f.Status != 0 || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("nobody there: %v", err)
	}
	for _, bad := range []Config{{URL: "http://h/SECRET"}, {URL: "ws://h/SECRET%zz"}, {URL: "ws://h/", Headers: map[string]string{"Sec-WebSocket-Key": "SECRET"}}} {
		if _, err := DialSocket(soon(t), bad); !errors.Is(err, nodegate.BadConfig) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", bad.URL, err)
		}
	}
}

// TestSocketStray: a few messages that nobody asked for are overlooked, more end the socket.
func TestSocketStray(t *testing.T) {
	text := func(s string) func(p *peer) bool { return func(p *peer) bool { return p.say("%s", s) } }
	for name, stray := range map[string]func(p *peer) bool{
		"garbage":          text(`{"id":`),
		"a page":           text(`<html>`),
		"an empty message": text(``),
		"a batch":          text(`[]`),
		"an unknown id":    text(`{"id":777,"result":1}`),
		"a future id":      text(`{"id":2,"result":1}`),
		"no id":            text(`{"id":null,"error":{"code":-32700,"message":"parse error"}}`),
		"an unknown event": text(`{"method":"eth_subscription","params":{"subscription":"0x9","result":1}}`),
		"a request":        text(`{"id":1,"method":"eth_call","params":[]}`),
		"not UTF-8":        func(p *peer) bool { return p.say("{\"id\":1,\"result\":\"\xff\"}") },
		"too deep":         text(`{"id":1,"result":` + strings.Repeat("[", 5000)),
		"a binary message": func(p *peer) bool {
			return p.Write(context.Background(), websocket.MessageBinary, []byte(`{"id":1,"result":1}`)) == nil
		},
		"the id as a text":  text(`{"id":"1","result":1}`),
		"two in one":        text(`{"id":1,"result":1}{"id":1,"result":1}`),
		"a member repeated": text(`{"id":1,"result":1,"result":2}`),
	} {
		for _, tt := range []struct {
			n    int
			ends bool
		}{{maxStray, false}, {maxStray + 1, true}} {
			s := dialNode(t, startSocketNode(t, func(p *peer) {
				a := p.next()
				for range tt.n {
					if !stray(p) {
						return
					}
				}
				p.answer(a, `"right"`)
				p.next()
			}))
			got, err := s.Call(soon(t), "m", nil)
			switch {
			case !tt.ends && string(got) != `"right"`:
				t.Errorf("%s, %d times: %s, %v", name, tt.n, got, err)
			case tt.ends && (!errors.Is(err, strayMessages) || !asFault(t, err).Sent || !errors.Is(ended(t, s), strayMessages)):
				t.Errorf("%s, %d times: %s, %v", name, tt.n, got, err)
			}
			s.Close()
		}
	}
}

// TestSocketEnds: how a socket ends, and what its calls learn.
func TestSocketEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		serve func(p *peer)
		want  error
	}{
		"the node leaves": {func(p *peer) { p.next() }, nil},
		"the node says so": {func(p *peer) {
			p.next()
			_ = p.Close(websocket.StatusGoingAway, "bye")
		}, nil},
		"a message too large": {func(p *peer) { p.answer(p.next(), `"`+strings.Repeat("x", 2<<20)+`"`) }, ErrTooLarge},
	} {
		s := dialNode(t, startSocketNode(t, tt.serve))
		_, err := s.Call(soon(t), "m", nil)
		if f := asFault(t, err); !f.Sent || tt.want != nil && !errors.Is(err, tt.want) {
			t.Errorf("%s: %v", name, err)
		}
		_ = ended(t, s)
		if _, err := s.Call(soon(t), "m", nil); asFault(t, err).Sent {
			t.Errorf("%s: a call after the end was sent", name)
		}
		if _, err := s.Subscribe(soon(t), []byte(`["newHeads"]`)); err == nil {
			t.Errorf("%s: a subscription after the end", name)
		}
	}
}

func TestSocketClose(t *testing.T) {
	for name, serve := range map[string]func(p *peer){
		"a polite node": func(p *peer) {
			for p.next() != nil {
			}
		},
		"a deaf node": func(p *peer) { p.next(); time.Sleep(3 * closeTime) },
	} {
		s := dialNode(t, startSocketNode(t, serve))
		failed := make(chan error, 1)
		go func() { _, err := s.Call(context.Background(), "m", nil); failed <- err }()
		eventually(t, "the call is sent", func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.flying) == 1 && s.flying["1"].sent })
		s.Close()
		if err := <-failed; !errors.Is(err, ErrClosed) || !asFault(t, err).Sent {
			t.Errorf("%s: %v", name, err)
		}
		if !errors.Is(ended(t, s), ErrClosed) {
			t.Errorf("%s: the socket ended with %v", name, s.Err())
		}
		s.Close() // again
	}
}

// TestSocketDead: a peer that answers no pings is noticed.
func TestSocketDead(t *testing.T) {
	left := make(chan struct{})
	defer close(left)
	url := startSocketNode(t, func(*peer) { <-left }) // who doesn't read doesn't answer pings
	s, err := dialSocket(soon(t), Config{URL: url}, beat{10 * time.Millisecond, 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := ended(t, s); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("ended with %v", err)
	}
	alive := startSocketNode(t, func(p *peer) { p.answer(p.next(), "1"); p.answer(p.next(), "2"); p.next() })
	s, err = dialSocket(soon(t), Config{URL: alive}, beat{time.Millisecond, patience})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for range 2 {
		if _, err := s.Call(soon(t), "m", nil); err != nil {
			t.Error(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// TestSocketLeave: a caller leaves at once; the late answer is no stray; a node that
// answers nobody is given up.
func TestSocketLeave(t *testing.T) {
	gate := make(chan struct{})
	s := dialNode(t, startSocketNode(t, func(p *peer) {
		var late []*ask
		for range 3 * maxStray {
			late = append(late, p.next())
		}
		<-gate
		for _, a := range late {
			p.answer(a, `"late"`)
		}
		for p.answer(p.next(), `"fine"`) {
		}
	}))
	for i := range 3 * maxStray {
		ctx, cancel := context.WithCancel(context.Background())
		go func() {
			eventually(t, "it is sent", func() bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				f := s.flying[fmt.Sprint(i+1)]
				return f != nil && f.sent
			})
			cancel()
		}()
		if _, err := s.Call(ctx, "m", nil); !errors.Is(err, context.Canceled) || !asFault(t, err).Sent {
			t.Fatal(err)
		}
	}
	close(gate)
	if got, err := s.Call(soon(t), "m", nil); string(got) != `"fine"` {
		t.Errorf("%s, %v", got, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stalled != 0 || len(s.flying) != 0 || s.strays != 0 {
		t.Errorf("%d stalled, %d flying, %d strays", s.stalled, len(s.flying), s.strays)
	}
}

// TestSocketForesight: a node can't answer what it was not asked yet, even if it
// guesses the id.
func TestSocketForesight(t *testing.T) {
	s := dialNode(t, startSocketNode(t, func(p *peer) { p.next() }))
	f, err := s.launch("m", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer := []byte(`{"id":` + f.id + `,"result":1}`)
	if s.message(answer) {
		t.Error("an answer before the call was sent")
	}
	if !s.mark(f) || !s.message(answer) || s.message(answer) {
		t.Error("the call is answered once, after it was sent")
	}
}

func TestSocketStalled(t *testing.T) {
	s := dialNode(t, startSocketNode(t, func(p *peer) {
		for p.next() != nil {
		}
	}))
	var all sync.WaitGroup
	for range 2 * maxFlying / 4 {
		all.Go(func() {
			for s.Err() == nil {
				ctx, cancel := context.WithTimeout(context.Background(), 5*time.Millisecond)
				_, _ = s.Call(ctx, "m", nil)
				cancel()
			}
		})
	}
	if err := ended(t, s); !errors.Is(err, tooManyStalled) {
		t.Errorf("ended with %v", err)
	}
	all.Wait()
}

// TestSocketBlockedWrite: a node that stops reading holds nobody.
func TestSocketBlockedWrite(t *testing.T) {
	left := make(chan struct{})
	defer close(left)
	s := dialNode(t, startSocketNode(t, func(*peer) { <-left }))
	large := []byte(`["` + strings.Repeat("x", 16<<20) + `"]`)
	for range 3 {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		_, err := s.Call(ctx, "m", large)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	}
}

func TestSocketNoLeak(t *testing.T) {
	full.Slow(t)
	url := startSocketNode(t, func(p *peer) {
		p.answer(p.next(), `"0x1"`)
		for p.event(`"0x1"`, "1") {
		}
	})
	for range 5 {
		s := dialNode(t, url)
		sub, err := s.Subscribe(soon(t), nil)
		if err != nil {
			t.Fatal(err)
		}
		<-sub.C
		s.Close()
		for range sub.C {
		}
	}
	eventually(t, "all goroutines end", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("wire.(*Socket)")) && !bytes.Contains(stacks, []byte("wire.(*Subscription)"))
	})
}
