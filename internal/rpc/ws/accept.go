package ws

import (
	"bufio"
	"crypto/sha1" //nolint:gosec // the handshake is defined with it; nothing is protected by it
	"encoding/base64"
	"net"
	"net/http"
	"strings"
)

// Wants checks a handshake.
func Wants(req *http.Request) bool {
	key, err := base64.StdEncoding.DecodeString(req.Header.Get("Sec-WebSocket-Key"))
	return req.Method == http.MethodGet && req.ProtoAtLeast(1, 1) && err == nil && len(key) == 16 &&
		hasToken(req.Header, "Upgrade", "websocket") && hasToken(req.Header, "Connection", "upgrade") &&
		req.Header.Get("Sec-WebSocket-Version") == "13"
}

// hasToken looks through a header's comma separated values.
func hasToken(h http.Header, name, token string) bool {
	for _, line := range h[name] {
		for t := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(t), token) {
				return true
			}
		}
	}
	return false
}

// Accept answers a handshake that Wants, with the headers that w has already, and
// takes the connection over: the handler may return. Messages are limit bytes at most.
//
// How long a write may take is up to the connection (see web.Limit): its deadline
// means that the peer doesn't read.
func Accept(w http.ResponseWriter, req *http.Request, limit int64) (*Conn, error) {
	h := w.Header()
	h.Set("Upgrade", "websocket")
	h.Set("Connection", "Upgrade")
	h.Set("Sec-WebSocket-Accept", acceptKey(req.Header.Get("Sec-WebSocket-Key")))
	w.WriteHeader(http.StatusSwitchingProtocols)
	raw, rw, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	c := newConn(raw, limit)
	if err := c.takeOver(rw); err != nil {
		_ = raw.Close()
		return nil, err
	}
	return c, nil
}

// takeOver sends what net/http has left unsent and keeps what it has read too far.
func (c *Conn) takeOver(rw *bufio.ReadWriter) error {
	if err := rw.Flush(); err != nil {
		return err
	}
	early, err := rw.Peek(rw.Reader.Buffered())
	if err != nil {
		return err
	}
	if c.early = append([]byte(nil), early...); len(early) > 0 {
		c.heard.Store(true)
	}
	return nil
}

// acceptKey proves to the peer that it talks to a WebSocket server.
func acceptKey(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // see above
	return base64.StdEncoding.EncodeToString(sum[:])
}

// netConner is what wraps a connection and says which one.
type netConner interface{ NetConn() net.Conn }

// innermost is the system's own connection, or nil.
func innermost(c net.Conn) *net.TCPConn {
	for {
		switch inner := c.(type) {
		case *net.TCPConn:
			return inner
		case netConner:
			c = inner.NetConn()
		default:
			return nil
		}
	}
}
