package main

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/nodegate/nodegate/bench/child"
)

// target is a way to a server, and what this benchmark has put there.
type target struct {
	name, host string
	tls        bool
	auth       string // header, or ""
	usage      child.Usage
	collect    string // URL whose POST collects garbage

	large map[string]string // CID of a large file, by the options of its add
	small []string          // CIDs of small files
	cids  []string          // what the round at hand works on
}

// conn is one connection to a target. It does as little as a client can: what it
// spends is missing to the server.
type conn struct {
	target *target
	net    net.Conn // nil until the first request, and after the server has closed
	reader *bufio.Reader
	buffer []byte
}

// requestTime bounds one request, so that a server that hangs ends the benchmark.
const requestTime = 10 * time.Minute

// smallBody is what is written together with the head, in one system call.
const smallBody = 64 << 10

func newConn(t *target) *conn {
	return &conn{target: t, buffer: make([]byte, 256<<10)}
}

func (c *conn) open() error {
	if c.net != nil {
		return nil
	}
	plain, err := net.Dial("tcp", c.target.host)
	if err != nil {
		return err
	}
	c.net = plain
	if c.target.tls {
		// Who answers on loopback is known; a certificate of its own authority proves no more.
		c.net = tls.Client(plain, &tls.Config{InsecureSkipVerify: true})
	}
	c.reader = bufio.NewReaderSize(c.net, 64<<10)
	return nil
}

func (c *conn) close() {
	if c.net != nil {
		_ = c.net.Close()
		c.net = nil
	}
}

// post calls a command and writes its answer to sink. Any failure is an error, also
// the one that Kubo tells in a trailer.
func (c *conn) post(path string, b *upload, sink io.Writer) error {
	if err := c.open(); err != nil {
		return err
	}
	_ = c.net.SetDeadline(time.Now().Add(requestTime))
	written := make(chan error, 1)
	if b.size() <= smallBody {
		var all bytes.Buffer
		c.head(&all, path, b)
		_ = b.writeTo(&all)
		_, err := c.net.Write(all.Bytes())
		written <- err
	} else {
		go func() { written <- c.send(path, b) }() // Kubo answers before it has read all
	}
	keep, err := c.receive(sink)
	if !keep {
		c.close()
	}
	return cmp.Or(err, <-written)
}

func (c *conn) head(w io.Writer, path string, b *upload) {
	fmt.Fprintf(w, "POST /api/v0/%s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", path, c.target.host, b.size())
	if c.target.auth != "" {
		fmt.Fprintf(w, "Authorization: %s\r\n", c.target.auth)
	}
	if b != nil {
		fmt.Fprintf(w, "Content-Type: multipart/form-data; boundary=%s\r\n", boundary)
	}
	_, _ = io.WriteString(w, "\r\n")
}

func (c *conn) send(path string, b *upload) error {
	w := bufio.NewWriterSize(c.net, smallBody) // large pieces pass it by
	c.head(w, path, b)
	if err := b.writeTo(w); err != nil {
		return err
	}
	return w.Flush()
}

// receive reads an answer and tells whether the connection can be used again.
func (c *conn) receive(sink io.Writer) (keep bool, err error) {
	res, err := http.ReadResponse(c.reader, &http.Request{Method: http.MethodPost})
	if err != nil {
		return false, err
	}
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(res.Body, 300))
		return false, fmt.Errorf("%s: %s", res.Status, bytes.TrimSpace(text))
	}
	// A bare writer: what can read by itself would not use the buffer.
	if _, err := io.CopyBuffer(struct{ io.Writer }{sink}, res.Body, c.buffer); err != nil {
		return false, err
	}
	if failure := res.Trailer.Get("X-Stream-Error"); failure != "" {
		return false, errors.New(failure)
	}
	return !res.Close, nil
}
