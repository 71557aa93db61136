package load

import (
	"bufio"
	"fmt"
	"net"
	"net/url"
	"time"
)

// transport is how requests and answers look on a connection.
type transport interface {
	// handshake runs once on a new connection.
	handshake(net.Conn, *bufio.Reader) error
	// wrap returns the bytes of a request. The body stands unchanged at their end.
	wrap(body []byte) []byte
	// read appends one answer's body to buf.
	read(r *bufio.Reader, buf []byte) ([]byte, error)
}

// transportOf chooses by the address: http:// or ws://.
func transportOf(target *url.URL) (transport, error) {
	switch target.Scheme {
	case "http":
		return httpTransport{target}, nil
	case "ws":
		return socketTransport{target}, nil
	}
	return nil, fmt.Errorf("address %s: the scheme must be http or ws", target)
}

// Conn is one connection with at most one request in progress.
type Conn struct {
	raw       net.Conn
	reader    *bufio.Reader
	transport transport
	buf       []byte
}

// Dial connects. Everything on the connection must be over after limit, so that a
// server that hangs doesn't hang the benchmark.
func Dial(target *url.URL, limit time.Duration) (*Conn, error) {
	t, err := transportOf(target)
	if err != nil {
		return nil, err
	}
	raw, err := net.DialTimeout("tcp", target.Host, limit)
	if err != nil {
		return nil, err
	}
	c := &Conn{raw: raw, reader: bufio.NewReaderSize(raw, 64<<10), transport: t}
	err = raw.SetDeadline(time.Now().Add(limit))
	if err == nil {
		err = t.handshake(raw, c.reader)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close ends the connection.
func (c *Conn) Close() { _ = c.raw.Close() }

// Do sends a body and returns the answer, which is valid until the next call.
func (c *Conn) Do(body []byte) ([]byte, error) { return c.exchange(c.transport.wrap(body)) }

// Read returns the next message of a WebSocket, which is valid until the next call.
func (c *Conn) Read() (message []byte, err error) {
	c.buf, err = c.transport.read(c.reader, c.buf[:0])
	return c.buf, err
}

func (c *Conn) exchange(wire []byte) (answer []byte, err error) {
	if _, err = c.raw.Write(wire); err != nil {
		return nil, err
	}
	return c.Read()
}
