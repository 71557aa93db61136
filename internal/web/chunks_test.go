package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate/test/full"
)

// serveChunks serves HTTP/1 and returns the framing that is counted, and a connection.
func serveChunks(t *testing.T, h http.HandlerFunc) (*framing, net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Limit(inner, Bounds{PerIP: 100})
	srv := NewServer(&http.Server{Handler: h, ReadHeaderTimeout: time.Minute})
	go func() { _ = srv.Serve(ln) }()
	t.Cleanup(func() { _ = srv.Close() })
	c, err := net.Dial("tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return &ln.(*limitedListener).framing, c
}

const chunkedHead = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"

// inChunks is a body of n chunks of a size.
func inChunks(n, size int) string {
	return strings.Repeat(fmt.Sprintf("%x\r\n%s\r\n", size, strings.Repeat("x", size)), n) + "0\r\n\r\n"
}

// used is what is missing in a client's bucket.
func (f *framing) used(client netip.Addr) float64 {
	wait := f.buckets.Spend(client, f.rate.Burst, f.rate)
	return wait.Seconds() * f.rate.PerSecond
}

// TestFraming: bodies in chunks that clients send cost nothing, tiny chunks cost their framing.
func TestFraming(t *testing.T) {
	for name, c := range map[string]struct {
		n, size     int
		least, most float64
	}{
		"a large chunk":         {1, 4 << 20, 0, 0},
		"chunks of 32 KiB":      {100, 32 << 10, 0, 0},
		"chunks of small files": {20_000, 64, 0, 0},
		"a few tiny chunks":     {500, 1, 0, 0},
		"chunks of one byte":    {50_000, 1, 230_000, 244_000}, // 4.9 bytes each, without what may be read ahead
		"chunks of 16 bytes":    {50_000, 16, 190_000, 200_000},
	} {
		t.Run(name, func(t *testing.T) {
			f, conn := serveChunks(t, func(w http.ResponseWriter, req *http.Request) {
				b := make([]byte, 1<<20)
				got := 0
				for {
					n, err := req.Body.Read(b)
					if got += n; err != nil {
						break
					}
				}
				_, _ = fmt.Fprint(w, got)
			})
			f.rate.PerSecond = 1e-3 // so that nothing flows in during the test
			go func() { _, _ = io.WriteString(conn, chunkedHead+inChunks(c.n, c.size)) }()
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			if b, _ := io.ReadAll(res.Body); string(b) != fmt.Sprint(c.n*c.size) {
				t.Errorf("%s bytes came", b)
			}
			if used := f.used(netip.MustParseAddr("127.0.0.1")); used < c.least || used > c.most+1 {
				t.Errorf("%.0f bytes count, want %.0f to %.0f", used, c.least, c.most)
			}
		})
	}
}

// TestTinyChunks: a body in chunks of one byte is read no faster than the client's rate.
func TestTinyChunks(t *testing.T) {
	full.Slow(t)
	var got atomic.Int64
	f, conn := serveChunks(t, func(_ http.ResponseWriter, req *http.Request) {
		for b := make([]byte, 64<<10); ; {
			n, err := req.Body.Read(b)
			if got.Add(int64(n)); err != nil {
				return
			}
		}
	})
	f.rate.PerSecond = 1e-3
	_ = conn.SetWriteDeadline(time.Now().Add(3 * time.Second))
	chunks := []byte(strings.Repeat("1\r\n \r\n", 10_000))
	for n, err := io.WriteString(conn, chunkedHead); err == nil && n < 64<<20; {
		var more int
		more, err = conn.Write(chunks)
		n += more
	}
	if n := got.Load(); n == 0 || n > framingAtOnce/4 {
		t.Errorf("%d bytes were read", n)
	}
}

// TestUnreadChunks: of chunks that no handler reads, the server reads no further, and the
// client can read its answer. A connection goes on where everything has come.
func TestUnreadChunks(t *testing.T) {
	f, conn := serveChunks(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	f.rate.PerSecond = 1e-3
	answers := bufio.NewReader(conn)
	for _, c := range []struct {
		body  string
		close bool
	}{{inChunks(10, 1), false}, {inChunks(1000, 1), false}, {inChunks(50_000, 1), true}} {
		go func() { _, _ = io.Copy(conn, bytes.NewReader([]byte(chunkedHead+c.body))) }()
		res, err := http.ReadResponse(answers, nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusUnauthorized || res.Close != c.close {
			t.Errorf("%s, closes: %v", res.Status, res.Close)
		}
	}
	if b, err := io.ReadAll(answers); len(b) > 0 || err != nil {
		t.Errorf("afterwards: %q, %v", b, err)
	}
}
