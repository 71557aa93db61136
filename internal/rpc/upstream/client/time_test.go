package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// bubble is a client whose connections are pipes, so that its time is the test's.
type bubble struct {
	*Client
	dialled atomic.Int32
	ended   atomic.Int32 // connections that the client has closed
}

// newBubble answers each call after a delay, with more headers.
func newBubble(t *testing.T, delay func(call int) time.Duration, headers string) *bubble {
	t.Helper()
	b := &bubble{Client: newClient(t, Config{URL: "http://node.test/"})}
	b.pool.dial = func(context.Context, time.Time) (*conn, error) {
		here, there := net.Pipe()
		b.dialled.Add(1)
		go b.answer(there, delay, headers)
		return &conn{Conn: here, raw: here, idleFor: idleTime}, nil
	}
	return b
}

func (b *bubble) answer(c net.Conn, delay func(call int) time.Duration, headers string) {
	defer b.ended.Add(1)
	defer c.Close()
	in := bufio.NewReader(c)
	for call := 1; ; call++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, _ := io.ReadAll(req.Body)
		_, id, _ := strings.Cut(string(body), `"id":`)
		id, _, _ = strings.Cut(id, ",")
		time.Sleep(delay(call))
		text := `{"id":` + id + `,"result":1}`
		if _, err := fmt.Fprintf(c, "HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", headers, len(text), text); err != nil {
			return
		}
	}
}

func atOnce(int) time.Duration { return 0 }

func (b *bubble) mustCall(t *testing.T) {
	t.Helper()
	if _, err := b.CallSafe(context.Background(), "m", nil); err != nil {
		t.Fatal(err)
	}
}

func TestIdle(t *testing.T) {
	for _, tt := range []struct {
		headers string
		kept    time.Duration
	}{{"", idleTime}, {"Keep-Alive: timeout=5\r\n", 4 * time.Second}, {"Keep-Alive: timeout=600\r\n", idleTime}} {
		synctest.Test(t, func(t *testing.T) {
			b := newBubble(t, atOnce, tt.headers)
			for range 3 {
				b.mustCall(t)
				time.Sleep(tt.kept - time.Millisecond)
			}
			if b.dialled.Load() != 1 {
				t.Errorf("%q: %d connections while it is in use", tt.headers, b.dialled.Load())
			}
			time.Sleep(2 * tt.kept)
			synctest.Wait()
			if b.ended.Load() != 1 || b.pool.open != 0 {
				t.Errorf("%q: an idle connection is still open", tt.headers)
			}
			b.mustCall(t)
			time.Sleep(tt.kept) // the very moment
			b.mustCall(t)
			b.Close()
			synctest.Wait()
			if b.ended.Load() != b.dialled.Load() {
				t.Errorf("%q: %d of %d connections ended", tt.headers, b.ended.Load(), b.dialled.Load())
			}
		})
	}
}

// lazy is a context that counts who asks for Done: that is what costs.
type lazy struct {
	context.Context
	asked *atomic.Int32
}

func (c lazy) Done() <-chan struct{} { c.asked.Add(1); return c.Context.Done() }

// TestQuick: a call that is answered soon never asks for Done; a slow one ends with
// its context all the same.
func TestQuick(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := quickTime - time.Millisecond
		b := newBubble(t, func(int) time.Duration { return wait }, "")
		b.mustCall(t) // connecting asks
		inner, cancel := context.WithCancel(context.Background())
		ctx := lazy{inner, new(atomic.Int32)}
		if _, err := b.Call(ctx, "m", nil); err != nil || ctx.asked.Load() != 0 {
			t.Errorf("a quick call: %v, asked %d times", err, ctx.asked.Load())
		}
		wait = time.Second
		if _, err := b.Call(ctx, "m", nil); err != nil || ctx.asked.Load() == 0 {
			t.Errorf("a slow call: %v, asked %d times", err, ctx.asked.Load())
		}
		begin := time.Now()
		time.AfterFunc(300*time.Millisecond, cancel)
		_, err := b.Call(ctx, "m", nil)
		if took := time.Since(begin); !errors.Is(err, context.Canceled) || took != 300*time.Millisecond {
			t.Errorf("a cancelled call: %v after %v", err, took)
		}
		b.Close()
		time.Sleep(time.Minute)
	})
}

func TestDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBubble(t, func(int) time.Duration { return time.Hour }, "")
		for _, limit := range []time.Duration{time.Millisecond, 5 * time.Second, 2 * defaultTimeout} {
			ctx, cancel := context.WithTimeout(context.Background(), limit)
			begin := time.Now()
			_, err := b.CallSafe(ctx, "m", nil)
			cancel()
			f := asFault(t, err)
			if took := time.Since(begin); !errors.Is(err, context.DeadlineExceeded) || !f.Sent || took != min(limit, defaultTimeout) {
				t.Errorf("within %v: %v after %v", limit, err, took)
			}
		}
		b.Close()
		time.Sleep(2 * time.Hour)
	})
}
