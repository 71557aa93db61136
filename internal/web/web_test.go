package web

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"
)

func TestAcceptsGzip(t *testing.T) {
	for value, want := range map[string]bool{
		"":                         false,
		"gzip":                     true,
		"GZip":                     true,
		"deflate, gzip":            true,
		"deflate,gzip;q=1.0, *":    true,
		"gzip;q=0.001":             true,
		"br;q=1.0, gzip;q=0.8":     true,
		" gzip ; q=0.5 ":           true,
		"gzip;q=0":                 false,
		"gzip; q=0":                false,
		"gzip;q=0.0":               false,
		"gzip;q=0.000":             false,
		"gzip ; q=0, br":           false,
		"identity":                 false,
		"x-gzipped":                false,
		"br, deflate":              false,
		"gzip;q=0, gzip":           false, // the first word stands
		"deflate;q=0.5,gzip;q=0.1": true,
	} {
		if got := AcceptsGzip(http.Header{"Accept-Encoding": {value}}); got != want {
			t.Errorf("%q: %t, want %t", value, got, want)
		}
	}
	if !AcceptsGzip(http.Header{"Accept-Encoding": {"br", "gzip"}}) {
		t.Error("two headers are one list")
	}
}

func TestGzip(t *testing.T) {
	for _, body := range []string{"", "abc", strings.Repeat("abc", 100_000)} {
		out := Gzip([]byte("head"), []byte(body))
		if !bytes.HasPrefix(out, []byte("head")) {
			t.Fatalf("%d bytes: what was there is gone", len(body))
		}
		z, err := gzip.NewReader(bytes.NewReader(out[4:]))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(z); err != nil || string(plain) != body {
			t.Errorf("%d bytes come back as %d (%v)", len(body), len(plain), err)
		}
	}
}

func TestCORS(t *testing.T) {
	h := http.Header{}
	CORS(h, "")
	if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Expose-Headers") != "" {
		t.Errorf("without an origin: %v", h)
	}
	CORS(h, "https://example.com")
	if h.Get("Access-Control-Allow-Origin") != "*" || h.Get("Access-Control-Expose-Headers") != ExposedHeaders {
		t.Errorf("with an origin: %v", h)
	}
	w := httptest.NewRecorder()
	Preflight(w, httptest.NewRequest(http.MethodOptions, "/", nil))
	if w.Code != http.StatusNoContent || w.Header().Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
}

// TestPreflightHeaders allows what a page asks for, within the list.
func TestPreflightHeaders(t *testing.T) {
	for requested, want := range map[string]string{
		"":                                 allowedHeaders,
		"content-type":                     allowedHeaders,
		"content-type,traceparent":         allowedHeaders + ", Traceparent",
		" X-REQUESTED-WITH , sentry-trace": allowedHeaders + ", Sentry-Trace, X-Requested-With",
		"x-requested-with-more, cookie":    allowedHeaders,
		"x-forwarded-for,host,x-api-key":   allowedHeaders,
		"range\r\nSet-Cookie: a=b":         allowedHeaders,
	} {
		w, req := httptest.NewRecorder(), httptest.NewRequest(http.MethodOptions, "/", nil)
		req.Header.Set("Access-Control-Request-Headers", requested)
		Preflight(w, req)
		if got := w.Header().Get("Access-Control-Allow-Headers"); got != want {
			t.Errorf("%q: %q, want %q", requested, got, want)
		}
	}
}

// listen returns a limited listener whose connections are accepted and kept.
func listen(t *testing.T, perIP int) (addr string, accepted <-chan net.Conn) {
	t.Helper()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln := Limit(inner, Bounds{PerIP: perIP})
	conns := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				close(conns)
				return
			}
			conns <- c
		}
	}()
	t.Cleanup(func() { _ = ln.Close() })
	return inner.Addr().String(), conns
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// TestLimit closes a third connection at once and takes a new one when one of the
// two has ended, however often it is closed.
func TestLimit(t *testing.T) {
	addr, accepted := listen(t, 2)
	dial(t, addr)
	dial(t, addr)
	first := <-accepted
	<-accepted
	third := dial(t, addr)
	_ = third.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := third.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the third is open: %v", err)
	}
	_ = first.Close()
	_ = first.Close()
	dial(t, addr)
	select {
	case <-accepted:
	case <-time.After(time.Minute):
		t.Error("no room after one has ended")
	}
	dial(t, addr)
	select {
	case <-accepted:
		t.Error("closing twice made room for two")
	case <-time.After(100 * time.Millisecond):
	}
}

// TestGuardedWrites sets a deadline on writes, and again when somebody cleared it.
func TestGuardedWrites(t *testing.T) {
	inner := &deadlineConn{}
	c := &guardedConn{Conn: inner, leave: func() {}}
	large := make([]byte, 3*writePiece+1)
	if n, err := c.Write(large); n != len(large) || err != nil {
		t.Fatalf("wrote %d: %v", n, err)
	}
	if inner.writes != 4 || inner.deadlines != 1 {
		t.Errorf("%d writes and %d deadlines, want 4 and 1", inner.writes, inner.deadlines)
	}
	_ = c.SetDeadline(time.Time{})
	_, _ = c.Write([]byte("x"))
	if inner.deadlines != 2 {
		t.Errorf("%d deadlines after they were cleared, want 2", inner.deadlines)
	}
	inner.fail = true
	if n, err := c.Write(large); n != 0 || err == nil {
		t.Errorf("wrote %d to a broken connection: %v", n, err)
	}
}

// deadlineConn counts what a guarded connection does to it.
type deadlineConn struct {
	net.Conn
	writes, deadlines int
	fail              bool
}

func (c *deadlineConn) Write(b []byte) (int, error) {
	if c.fail {
		return 0, net.ErrClosed
	}
	c.writes++
	return len(b), nil
}

func (c *deadlineConn) SetWriteDeadline(time.Time) error { c.deadlines++; return nil }

func (c *deadlineConn) SetDeadline(time.Time) error { return nil }
