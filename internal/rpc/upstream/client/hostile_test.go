package client

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

// drip writes a piece again and again until the client has enough of it.
func (r *request) drip(piece string, pause time.Duration) bool {
	for r.say("%s", piece) {
		time.Sleep(pause)
	}
	return false
}

// bomb is 100 MiB of nothing in 100 KiB.
func bomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for range 100 {
		if _, err := w.Write(make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestHostile: whatever a node does, the call ends with a fault, in time, and the
// connection with it.
func TestHostile(t *testing.T) {
	const ok, chunked = "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	packed := bomb(t)
	for name, tt := range map[string]struct {
		answer func(r *request) bool
		want   error
	}{
		"silence":           {func(r *request) bool { _, _ = r.Read(make([]byte, 1)); return false }, context.DeadlineExceeded},
		"slow headers":      {func(r *request) bool { return r.say(ok) && r.drip("X: y\r\n", 50*time.Millisecond) }, context.DeadlineExceeded},
		"a slow header":     {func(r *request) bool { return r.say(ok+"X: ") && r.drip("y", 20*time.Millisecond) }, context.DeadlineExceeded},
		"endless headers":   {func(r *request) bool { return r.say(ok) && r.drip(strings.Repeat("X: y\r\n", 1000), 0) }, hugeHead},
		"an endless header": {func(r *request) bool { return r.say(ok+"X: ") && r.drip(strings.Repeat("y", 1000), 0) }, hugeHead},
		"an endless line":   {func(r *request) bool { return r.say("HTTP/1.1 200 ") && r.drip(strings.Repeat("y", 1000), 0) }, hugeHead},
		"an endless body":   {func(r *request) bool { return r.say(ok+"\r\n") && r.drip(strings.Repeat("[", 1<<16), 0) }, ErrTooLarge},
		"a slow body": {func(r *request) bool {
			return r.say(ok+"Content-Length: 99\r\n\r\n") && r.drip(" ", 50*time.Millisecond)
		}, context.DeadlineExceeded},
		"endless chunks": {func(r *request) bool {
			return r.say(chunked) && r.drip("10000\r\n"+strings.Repeat("[", 1<<16)+"\r\n", 0)
		}, ErrTooLarge},
		"endless small chunks": {func(r *request) bool { return r.say(chunked) && r.drip(strings.Repeat("1;x\r\n[\r\n", 1000), 0) }, ErrTooLarge},
		"an endless size":      {func(r *request) bool { return r.say(chunked) && r.drip(strings.Repeat("0", 1000), 0) }, badChunk},
		"endless extensions":   {func(r *request) bool { return r.say(chunked) && r.drip("1;"+strings.Repeat("x", 200)+"\r\n[\r\n", 0) }, badChunk},
		"endless trailers":     {func(r *request) bool { return r.say(chunked+"0\r\n") && r.drip("X: y\r\n", 0) }, badChunk},
		"endless interim":      {func(r *request) bool { return r.drip("HTTP/1.1 100 Continue\r\n\r\n", 0) }, manyInterim},
		"a huge promise":       {func(r *request) bool { return r.say(ok + "Content-Length: 999999999999\r\n\r\n{}") }, ErrTooLarge},
		"too short":            {func(r *request) bool { return r.say(ok+"Content-Length: 50\r\n\r\n{}") && false }, cutShort},
		"too long":             {func(r *request) bool { return r.say(ok + "Content-Length: 5\r\n\r\n" + `{"id":1,"result":1}`) }, notJSONRPC},
		"a page":               {func(r *request) bool { return r.say(ok + "Content-Length: 14\r\n\r\n\n <!DOCTYPE ht>") }, aPage},
		"another protocol":     {func(r *request) bool { return r.say("220 mail.test ESMTP\r\n") }, notHTTP},
		"depth": {func(r *request) bool {
			return r.say(ok+"Content-Length: 500017\r\n\r\n"+`{"id":1,"result":`) && r.say("%s", strings.Repeat("[", 500_000))
		}, notJSONRPC},
		"a gzip bomb": {func(r *request) bool {
			return r.say("%sContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%s", ok, len(packed), packed)
		}, encoded},
		"a hidden gzip bomb": {func(r *request) bool { return r.say("%sContent-Length: %d\r\n\r\n%s", ok, len(packed), packed) }, notJSONRPC},
		"a reset": {func(r *request) bool {
			_ = r.Conn.(interface{ SetLinger(int) error }).SetLinger(0)
			return r.say(ok) && false
		}, nil},
		"a redirect": {func(r *request) bool { return r.say("HTTP/1.1 307 X\r\nLocation: /\r\nContent-Length: 0\r\n\r\n") }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := startNode(t, tt.answer)
			cfg := Config{URL: node.URL, MaxAnswer: 1 << 20}
			if errors.Is(tt.want, context.DeadlineExceeded) {
				cfg.Timeout = 2 * time.Second
			}
			c := newClient(t, cfg)
			result, err := c.CallSafe(context.Background(), "m", nil)
			f := asFault(t, err)
			if result != nil || !f.Sent || tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("%s, %v, sent %v, want %v", result, err, f.Sent, tt.want)
			}
			if n := node.calls.Load(); n != 1 {
				t.Errorf("%d requests", n)
			}
		})
	}
}

// TestHostileMemory: an answer without end costs little more than its limit.
func TestHostileMemory(t *testing.T) {
	node := startNode(t, func(r *request) bool {
		return r.say("HTTP/1.1 200 OK\r\nContent-Length: 60000000\r\n\r\n") && r.drip(strings.Repeat("[", 1<<16), 0)
	})
	c := newClient(t, Config{URL: node.URL, MaxAnswer: 4 << 20})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		if _, err := c.CallSafe(soon(t), "m", nil); !errors.Is(err, ErrTooLarge) {
			t.Fatal(err)
		}
	}
	runtime.ReadMemStats(&after)
	if got := after.TotalAlloc - before.TotalAlloc; got > 20<<20 {
		t.Errorf("%d MiB", got>>20)
	}
}

// TestNoLeak: faults of all kinds leave no goroutine and no connection behind.
func TestNoLeak(t *testing.T) {
	node := startNode(t, func(r *request) bool {
		switch r.call % 4 {
		case 0:
			return r.say("x")
		case 1:
			return r.result("1")
		case 2:
			return r.say("HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n")
		}
		time.Sleep(15 * time.Millisecond)
		return r.result("2")
	})
	c := newClient(t, Config{URL: node.URL})
	for i := range 60 {
		ctx, cancel := context.WithTimeout(context.Background(), time.Duration(i)*time.Millisecond)
		_, _ = c.CallSafe(ctx, fmt.Sprint("m", i), nil)
		cancel()
	}
	c.Close()
	node.hangUp()
	eventually(t, "the client's goroutines end", func() bool {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		return !bytes.Contains(stacks, []byte("wire.(*conn)")) && !bytes.Contains(stacks, []byte("wire.(*pool)"))
	})
	if c.pool.open != 0 || len(c.pool.idle) != 0 {
		t.Errorf("%d connections are open, %d idle", c.pool.open, len(c.pool.idle))
	}
}
