package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/localca"
	"github.com/nodegate/nodegate/test/full"
)

// The types of HTTP/2's frames that the tests send.
const (
	dataFrame     = 0
	headersFrame  = 1
	resetFrame    = 3
	settingsFrame = 4
)

const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(payload))<<8|uint32(kind))
	b = append(b, flags)
	return append(binary.BigEndian.AppendUint32(b, stream), payload...)
}

// TestFrameCount counts the same, however the bytes are cut.
func TestFrameCount(t *testing.T) {
	sent := []byte(preface)
	for _, f := range [][]byte{
		frame(settingsFrame, 0, 0, nil),
		frame(headersFrame, 5, 1, []byte{0x82, 0x87, 0x84}),
		frame(resetFrame, 0, 1, make([]byte, 4)),
		frame(dataFrame, 0, 3, make([]byte, 16<<10)),
		frame(dataFrame, 0, 3, make([]byte, 256)),
		frame(dataFrame, 0, 3, make([]byte, 1023)),
		frame(dataFrame, 0, 3, make([]byte, 1024)),
		frame(dataFrame, 0, 3, []byte("x")),
	} {
		sent = append(sent, f...)
	}
	for _, size := range []int{1, 2, 8, 9, 10, 33, 100, len(sent)} {
		c := &frameConn{skip: prefaceSize}
		n := 0.0
		for rest := sent; len(rest) > 0; rest = rest[min(size, len(rest)):] {
			n += c.count(rest[:min(size, len(rest))])
		}
		if n != 4.5 {
			t.Errorf("in pieces of %d bytes: %v frames count, want 4.5", size, n)
		}
	}
}

// serveFramesOf serves HTTP/2 with a handler and returns how to connect.
func serveFramesOf(t *testing.T, h http.HandlerFunc) (*splitListener, func() *tls.Conn) {
	t.Helper()
	ca, err := localca.Open(t.TempDir(), []string{"127.0.0.1"})
	if err != nil {
		t.Fatal(err)
	}
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Either(Limit(inner, Bounds{PerIP: 100}), &tls.Config{GetCertificate: ca.Certificate, NextProtos: []string{"h2"}})
	srv := NewServer(&http.Server{Handler: h})
	split := newSplit(ln, srv.wrap)
	go func() { _ = srv.serve(split) }()
	t.Cleanup(func() { _ = srv.Close() })
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca.PEM())
	return split, func() *tls.Conn {
		c, err := tls.Dial("tcp", inner.Addr().String(), &tls.Config{RootCAs: pool, NextProtos: []string{"h2"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.NetConn().Close() })
		return c
	}
}

// TestRapidReset: streams that are opened and reset at once are served no faster than
// the client's rate of frames.
func TestRapidReset(t *testing.T) {
	full.Slow(t)
	var served atomic.Int64
	_, connect := serveFramesOf(t, func(http.ResponseWriter, *http.Request) { served.Add(1) })
	c := connect()
	start := time.Now()
	if _, err := c.Write(append([]byte(preface), frame(settingsFrame, 0, 0, nil)...)); err != nil {
		t.Fatal(err)
	}
	go func() { _, _ = io.Copy(io.Discard, c) }()
	_ = c.SetWriteDeadline(start.Add(3 * time.Second))
	for stream := uint32(1); ; {
		var b []byte
		for range 100 {
			b = append(b, frame(headersFrame, 5, stream, []byte{0x82, 0x87, 0x84, 0x01, 0x01, 'x'})...)
			b = append(b, frame(resetFrame, 0, stream, []byte{0, 0, 0, 8})...)
			stream += 2
		}
		if _, err := c.Write(b); err != nil {
			break // the server reads no further
		}
	}
	n, took := served.Load(), time.Since(start)
	// The bucket, what it may owe, and what has flowed in since, each pair being two frames.
	if most := int64(framesAtOnce + framesPerSecond*took.Seconds()); n > most || n == 0 {
		t.Errorf("%d requests were served in %v, want 1 to %d", n, took, most)
	}
}

