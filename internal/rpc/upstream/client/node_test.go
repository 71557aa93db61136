package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// patience is for things that happen at once unless something is broken.
const patience = time.Minute

// fakeNode is an HTTP server that answers as a test wants, byte for byte. Requests
// are read by net/http, which is how we know that they are well-formed.
type fakeNode struct {
	URL   string
	conns atomic.Int32 // accepted so far
	calls atomic.Int32 // requests read so far
	last  atomic.Pointer[http.Request]

	mu   sync.Mutex
	open []net.Conn
}

// request is what a fakeNode has read.
type request struct {
	net.Conn
	conn int    // the connection's number, from 1
	call int    // the request's number on its connection, from 1
	id   string // the token
	body []byte
}

// startNode answers each request by a function. It returns false to close the connection.
func startNode(t testing.TB, answer func(r *request) bool) *fakeNode {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n := &fakeNode{URL: "http://" + ln.Addr().String() + "/"}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			n.mu.Lock()
			n.open = append(n.open, c)
			n.mu.Unlock()
			number := int(n.conns.Add(1))
			all.Go(func() { n.serve(t, c, number, answer) })
		}
	})
	t.Cleanup(func() { _ = ln.Close(); n.hangUp(); all.Wait() })
	return n
}

// hangUp closes every connection.
func (n *fakeNode) hangUp() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.open {
		_ = c.Close()
	}
	n.open = nil
}

func (n *fakeNode) serve(t testing.TB, c net.Conn, number int, answer func(r *request) bool) {
	defer c.Close()
	in := bufio.NewReader(c)
	for call := 1; ; call++ {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		var envelope struct {
			Version string `json:"jsonrpc"`
			ID      json.RawMessage
			Method  string
			Params  []any
		}
		if err := json.Unmarshal(body, &envelope); err != nil || envelope.Version != "2.0" || envelope.Method == "" || envelope.Params == nil {
			t.Errorf("not a request: %s (%v)", body, err)
		}
		n.calls.Add(1)
		n.last.Store(req)
		if !answer(&request{Conn: c, conn: number, call: call, id: string(envelope.ID), body: body}) {
			return
		}
	}
}

// say writes to the client. It does not matter whether anybody
// reads it.
func (r *request) say(format string, args ...any) bool {
	_, err := fmt.Fprintf(r, format, args...)
	return err == nil
}

// result is an answer with a length.
func (r *request) result(result string) bool {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.id, result)
	return r.say("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

func newClient(t testing.TB, cfg Config) *Client {
	t.Helper()
	c, err := NewClient(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// asFault returns err as a Fault, which it must be.
func asFault(t testing.TB, err error) *Fault {
	t.Helper()
	var f *Fault
	if !errors.As(err, &f) {
		t.Fatalf("got %v (%T), want a fault", err, err)
	}
	return f
}

func soon(t testing.TB) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for something that another goroutine brings about.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
