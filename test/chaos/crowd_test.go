package chaos

import (
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// slack is what a loaded machine may add to a limit of seconds.
const slack = 5 * time.Second

// TestHalfOpen is row 5: connections that never finish their header.
func TestHalfOpen(t *testing.T) {
	t.Parallel()
	const crowd = 1000
	o := begin(t, 5, "1,000 half-open connections", "all closed within 6 s, honest p99 within 2x")
	p := newSandbox(t).start()
	alone := honest(t, p, 2000)
	var mu sync.Mutex
	var wait sync.WaitGroup
	var closed []time.Duration
	for range crowd {
		c, err := net.Dial("tcp", p.host())
		if err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		_, _ = io.WriteString(c, "POST /api/v0/version HTTP/1.1\r\nHost: x\r\nX-Slow: ")
		wait.Go(func() {
			defer c.Close()
			_ = c.SetReadDeadline(begun.Add(6*time.Second + slack))
			if _, err := io.Copy(io.Discard, c); isTimeout(err) {
				t.Error("a connection stays open")
			}
			mu.Lock()
			defer mu.Unlock()
			closed = append(closed, time.Since(begun))
		})
	}
	time.Sleep(200 * time.Millisecond) // opening them is our own work
	beside := honest(t, p, 2000)
	wait.Wait()
	last := slices.Max(closed)
	o.say("closed after %v at most; honest p99 %v, alone %v", last.Round(10*time.Millisecond), round(beside), round(alone))
	o.within(last <= 6*time.Second && beside <= 2*alone)
}

func isTimeout(err error) bool {
	ne, ok := err.(net.Error)
	return ok && ne.Timeout()
}

func round(d time.Duration) time.Duration { return d.Round(10 * time.Microsecond) }

// honest is the 99th percentile of small requests, one after the other.
func honest(t *testing.T, p *program, count int) time.Duration {
	t.Helper()
	times := make([]time.Duration, count)
	for i := range times {
		begun := time.Now()
		if r := p.post("version", "", nil); r.status != http.StatusOK {
			t.Fatalf("an honest request: %d %s", r.status, r.body)
		}
		times[i] = time.Since(begun)
	}
	slices.Sort(times)
	return times[count*99/100]
}

// rawPost writes the head of a request with credentials.
func rawPost(t *testing.T, p *program, command, kind string, length int) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", p.host())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	fmt.Fprintf(c, "POST /api/v0/%s HTTP/1.1\r\nHost: x\r\nAuthorization: Basic %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n",
		command, base64.StdEncoding.EncodeToString([]byte(p.key+":"+p.secret)), kind, length)
	return c
}

// TestSlow is row 6: bodies of a byte a second, answers that nobody reads, and an
// honest upload beside them that is only slow.
func TestSlow(t *testing.T) {
	t.Parallel()
	const crowd = 200
	o := begin(t, 6, "200 bodies of 1 B/s, 200 clients that never read, 20 MB at 1 MB/s", "closed within 15 s, the honest one is not cut")
	// All of them are one account, whose share of the memory is another row's.
	p := newSandbox(t, "NODEGATE_MEMORY_REQUESTS=1GiB", "NODEGATE_MEMORY_REQUESTS_PER_ACCOUNT=1GiB", "NODEGATE_STORAGE_MAX_REQUESTS=1000").start()
	big := p.mustAdd(pattern(1, 24_000_000))
	idle := p.sockets()
	kind, data := form("slow", pattern(2, 4000))
	var wait sync.WaitGroup
	var mu sync.Mutex
	var cut []time.Duration
	unread := make([]net.Conn, crowd)
	grown := p.growth(func() {
		for i := range crowd {
			drip := rawPost(t, p, "add", kind, len(data))
			unread[i] = rawPost(t, p, "cat?arg="+big, "", 0)
			wait.Go(func() {
				after := dripUntilCut(t, drip, data)
				mu.Lock()
				defer mu.Unlock()
				cut = append(cut, after)
			})
		}
		wait.Go(func() { steady(t, p) })
		wait.Wait()
	})
	gone := untilSockets(p, idle+5)
	for _, c := range unread {
		_ = c.SetReadDeadline(time.Now().Add(slack))
		if n, err := io.Copy(io.Discard, c); n >= 24_000_000 || isTimeout(err) {
			t.Errorf("somebody who did not read got %d bytes, %v", n, err)
		}
	}
	o.within(slices.Max(cut) <= 15*time.Second)
	o.say("bodies cut after %v at most, none of the unread answers open after %v; memory +%d MB", slices.Max(cut).Round(100*time.Millisecond), steadyTime, grown>>20)
	if !gone {
		t.Errorf("%d connections are open, %d at first", p.sockets(), idle)
	}
}

// dripUntilCut writes a byte a second until the server hangs up.
func dripUntilCut(t *testing.T, c net.Conn, data []byte) time.Duration {
	begun := time.Now()
	go func() {
		for i := range data {
			if _, err := c.Write(data[i : i+1]); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	_ = c.SetReadDeadline(begun.Add(15*time.Second + slack))
	if _, err := io.Copy(io.Discard, c); isTimeout(err) {
		t.Error("a body of a byte a second is still read")
	}
	return time.Since(begun)
}

// steadyTime is how long the honest upload takes, at 1 MB/s.
const steadyTime = 20 * time.Second

func steady(t *testing.T, p *program) {
	kind, data := form("steady", pattern(3, 20_000_000))
	r, w := io.Pipe()
	go func() {
		const steps = 100
		for i := range steps {
			_, _ = w.Write(data[len(data)*i/steps : len(data)*(i+1)/steps])
			time.Sleep(steadyTime / steps)
		}
		_ = w.Close()
	}()
	if got := p.post("add", kind, r); got.status != http.StatusOK {
		t.Errorf("a slow and honest upload: %d %s", got.status, got.body)
	}
}

// untilSockets waits a little for connections to end.
func untilSockets(p *program, most int) bool {
	for end := time.Now().Add(slack); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if p.sockets() <= most {
			return true
		}
	}
	return false
}
