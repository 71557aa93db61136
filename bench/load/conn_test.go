package load

import (
	"bufio"
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestReadHTTP(t *testing.T) {
	for _, c := range []struct{ name, response, body, failure string }{
		{"length", "HTTP/1.1 200 OK\r\ncontent-length: 5\r\nX: y\r\n\r\nhello", "hello", ""},
		{"empty", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "", ""},
		{"chunks", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n", "hello", ""},
		{"status", "HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy", "busy", "HTTP status 503: busy"},
		{"no length", "HTTP/1.1 200 OK\r\n\r\nhello", "", "response without a length"},
		{"cut short", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello", "", "unexpected EOF"},
		{"bad chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhello\r\n", "", "a chunk does not end"},
		{"negative chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n", "", "invalid syntax"},
		{"no HTTP", "SSH-2.0-OpenSSH\r\n\r\n", "", "not a status line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			// The answer to the next request follows at once: nothing of it may be taken.
			r := bufio.NewReader(strings.NewReader(c.response + "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nnext"))
			if c.name == "cut short" {
				r = bufio.NewReader(strings.NewReader(c.response))
			}
			body, err := httpTransport{}.read(r, nil)
			if c.failure != "" {
				if err == nil || !strings.Contains(err.Error(), c.failure) {
					t.Fatalf("error %v, want %q", err, c.failure)
				}
				return
			}
			if err != nil || string(body) != c.body {
				t.Fatalf("body %q, error %v", body, err)
			}
			if next, err := (httpTransport{}).read(r, body[:0]); err != nil || string(next) != "next" {
				t.Errorf("next body %q, error %v", next, err)
			}
		})
	}
}

func TestReadSocket(t *testing.T) {
	long := strings.Repeat("x", 70_000)
	var stream bytes.Buffer
	stream.WriteString("\x01\x03hel" + "\x89\x04ping" + "\x80\x02lo")          // in two frames, a ping between
	stream.WriteString("\x81\x7f\x00\x00\x00\x00\x00\x01\x11\x70" + long)      // 64-bit size
	stream.WriteString("\x81\x7e\x00\x80" + long[:128] + "\x88\x04\x03\xe9by") // 16-bit size, then a close
	r := bufio.NewReader(&stream)
	for _, want := range []string{"hello", long, long[:128]} {
		got, err := socketTransport{}.read(r, nil)
		if err != nil || string(got) != want {
			t.Fatalf("message of %d bytes, want %d, error %v", len(got), len(want), err)
		}
	}
	if _, err := (socketTransport{}).read(r, nil); err == nil || !strings.Contains(err.Error(), "closed by the server") {
		t.Errorf("error %v", err)
	}
}

func TestBodyNumbers(t *testing.T) {
	target, _ := url.Parse("http://127.0.0.1:1/path")
	b := NewBody(`{"from":"0x` + Unique + `"}`)
	if got := string(b.Text(0xabc)); got != `{"from":"0x0000000000000abc"}` {
		t.Errorf("text %s", got)
	}
	for _, transport := range []transport{httpTransport{target}, socketTransport{target}} {
		wire := transport.wrap(b.text)
		b.number(wire, 1<<63)
		if !bytes.HasSuffix(wire, []byte(`{"from":"0x8000000000000000"}`)) {
			t.Errorf("wire %q", wire)
		}
	}
	if got := string(NewBody("plain").Text(7)); got != "plain" {
		t.Errorf("text %s", got)
	}
}

func TestRun(t *testing.T) {
	var served atomic.Uint64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if served.Add(1)%2 == 0 {
			_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"odd"}}`))
			return
		}
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"0x1"}`))
	}))
	defer server.Close()
	target, _ := url.Parse(server.URL)
	r, err := Run(target, []Body{NewBody("a"), NewBody(Unique)}, Options{
		Conns: 2, WarmUp: time.Millisecond, Measure: 50 * time.Millisecond, Sequence: new(atomic.Uint64),
		CPU: func() (time.Duration, error) { return time.Duration(served.Load()), nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Latency.Count() == 0 || r.Latency.Count() > served.Load() || r.Errors == 0 || r.Errors == r.Latency.Count() {
		t.Errorf("%d answers of %d, %d errors", r.Latency.Count(), served.Load(), r.Errors)
	}
	if !strings.Contains(r.FirstError, "odd") || r.CPU <= 0 {
		t.Errorf("first error %q, CPU %v", r.FirstError, r.CPU)
	}
}

// TestRunOver: every address gets requests, in turn.
func TestRunOver(t *testing.T) {
	var served [3]atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		served[req.URL.Path[1]-'0'].Add(1)
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":"0x1"}`))
	}))
	defer server.Close()
	var targets []*url.URL
	for _, path := range []string{"/0", "/1", "/2"} {
		target, _ := url.Parse(server.URL + path)
		targets = append(targets, target)
	}
	r, err := RunOver(targets, NewBody("a"), Options{
		Conns: 1, Measure: 50 * time.Millisecond, Sequence: new(atomic.Uint64), CPU: func() (time.Duration, error) { return 0, nil },
	})
	if err != nil || r.Latency.Count() == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	first, last := served[0].Load(), served[2].Load()
	if last == 0 || first-last > 1 {
		t.Errorf("%d and %d requests", first, last)
	}
}
