package load

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"slices"
	"strconv"
)

// httpTransport is HTTP/1.1 with keep-alive, as little of it as JSON-RPC servers use.
type httpTransport struct{ target *url.URL }

func (httpTransport) handshake(net.Conn, *bufio.Reader) error { return nil }

func (t httpTransport) wrap(body []byte) []byte {
	head := fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n",
		t.target.RequestURI(), t.target.Host, len(body))
	return append(head, body...)
}

// head is what a response's first lines say about its body.
type head struct {
	status  string
	length  int // -1 when not given
	chunked bool
}

func (httpTransport) read(r *bufio.Reader, buf []byte) ([]byte, error) {
	h, err := readHead(r)
	if err != nil {
		return buf, err
	}
	switch {
	case h.chunked:
		buf, err = readChunks(r, buf)
	case h.length >= 0:
		buf, err = readBytes(r, buf, h.length)
	default:
		err = errors.New("response without a length")
	}
	if err == nil && h.status != "200" {
		err = fmt.Errorf("HTTP status %s: %.200s", h.status, buf)
	}
	return buf, err
}

func readHead(r *bufio.Reader) (head, error) {
	h := head{length: -1}
	line, err := readLine(r)
	if err != nil {
		return h, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) {
		return h, fmt.Errorf("not a status line: %.80q", line)
	}
	h.status = string(line[9:12])
	for {
		line, err := readLine(r)
		if err != nil || len(line) == 0 {
			return h, err
		}
		if err := h.field(line); err != nil {
			return h, err
		}
	}
}

// field takes the two header fields that frame the body.
func (h *head) field(line []byte) (err error) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimSpace(value)
	switch {
	case bytes.EqualFold(name, []byte("Content-Length")):
		h.length, err = strconv.Atoi(string(value))
	case bytes.EqualFold(name, []byte("Transfer-Encoding")):
		h.chunked = bytes.EqualFold(value, []byte("chunked"))
	}
	return err
}

func readChunks(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		line, err := readLine(r)
		if err != nil {
			return buf, err
		}
		size, err := strconv.ParseUint(string(line), 16, 31)
		if err != nil {
			return buf, err
		}
		if buf, err = readBytes(r, buf, int(size)); err != nil {
			return buf, err
		}
		if end, err := readLine(r); err != nil || len(end) > 0 {
			return buf, errors.Join(errors.New("a chunk does not end where it should"), err)
		}
		if size == 0 {
			return buf, nil
		}
	}
}

// readBytes appends the next n bytes to buf.
func readBytes(r *bufio.Reader, buf []byte, n int) ([]byte, error) {
	start := len(buf)
	buf = slices.Grow(buf, n)[:start+n]
	_, err := io.ReadFull(r, buf[start:])
	return buf, err
}

// readLine returns a line without its end, valid until the next read.
func readLine(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadSlice('\n')
	return bytes.TrimRight(line, "\r\n"), err
}
