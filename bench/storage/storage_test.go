package main

import (
	"bytes"
	"io"
	"mime/multipart"
	"net"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate/bench/child"
	"github.com/nodegate/nodegate/test/full"
)

// TestMain lets the benchmark start this test binary as its server.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == child.Command {
		if err := run(os.Args[1:]); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// TestWholeBenchmark does everything once, small. A second server stands in for
// Kubo: it has the same API, except that it collects on another address.
func TestWholeBenchmark(t *testing.T) {
	full.Slow(t)
	standIn, err := startServer(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := standIn.Close(); err != nil {
			t.Error(err)
		}
	}()
	at, err := url.Parse(standIn.Storage)
	if err != nil {
		t.Fatal(err)
	}
	at.Scheme, at.User = "http", url.UserPassword(standIn.Key, standIn.Secret)
	var out bytes.Buffer
	o := &options{
		size: 2 << 20, upload: 2 << 20, small: 20, rounds: 1, clients: 2, blocks: 1000,
		dir: t.TempDir(), kuboURL: at.String(), out: page{&out},
	}
	if err := benchmark(t.Context(), o); err != nil {
		t.Error(err)
	}
	for _, want := range []string{
		`add 2 MiB +http +\d+ MB/s .* aim 350 MB/s: (met|MISSED)`,
		`to kubo +[\d.]+x speed \(goal 1\.5x: (met|MISSED)\)`,
		`add 2,000 x 4 KiB, one multipart +http +\d+ files/s`,
		`cat 4 KiB, 8 connections +http +\d+ cats/s`,
		`pin/add, 8 connections +http +\d+ pins/s`,
		`add 4 KiB during a collection, p99 +http .* goal at most 3x: (met|MISSED)`,
		`memory, 2 uploads of 2 MiB +http +-?\d+ MB above \d+ `,
		`memory, 2 uploads of 2 MiB +kubo +-?\d+ MB above \d+\s`,
		`start on 1000 blocks +\S+ +goal at most 2s: (met|MISSED)`,
		`killed after 20 adds +\S+ +goal at most 2s`,
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("nothing printed like %s", want)
		}
	}
	if t.Failed() {
		t.Log(out.String())
	}
}

func TestUploadIsMultipartOfNewContent(t *testing.T) {
	s := newSource()
	seen := map[string]bool{}
	for range 2 {
		u := s.new(3, 2*stretch+5000)
		var body bytes.Buffer
		if err := u.writeTo(&body); err != nil {
			t.Fatal(err)
		}
		if int64(body.Len()) != u.size() {
			t.Fatalf("%d bytes, announced %d", body.Len(), u.size())
		}
		form := multipart.NewReader(&body, boundary)
		for range u.files {
			part, err := form.NextPart()
			if err != nil {
				t.Fatal(err)
			}
			content, err := io.ReadAll(part)
			if err != nil || int64(len(content)) != u.length {
				t.Fatalf("a file of %d bytes, want %d; error %v", len(content), u.length, err)
			}
			for at := 0; at+stampGap <= len(content); at += stampGap {
				if piece := string(content[at : at+stampGap]); seen[piece] {
					t.Fatalf("the piece at %d was there before", at)
				} else {
					seen[piece] = true
				}
			}
		}
		if _, err := form.NextPart(); err != io.EOF {
			t.Fatalf("after the last file: %v", err)
		}
	}
}

func TestFailuresAreErrors(t *testing.T) {
	for _, c := range []struct{ name, answer, want string }{
		{"status", "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 4\r\n\r\noops", "oops"},
		{"trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Stream-Error\r\n\r\n1\r\nx\r\n0\r\nX-Stream-Error: too bad\r\n\r\n", "too bad"},
		{"cut", "HTTP/1.1 200 OK\r\nContent-Length: 40\r\n\r\nshort", "unexpected EOF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				if conn, err := ln.Accept(); err == nil {
					_, _ = conn.Read(make([]byte, 1000))
					_, _ = io.WriteString(conn, c.answer)
					_ = conn.Close()
				}
			}()
			client := newConn(&target{host: ln.Addr().String()})
			defer client.close()
			if err := client.post("cat?arg=x", nil, io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestFindPeer(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	p, err := findPeer("http://" + ln.Addr().String() + "/")
	if err != nil {
		t.Fatal(err)
	}
	if p.usage.PID != os.Getpid() {
		t.Errorf("process %d listens, found %d", os.Getpid(), p.usage.PID)
	}
	if auth := p.target().auth; auth != "" {
		t.Errorf("a URL without a user gives the header %q", auth)
	}
	if bytes, err := p.usage.Memory(); err != nil || bytes < 1<<20 {
		t.Errorf("memory %d, error %v", bytes, err)
	}
	for end := time.Now().Add(50 * time.Millisecond); time.Now().Before(end); {
		_ = bytes.Repeat([]byte("x"), 1<<20)
	}
	if used, err := p.usage.CPU(); err != nil || used == 0 {
		t.Errorf("processor time %v, error %v", used, err)
	}
	for _, bad := range []string{"127.0.0.1:5001", "http://host", "ftp://host:1", "http://host:5001/api/v0"} {
		if _, err := findPeer(bad); err == nil {
			t.Errorf("%q is taken for a base URL", bad)
		}
	}
	if none, err := findPeer(""); none != nil || err != nil {
		t.Errorf("no address: %v, %v", none, err)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 999: "999ns", 1234567 * time.Nanosecond: "1.23ms", 12345 * time.Millisecond: "12.35s"} {
		if got := short(d); got != want {
			t.Errorf("short(%d) = %s, want %s", d, got, want)
		}
	}
}
