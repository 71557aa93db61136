package storage_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// cutWithin is when a client that does not move is gone at the latest; the limits
// themselves are 5 s for a header and 10 s for a body and for an answer.
const cutWithin = 20 * time.Second

// TestSlow holds connections open in every way a client can. All of them end while
// an honest upload beside them is not cut.
func TestSlow(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	big := n.add(t, "", file("big", pattern(700, 64<<20)))[0]
	kind, whole := body(file("x", pattern(701, 4<<20)))
	for name, open := range map[string]func(*testing.T) net.Conn{
		"half a header": func(t *testing.T) net.Conn {
			c, err := net.Dial("tcp", n.host())
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(c, "POST /api/v0/version HTTP/1.1\r\nHost: x\r\n")
			return c
		},
		"no body":                     func(t *testing.T) net.Conn { return rawPost(t, n, "add", kind, len(whole)) },
		"no body to a plain command":  func(t *testing.T) net.Conn { return rawPost(t, n, "version", "text/plain", 100) },
		"no body after a refusal":     func(t *testing.T) net.Conn { return rawPost(t, n, "nope", "text/plain", 100) },
		"arguments that never come":   func(t *testing.T) net.Conn { return rawPost(t, n, "cat", kind, 100) },
		"a body that stops":           func(t *testing.T) net.Conn { return sends(t, n, kind, whole[:1000], len(whole)) },
		"a body of a byte at a time":  func(t *testing.T) net.Conn { return drips(t, n, kind, whole) },
		"an answer that nobody reads": func(t *testing.T) net.Conn { return rawPost(t, n, "cat?arg="+big, "", 0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := open(t)
			defer c.Close()
			begun := time.Now()
			if strings.Contains(name, "nobody reads") {
				time.Sleep(cutWithin - 4*time.Second)
			}
			_ = c.SetReadDeadline(begun.Add(3 * cutWithin))
			got, err := io.Copy(io.Discard, c)
			if ne, ok := err.(net.Error); ok && ne.Timeout() {
				t.Errorf("still open after %v", time.Since(begun))
			}
			if got >= 64<<20 {
				t.Error("everything was sent to somebody who did not read")
			}
			t.Logf("cut after %v", time.Since(begun).Round(100*time.Millisecond))
		})
	}
	t.Run("an honest upload", func(t *testing.T) {
		t.Parallel()
		steady(t, n, kind, whole)
	})
}

func sends(t *testing.T, n *tenant, kind string, data []byte, length int) net.Conn {
	c := rawPost(t, n, "add?progress=true", kind, length)
	_, _ = c.Write(data)
	return c
}

func drips(t *testing.T, n *tenant, kind string, data []byte) net.Conn {
	c := rawPost(t, n, "add", kind, len(data))
	go func() {
		for i := range data {
			if _, err := c.Write(data[i : i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	return c
}

// steady takes longer than the time for a body that does not move.
func steady(t *testing.T, n *tenant, kind string, data []byte) {
	r, w := io.Pipe()
	go func() {
		const pieces = 26
		for i := range pieces {
			_, _ = w.Write(data[len(data)*i/pieces : len(data)*(i+1)/pieces])
			time.Sleep(500 * time.Millisecond)
		}
		_ = w.Close()
	}()
	if a := send(n.request(t.Context(), "add", kind, r)); a.status != http.StatusOK || a.err != nil {
		t.Errorf("%d %s %v", a.status, a.body, a.err)
	}
}

// TestRest: bytes after a closing boundary are never taken for a request, whether they
// come at once or when the server has lost its patience.
func TestRest(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	for name, command := range map[string]string{"add": "add", "progress": "add?progress=true", "block": "block/put", "refused": "add?hash=nope", "cat": "version"} {
		for wait, pause := range map[string]time.Duration{"at once": 0, "later": cutWithin - 8*time.Second} {
			t.Run(name+" "+wait, func(t *testing.T) {
				t.Parallel()
				kind, whole := body(file("x", []byte("the whole of "+name+wait)))
				next := "POST /api/v0/version HTTP/1.1\r\nHost: x\r\nX-Second: 1\r\n\r\n"
				c := rawPost(t, n, command, kind, len(whole)+len(next))
				_, _ = c.Write(whole)
				time.Sleep(pause)
				_, _ = io.WriteString(c, next)
				_ = c.SetReadDeadline(time.Now().Add(3 * time.Second))
				answers, _ := io.ReadAll(c)
				if got := strings.Count(string(answers), "HTTP/1.1 "); got > 1 || strings.Contains(string(answers), "API key required") {
					t.Errorf("%d answers to one request: %s", got, answers)
				}
			})
		}
	}
}

// TestSlowStream does not read one stream of an HTTP/2 connection that is alive
// otherwise: the stream is cut, the connection works on.
func TestSlowStream(t *testing.T) {
	t.Parallel()
	n := newTenant(t)
	big := n.add(t, "", file("big", pattern(702, 32<<20)))[0]
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer c.CloseIdleConnections()
	stuck := secureDo(t, c, n, "cat?arg="+big, "", nil)
	for end := time.Now().Add(cutWithin - 4*time.Second); time.Now().Before(end); time.Sleep(time.Second) {
		if v := readAll(t, secureDo(t, c, n, "version", "", nil)); !strings.Contains(v, "0.43.0") {
			t.Errorf("beside it: %s", v)
		}
	}
	if got, err := io.Copy(io.Discard, bufio.NewReader(stuck.Body)); err == nil {
		t.Errorf("%d bytes came after all", got)
	}
}

// TestHalfOpen: many connections that never finish a header end soon, and an honest
// request is answered meanwhile.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	s := start(t, nil)
	n := s.tenant(t, "honest", "unlimited")
	var wait sync.WaitGroup
	for range 100 {
		c, err := net.Dial("tcp", s.host())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(c, "POST /api/v0/version HTTP/1.1\r\nX: ")
		wait.Go(func() {
			defer c.Close()
			_ = c.SetReadDeadline(time.Now().Add(3 * cutWithin))
			if _, err := io.Copy(io.Discard, c); err != nil && strings.Contains(err.Error(), "timeout") {
				t.Error("a connection stays open")
			}
		})
	}
	n.ok(t, "version")
	wait.Wait()
}