// TestFramesOfRequests: a client whose requests are welcome doesn't use its bucket up;
// others do.
func TestFramesOfRequests(t *testing.T) {
	for path, most := range map[string]float64{"/welcome": 4 * framesOfRequest, "/other": framesAtOnce} {
		split, connect := serveFramesOf(t, func(_ http.ResponseWriter, req *http.Request) {
			if req.URL.Path == "/welcome" {
				Welcome(req)
			}
		})
		split.frames.rate.PerSecond = 1e-3 // so that nothing flows in during the test
		client := newStreamClient(connect)
		for range 300 {
			res, err := client.Post("https://127.0.0.1"+path, "", strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
		}
		used := split.frames.used(netip.MustParseAddr("127.0.0.1"))
		if used > most || path == "/other" && used < 600 { // HEADERS and a small DATA each
			t.Errorf("%s: 300 requests use %.0f frames", path, used)
		}
	}
}

// used is what is missing in a client's bucket.
func (f *frames) used(client netip.Addr) float64 {
	wait := f.buckets.Spend(client, f.rate.Burst, f.rate)
	return wait.Seconds() * f.rate.PerSecond
}

// TestStreams: a connection is told how many streams it may open.
func TestStreams(t *testing.T) {
	_, connect := serveFramesOf(t, func(http.ResponseWriter, *http.Request) {})
	c := connect()
	if _, err := c.Write(append([]byte(preface), frame(settingsFrame, 0, 0, nil)...)); err != nil {
		t.Fatal(err)
	}
	kind, body := readFrame(t, c)
	if kind != settingsFrame || !bytes.Contains(body, []byte{0, 3, 0, 0, 0, mostStreams}) {
		t.Errorf("frame %d says % x", kind, body)
	}
}

// TestCrowded: requests in progress are bounded by client, over all of its connections, and
// what ends makes room.
func TestCrowded(t *testing.T) {
	var inside atomic.Int64
	release := make(chan struct{})
	split, connect := serveFramesOf(t, func(_ http.ResponseWriter, req *http.Request) {
		inside.Add(1)
		<-release
	})
	split.frames.open.each = 3
	clients := []*http.Client{newStreamClient(connect), newStreamClient(connect)}
	statuses := make(chan int, 8)
	for i := range 8 {
		go func() {
			res, err := clients[i%2].Get("https://127.0.0.1/")
			if err != nil {
				t.Error(err)
				statuses <- 0
				return
			}
			_ = res.Body.Close()
			statuses <- res.StatusCode
		}()
	}
	for range 5 {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("beyond the bound: %d", status)
		}
	}
	close(release)
	for range 3 {
		if status := <-statuses; status != http.StatusOK {
			t.Errorf("within the bound: %d", status)
		}
	}
	if res, err := clients[0].Get("https://127.0.0.1/"); err != nil || res.StatusCode != http.StatusOK || inside.Load() != 4 {
		t.Errorf("afterwards: %v, %v, %d handlers", res, err, inside.Load())
	}
}

func newStreamClient(connect func() *tls.Conn) *http.Client {
	return &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return connect(), nil }}}
}

// TestUnreadStream: a client that lets no byte of a response through is cut, however short the
// response is, and the handler's work ends.
func TestUnreadStream(t *testing.T) {
	t.Parallel()
	for name, size := range map[string]int{"short": 100, "long": 1 << 20} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, connect := serveFramesOf(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, size)) })
			c := connect()
			noWindow := frame(settingsFrame, 0, 0, []byte{0, 4, 0, 0, 0, 0})
			get := frame(headersFrame, 5, 1, []byte{0x82, 0x87, 0x84, 0x01, 0x01, 'x'})
			if _, err := c.Write(append(append([]byte(preface), noWindow...), get...)); err != nil {
				t.Fatal(err)
			}
			_ = c.SetReadDeadline(time.Now().Add(streamPatience + 30*time.Second))
			for {
				if kind, _ := readFrame(t, c); kind == resetFrame {
					return
				}
			}
		})
	}
}

// TestSlowHandler: a handler that takes its time between two parts of a response isn't cut.
func TestSlowHandler(t *testing.T) {
	full.Slow(t)
	t.Parallel()
	_, connect := serveFramesOf(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 2*streamBuffer))
		time.Sleep(streamPatience + time.Second)
		_, _ = w.Write(make([]byte, 2*streamBuffer))
	})
	client := newStreamClient(connect)
	res, err := client.Get("https://127.0.0.1/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if n, err := io.Copy(io.Discard, res.Body); n != 4*streamBuffer || err != nil {
		t.Errorf("%d bytes came (%v)", n, err)
	}
}

func readFrame(t *testing.T, c io.Reader) (kind byte, body []byte) {
	t.Helper()
	var header [9]byte
	if _, err := io.ReadFull(c, header[:]); err != nil {
		t.Fatal(err)
	}
	body = make([]byte, binary.BigEndian.Uint32(header[:4])>>8)
	if _, err := io.ReadFull(c, body); err != nil {
		t.Fatal(err)
	}
	return header[3], body
}
