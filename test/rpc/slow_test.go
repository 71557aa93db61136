package rpc_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// The tests of this file wait for time limits and need no processor meanwhile, so
// they run side by side.

// honest calls the server twenty times a second until stop and wants every answer
// before the first of the slow clients is cut: nobody's slowness is anybody else's.
func honest(t *testing.T, s *service, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(50 * time.Millisecond):
		}
		start := time.Now()
		if _, body := post(t, s.url("devnet", keyB), chainID); body != chainIDAnswer {
			t.Errorf("the honest client got %s", body)
		}
		if took := time.Since(start); took > 5*time.Second {
			t.Errorf("the honest client waited %v", took)
		}
	}
}

// closedWithin opens count connections, lets each do something, and wants the
// server to have closed all of them in time. Bytes it sends before are ignored. The exact
// limits are tested in fake time where they are set.
func closedWithin(t *testing.T, s *service, count int, limit time.Duration, each func(net.Conn)) {
	t.Helper()
	stop := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { honest(t, s, stop) })
	var open atomic.Int32
	var conns sync.WaitGroup
	for range count {
		c := rawDial(t, s)
		_ = c.SetReadDeadline(time.Now().Add(limit)) // each from its own begin: dialling hundreds takes a while
		go each(c)
		conns.Go(func() {
			if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
				open.Add(1)
			}
		})
	}
	conns.Wait()
	close(stop)
	helpers.Wait()
	if n := open.Load(); n > 0 {
		t.Errorf("%d of %d connections are still open after %v", n, count, limit)
	}
}

// TestSlowHeaders opens 200 connections whose headers never end.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	closedWithin(t, shared(t), 200, patience, func(c net.Conn) {
		_, err := fmt.Fprintf(c, "POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\n", keyA)
		for err == nil {
			time.Sleep(500 * time.Millisecond)
			_, err = fmt.Fprint(c, "X-A: b\r\n")
		}
	})
}

// TestSilentConnections sends nothing at all.
func TestSilentConnections(t *testing.T) {
	t.Parallel()
	closedWithin(t, shared(t), 200, patience, func(net.Conn) {})
}

// TestSlowBodies sends a byte a second of 200 bodies, whole and in chunks.
func TestSlowBodies(t *testing.T) {
	t.Parallel()
	for name, frame := range map[string]string{
		"whole":  "Content-Length: 1000\r\n\r\n",
		"chunks": "Transfer-Encoding: chunked\r\n\r\n3e8\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			closedWithin(t, shared(t), 100, patience, func(c net.Conn) {
				_, err := fmt.Fprintf(c, "POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s", keyA, frame)
				for err == nil {
					_, err = fmt.Fprint(c, "[")
					time.Sleep(time.Second)
				}
			})
		})
	}
}

// TestSilentBodies announces bodies and sends none of them.
func TestSilentBodies(t *testing.T) {
	t.Parallel()
	closedWithin(t, shared(t), 50, patience, func(c net.Conn) {
		_, _ = fmt.Fprintf(c, "POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n", keyA)
	})
}

// TestSteadyUpload takes 16 seconds at 2 KiB/s: slow, but it moves, so it is served.
func TestSteadyUpload(t *testing.T) {
	t.Parallel()
	const pieces, piece = 64, 512
	c := rawDial(t, shared(t))
	c.send(fmt.Sprintf("POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", keyA, pieces*piece+len(chainID)))
	c.send(chainID)
	for range pieces {
		time.Sleep(time.Second / 4)
		c.send(strings.Repeat(" ", piece))
	}
	if res := c.response(patience); res == nil || res.StatusCode != http.StatusOK {
		t.Errorf("answered %v", res)
	}
}

// askLarge asks for megabytes on a connection that takes little at a time.
func askLarge(c *rawConn) {
	batch := repeated(`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockReceipts","params":["latest"]}`, 1000)
	_ = c.Conn.(*net.TCPConn).SetReadBuffer(4096)
	c.send(fmt.Sprintf("POST /devnet/v3/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", keyA, len(batch), batch))
}

// TestUnreadAnswers asks for answers of megabytes and reads nothing. The server
// can't see that a peer doesn't read, only that its writes don't leave; none of
// them may last longer than 15 seconds.
func TestUnreadAnswers(t *testing.T) {
	t.Parallel()
	for range 5 {
		askLarge(rawDial(t, shared(t)))
	}
	await(t, "the answers are being written", patience, func() bool { return stuckWriters() == 5 })
	await(t, "the connections are cut", 2*15*time.Second, func() bool { return stuckWriters() == 0 })
}

// stuckWriters counts the goroutines that wait for a peer to read.
func stuckWriters() int {
	count := 0
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if strings.Contains(stack, "guardedConn).Write") && strings.Contains(stack, "[IO wait") {
			count++
		}
	}
	return count
}

// stacks are those of all goroutines of this process, the server's among them.
func stacks() string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 2)
	return text.String()
}

// inProgress waits until the server executes a contract, or has done so already.
func inProgress(t *testing.T, answered <-chan string) {
	t.Helper()
	await(t, "the call is in progress", patience, func() bool {
		return len(answered) > 0 || strings.Contains(stacks(), "go-ethereum/core/vm.(")
	})
}

// await polls until a condition holds.
func await(t *testing.T, what string, limit time.Duration, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if ok() {
			return
		}
	}
	t.Errorf("not after %v: %s", limit, what)
}
