package fastpath

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// TestLeaving: a peer that goes while its call runs ends the call's context.
func TestLeaving(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.send(post("/v3/k", "", askHold))
	ctx := await(t, "the call", s.entered)
	if err := ctx.Err(); err != nil {
		t.Fatalf("the context ended before the peer left: %v", err)
	}
	_ = c.Close()
	if err := await(t, "the context's end", s.left); !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended with %v", err)
	}
	noConns(t, s)
}

// TestReset: the same for a peer that cuts the connection off.
func TestReset(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.send(post("/v3/k", "", askHold))
	await(t, "the call", s.entered)
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	if err := await(t, "the context's end", s.left); !errors.Is(err, context.Canceled) {
		t.Errorf("the context ended with %v", err)
	}
	noConns(t, s)
}

// TestLeavingUnwatched: a call that never asks is not disturbed, and its
// connection is given up when the answer can't be delivered.
func TestLeavingUnwatched(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.send(post("/v3/k", "", askBlind))
	ctx := await(t, "the call", s.entered)
	_ = c.Close()
	time.Sleep(10 * time.Millisecond)
	if err := ctx.Err(); err != nil {
		t.Errorf("the context of a call nobody watches ended: %v", err)
	}
	s.release <- struct{}{}
	noConns(t, s)
}

// noConns waits until the server has forgotten every connection.
func noConns(t *testing.T, s *site) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		s.mu.Lock()
		n := len(s.conns)
		s.mu.Unlock()
		if n == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d connections are still served", n)
		}
	}
}

// TestNextDuringCall: what the watcher reads of the next request is part of it.
func TestNextDuringCall(t *testing.T) {
	next := []exchanged{{post("/b", "", "2"), echo("/b", "2")}, {post("/c", "", askDone), echo("/c", askDone)}, {handedOver[3].raw, handedOver[3].want}}
	s := start(t)
	for n := 1; n <= len(wire(next)); n += 7 {
		c := s.dial(t)
		c.send(post("/a", "", askHold))
		ctx := await(t, "the call", s.entered)
		c.send(wire(next)[:n])
		time.Sleep(2 * time.Millisecond) // the watcher should have seen it; either way is right
		if err := ctx.Err(); err != nil {
			t.Fatalf("the next request ended the call: %v", err)
		}
		s.release <- struct{}{}
		c.expect("plain", echo("/a", askHold))
		c.send(wire(next)[n:])
		for _, e := range next {
			c.expect("", e.want)
		}
	}
}

// TestNextDuringCallUnread: the same with pipes, where it is certain that the
// watcher has taken the byte before the call ends, and again in the next call.
func TestNextDuringCallUnread(t *testing.T) {
	s, open := startPipes(t)
	c := open(t)
	c.send(post("/a", "", askHold))
	await(t, "the call", s.entered)
	c.send("P") // returns once the watcher has read it
	s.release <- struct{}{}
	c.expect("plain", echo("/a", askHold))
	c.send(post("/b", "", "2")[1:])
	c.expect("full", echo("/b", "2"))
}

// TestHandedOverWithByte: a call that is handed over after the watcher has taken
// a byte of the next request. Nothing may be lost, nothing come twice.
func TestHandedOverWithByte(t *testing.T) {
	s, open := startPipes(t)
	s.handler = lateRefusal{s}
	c := open(t)
	c.send(post("/a", "", "1"))
	await(t, "the call", s.entered)
	c.send("P")
	s.release <- struct{}{}
	go func() { _, _ = io.WriteString(c.Conn, post("/b", "", "2")[1:]) }() // a pipe has no room of its own
	c.expect("full", echo("/a", "1"))
	c.expect("full", echo("/b", "2"))
}

// lateRefusal hands every request over, but only after it has asked for Done.
type lateRefusal struct{ *site }

func (h lateRefusal) ServePlain(ctx context.Context, _ *Conn, _ *Request, _ []byte) ([]byte, bool) {
	h.hold(ctx)
	return nil, false
}

// TestWatchManyTimes: watching begins and ends with every call of a connection.
func TestWatchManyTimes(t *testing.T) {
	c := start(t).dial(t)
	for range 200 {
		c.send(post("/v3/k", "", askDone))
		c.expect("plain", echo("/v3/k", askDone))
	}
}

// TestDerivedTimeout: a timeout on top of the request's context works as usual,
// while the peer stays and when it leaves.
func TestDerivedTimeout(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.send(post("/v3/k", "", askHold))
	ctx := await(t, "the call", s.entered)
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	await(t, "the timeout", short.Done())
	if err := short.Err(); !errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil {
		t.Errorf("the derived context ended with %v, the request's with %v", err, ctx.Err())
	}
	long, cancel := context.WithTimeout(ctx, time.Hour)
	defer cancel()
	if err := long.Err(); err != nil {
		t.Errorf("the derived context ended at once: %v", err)
	}
	_ = c.Close()
	await(t, "the end of the derived context", long.Done())
	if err := long.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("the derived context ended with %v", err)
	}
}

// TestDoneTwice: every asker gets the same channel, and Err follows it.
func TestDoneTwice(t *testing.T) {
	s := start(t)
	c := s.dial(t)
	c.send(post("/v3/k", "", askHold))
	ctx := await(t, "the call", s.entered)
	if first := ctx.Done(); first == nil || first != ctx.Done() {
		t.Fatal("Done is not one channel")
	}
	if _, ok := ctx.Deadline(); ok {
		t.Error("a request has a deadline of its own")
	}
	_ = c.Close()
	await(t, "Done", ctx.Done())
	if err := ctx.Err(); !errors.Is(err, context.Canceled) {
		t.Errorf("Done is closed and Err is %v", err)
	}
}

// TestLateDone: a context outlives its call; asking it then must not touch the
// connection, which may be reading the next request.
func TestLateDone(t *testing.T) {
	for _, body := range []string{askHold, askBlind} {
		t.Run(body, func(t *testing.T) {
			s := start(t)
			c := s.dial(t)
			c.send(post("/v3/k", "", body))
			ctx := await(t, "the call", s.entered)
			s.release <- struct{}{}
			c.expect("plain", echo("/v3/k", body))
			for range 20 {
				go ctx.Done()
				c.send(post("/v3/k", "", "x"))
				c.expect("plain", echo("/v3/k", "x"))
			}
		})
	}
}

// TestManyWatched: many connections at once, some of which leave during the call.
func TestManyWatched(t *testing.T) {
	s := start(t)
	const conns = 60
	var clients []*client
	for range conns {
		c := s.dial(t)
		c.send(post("/v3/k", "", askHold))
		clients = append(clients, c)
	}
	for range conns {
		await(t, "the calls", s.entered)
	}
	for i, c := range clients {
		if i%2 == 0 {
			_ = c.Close()
		}
	}
	for range conns / 2 {
		await(t, "the end of the calls whose peer left", s.left)
	}
	for range conns / 2 {
		s.release <- struct{}{}
	}
	for i, c := range clients {
		if i%2 == 1 {
			c.expect("plain", echo("/v3/k", askHold))
		}
	}
}
