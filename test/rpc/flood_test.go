package rpc_test

import (
	"bytes"
	"fmt"
	"net/http"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// growth runs work and returns by how many bytes the process had grown at its
// largest. The clients of a test are part of the process, so they share one body.
func growth(t *testing.T, work func()) int64 {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(10)) // or the collector's slack hides what is in use
	debug.FreeOSMemory()
	before, peak := resident(), int64(0)
	stop := make(chan struct{})
	var sampler sync.WaitGroup
	sampler.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
				peak = max(peak, resident())
			}
		}
	})
	work()
	close(stop)
	sampler.Wait()
	return max(peak-before, 0)
}

// resident is the memory that the Go runtime holds, garbage and stacks included.
// The system's figure would also count what the race detector notes about it.
func resident() int64 {
	sample := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64() - sample[1].Value.Uint64())
}

// concurrently runs work count times at once and waits.
func concurrently(count int, work func(i int)) {
	var all sync.WaitGroup
	for i := range count {
		all.Go(func() { work(i) })
	}
	all.Wait()
}

// TestHeaderFlood has more headers than a request may have, in one and in many.
func TestHeaderFlood(t *testing.T) {
	many := ""
	for i := range 1000 {
		many += fmt.Sprintf("X-Flood-%04d: 0123456789\r\n", i)
	}
	for name, header := range map[string]string{
		"one of 20 KiB": "X-Large: " + strings.Repeat("a", 20<<10) + "\r\n",
		"1,000":         many,
		"one of 1 MiB":  "X-Large: " + strings.Repeat("a", 1<<20) + "\r\n",
		"a long path":   "", // in the request line
	} {
		t.Run(name, func(t *testing.T) {
			path := "/devnet/v3/" + keyA
			if header == "" {
				path += "?" + strings.Repeat("a", 24<<10)
			}
			c := rawDial(t, shared(t))
			go c.send(fmt.Sprintf("POST %s HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, header, len(chainID), chainID))
			if res := c.response(patience); res == nil || res.StatusCode != http.StatusRequestHeaderFieldsTooLarge || !res.Close {
				t.Errorf("answered %v, want 431 and a close", res)
			}
		})
	}
	grown := growth(t, func() {
		concurrently(50, func(int) {
			c := rawDial(t, shared(t))
			c.send("POST /devnet/v3/" + keyA + " HTTP/1.1\r\nHost: x\r\nX-Large: ")
			for range 64 {
				_, _ = c.Write(manyBytes)
			}
		})
	})
	t.Logf("grew by %d MiB", grown>>20)
	if grown > 20<<20 {
		t.Errorf("50 floods of 4 MiB grew the process by %d MiB, want at most 20", grown>>20)
	}
}

// manyBytes is part of an endless header. All clients write the same bytes, so that the test's
// own copies don't count.
var manyBytes = bytes.Repeat([]byte("a"), 64<<10)

// TestDepthBombs sends millions of open brackets, in arrays and in objects.
func TestDepthBombs(t *testing.T) {
	s := shared(t)
	bombs := []string{
		strings.Repeat("[", 2_500_000),
		strings.Repeat(`{"a":`, 1_000_000),
		`{"jsonrpc":"2.0","id":1,"method":"eth_call","params":` + strings.Repeat("[", 2_500_000),
		`[{"jsonrpc":"2.0","id":1,"params":` + strings.Repeat(`[{"a":`, 800_000),
	}
	start := time.Now()
	grown := growth(t, func() {
		concurrently(20, func(i int) {
			key := []string{keyA, keyB}[i%2] // twenty are more than an account may have in memory
			status, body := post(t, s.url("devnet", key), bombs[i/2%len(bombs)])
			if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"parse error"}}`; status != http.StatusOK || body != want {
				t.Errorf("%d %.200s", status, body)
			}
		})
	})
	// Twenty bodies of up to 5 MiB are in progress at once; parsing must add little to them.
	t.Logf("grew by %d MiB", grown>>20)
	if limit := int64(20*bodyLimit + 50<<20); grown > limit {
		t.Errorf("grew by %d MiB, want at most %d", grown>>20, limit>>20)
	}
	if took := time.Since(start); took > patience {
		t.Errorf("took %v", took)
	}
	for _, bomb := range bombs {
		c := dial(t, s.ws("devnet", keyA))
		write(t, c, bomb)
		if _, _, e := answerOf(t, read(t, c)); e.Code != -32700 {
			t.Errorf("over a WebSocket: %v", e)
		}
	}
}

// TestGzipBombs inflates 100 MiB out of 100 KB, twenty at once.
func TestGzipBombs(t *testing.T) {
	s, bomb := shared(t), zipped(strings.Repeat("\x00", 100<<20))
	grown := growth(t, func() {
		concurrently(20, func(int) {
			res, body := do(t, request(t, "POST", s.url("devnet", keyA), bomb, "Content-Encoding", "gzip"))
			if _, _, e := answerOf(t, body); res.StatusCode != http.StatusRequestEntityTooLarge || e.Code != -32600 {
				t.Errorf("%d %.200s", res.StatusCode, body)
			}
		})
	})
	t.Logf("grew by %d MiB", grown>>20)
	if limit := int64(20*bodyLimit + 100<<20); grown > limit {
		t.Errorf("grew by %d MiB, want at most %d", grown>>20, limit>>20)
	}
}

// TestSocketCompression is never agreed to: it is how small messages become large.
func TestSocketCompression(t *testing.T) {
	c, res, err := websocket.Dial(t.Context(), shared(t).ws("devnet", keyA), &websocket.DialOptions{CompressionMode: websocket.CompressionContextTakeover})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	if got := res.Header.Get("Sec-WebSocket-Extensions"); got != "" {
		t.Errorf("agreed to %q", got)
	}
}
