package load

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/url"
)

// socketTransport is WebSocket (RFC 6455), client side, text messages.
type socketTransport struct{ target *url.URL }

// Opcodes and bits of a frame.
const (
	opText    = 1
	opClose   = 8
	finalBit  = 0x80
	maskedBit = 0x80
	opBits    = 0x0f
	sizeBits  = 0x7f
)

func (t socketTransport) handshake(c net.Conn, r *bufio.Reader) error {
	// The server's proof that it read the key is not checked: it is known to us.
	_, err := fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n", t.target.RequestURI(), t.target.Host)
	if err != nil {
		return err
	}
	h, err := readHead(r)
	if err == nil && h.status != "101" {
		err = fmt.Errorf("websocket handshake: HTTP status %s", h.status)
	}
	return err
}

// wrap masks with zeros, which every server must accept and which leaves the body
// readable for the numbers written into it.
func (socketTransport) wrap(body []byte) []byte {
	frame := []byte{finalBit | opText}
	switch n := len(body); {
	case n < 126:
		frame = append(frame, maskedBit|byte(n))
	case n <= 0xffff:
		frame = binary.BigEndian.AppendUint16(append(frame, maskedBit|126), uint16(n))
	default:
		frame = binary.BigEndian.AppendUint64(append(frame, maskedBit|127), uint64(n))
	}
	frame = append(frame, 0, 0, 0, 0)
	return append(frame, body...)
}

// read joins the frames of one message. Pings are left unanswered: no connection
// lasts until the second.
func (socketTransport) read(r *bufio.Reader, buf []byte) ([]byte, error) {
	for {
		first, size, err := readFrameHead(r)
		if err != nil {
			return buf, err
		}
		start := len(buf)
		if buf, err = readBytes(r, buf, size); err != nil {
			return buf, err
		}
		switch op := first & opBits; {
		case op == opClose:
			return buf, fmt.Errorf("closed by the server: %q", bytes.TrimSpace(buf[start:]))
		case op > opClose:
			buf = buf[:start]
		case first&finalBit != 0:
			return buf, nil
		}
	}
}

func readFrameHead(r *bufio.Reader) (first byte, size int, err error) {
	var b [8]byte
	if _, err = io.ReadFull(r, b[:2]); err != nil {
		return 0, 0, err
	}
	first, size = b[0], int(b[1]&sizeBits)
	switch size {
	case 126:
		_, err = io.ReadFull(r, b[:2])
		size = int(binary.BigEndian.Uint16(b[:2]))
	case 127:
		_, err = io.ReadFull(r, b[:8])
		size = int(binary.BigEndian.Uint64(b[:8]))
	}
	return first, size, err
}
