package ws

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// script is a connection that plays what a client sends.
type script struct {
	net.Conn // nil: what is not here must not be asked for
	in       []byte
	step     int // bytes of a read; 0 is all
	out      bytes.Buffer
}

func (s *script) Read(b []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.ErrClosedPipe // coder/websocket takes io.EOF within a message for the message's end
	}
	n := min(len(b), len(s.in))
	if s.step > 0 {
		n = min(n, s.step)
	}
	copy(b, s.in[:n])
	s.in = s.in[n:]
	return n, nil
}

func (s *script) Write(b []byte) (int, error)     { return s.out.Write(b) }
func (s *script) Close() error                    { return nil }
func (s *script) SetReadDeadline(time.Time) error { return nil }

// hijackable is a response whose connection is a script.
type hijackable struct {
	*httptest.ResponseRecorder
	conn *script
}

func (h hijackable) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return h.conn, bufio.NewReadWriter(bufio.NewReader(h.conn), bufio.NewWriter(h.conn)), nil
}

func handshake() *http.Request {
	req := httptest.NewRequest(http.MethodGet, "/", nil)
	req.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}, "Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"dGhlIHNhbXBsZSBub25jZQ=="}}
	return req
}

// theirs is what coder/websocket reads.
func theirs(t *testing.T, frames []byte, limit int64) (messages []string) {
	t.Helper()
	c, err := websocket.Accept(hijackable{httptest.NewRecorder(), &script{in: frames}}, handshake(), &websocket.AcceptOptions{CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseNow()
	c.SetReadLimit(limit)
	for {
		_, b, err := c.Read(context.Background())
		if err != nil {
			return messages
		}
		messages = append(messages, string(b))
	}
}

// ours is what a Conn reads, and what it wrote.
func ours(t *testing.T, frames []byte, limit int64, step int) (messages []string, wrote []byte) {
	t.Helper()
	s := &script{in: frames, step: step}
	c, err := Accept(hijackable{httptest.NewRecorder(), s}, handshake(), limit)
	if err != nil {
		t.Fatal(err)
	}
	for c.Wait() == nil {
		b, err := c.Read(nil)
		if err != nil {
			break
		}
		messages = append(messages, string(b))
	}
	return messages, s.out.Bytes()
}

// FuzzRead: whatever a client sends, and in whatever pieces it comes, the messages are
// those that coder/websocket reads.
func FuzzRead(f *testing.F) {
	for _, seed := range []string{
		masked(finBit|opText, "hello"),
		masked(opText, "a") + masked(finBit|opPing, "p") + masked(opContinue, "b") + masked(finBit|opContinue, ""),
		masked(finBit|opBinary, strings.Repeat("x", 126)) + masked(finBit|opText, strings.Repeat("y", 600)),
		masked(finBit|opText, "") + masked(finBit|opClose, "\x03\xe8bye"),
		"\x81\x85\x01\x02\x03\x04hello" + "\x81\xff\x00\x00\x00\x00\x00\x00\x00\x05\x01\x02\x03\x04hello",
		masked(finBit|opText, strings.Repeat("z", 1001)),
		"\x81\x00", "\xc1\x80\x00\x00\x00\x00",
		masked(opText, "x") + "\x80\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00",
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, frames []byte, step int) {
		const limit = 1000
		want := theirs(t, frames, limit)
		for _, step := range []int{0, 1, max(0, step)} {
			got, wrote := ours(t, frames, limit, step)
			if strings.Join(got, "|") != strings.Join(want, "|") || len(got) != len(want) {
				t.Fatalf("%q in steps of %d is %q, want %q", frames, step, got, want)
			}
			if len(wrote) > 4*len(frames)+2+maxControl {
				t.Fatalf("%d bytes were answered with %d", len(frames), len(wrote))
			}
		}
	})
}
