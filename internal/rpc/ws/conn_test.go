package ws

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/nodegate/nodegate/test/full"
)

const testLimit = 1 << 20

// serve starts a server that does something with each socket.
func serve(t *testing.T, do func(*Conn)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if !Wants(req) {
			http.Error(w, "no handshake", http.StatusBadRequest)
			return
		}
		c, err := Accept(w, req, testLimit)
		if err != nil {
			t.Error(err)
			return
		}
		go func() {
			do(c)
			c.Cut()
		}()
	}))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

// echo answers each message with itself.
func echo(c *Conn) {
	for c.Wait() == nil {
		b, err := c.Read(make([]byte, HeadRoom))
		if err != nil || c.WriteMessage(b) != nil {
			return
		}
	}
}

func dial(t *testing.T, addr string) *websocket.Conn {
	t.Helper()
	c, _, err := websocket.Dial(t.Context(), "ws://"+addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	c.SetReadLimit(-1)
	t.Cleanup(func() { _ = c.CloseNow() })
	return c
}

// TestEcho has a real client, and the sizes where a frame's head changes.
func TestEcho(t *testing.T) {
	c := dial(t, serve(t, echo))
	for _, size := range []int{0, 1, 3, 8, 125, 126, 127, inSize - 6, inSize, 4095, 65535, 65536, testLimit} {
		want := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		if err := c.Write(t.Context(), websocket.MessageText, want); err != nil {
			t.Fatalf("%d bytes: %v", size, err)
		}
		kind, got, err := c.Read(t.Context())
		if err != nil || kind != websocket.MessageText || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: got %d, %v", size, len(got), err)
		}
	}
	if err := c.Close(websocket.StatusNormalClosure, "bye"); err != nil {
		t.Errorf("the goodbye: %v", err)
	}
}

// TestFragments has a message in many frames, and a ping between them.
func TestFragments(t *testing.T) {
	c := dial(t, serve(t, echo))
	w, err := c.Writer(t.Context(), websocket.MessageBinary)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		_, _ = io.WriteString(w, strings.Repeat("x", 100))
	}
	got := make(chan []byte)
	go func() {
		_, b, _ := c.Read(context.Background())
		got <- b
		_, _, _ = c.Read(context.Background())
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := c.Ping(ctx); err != nil {
		t.Errorf("a ping within a message: %v", err)
	}
	_ = w.Close()
	if b := <-got; len(b) != 10_000 {
		t.Errorf("%d bytes came back", len(b))
	}
}

// masked is a client's frame; the mask is all zeros.
func masked(first byte, payload string) string {
	b := []byte{first}
	switch n := len(payload); {
	case n < 126:
		b = append(b, maskBit|byte(n))
	case n <= 0xffff:
		b = binary.BigEndian.AppendUint16(append(b, maskBit|126), uint16(n))
	default:
		b = binary.BigEndian.AppendUint64(append(b, maskBit|127), uint64(n))
	}
	return string(b) + "\x00\x00\x00\x00" + payload
}

// raw connects without a client's manners.
func raw(t *testing.T, addr, frames string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	go func() {
		_, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n"+
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"+frames)
	}()
	return c
}

// closedWith is the status of the first close frame that comes; 0 when there is none.
func closedWith(t *testing.T, c net.Conn) Status {
	t.Helper()
	all, err := io.ReadAll(c)
	head, frames, ok := bytes.Cut(all, []byte("\r\n\r\n"))
	if !ok || !bytes.Contains(head, []byte("s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")) {
		t.Fatalf("%q, %v", head, err)
	}
	for len(frames) >= 2 {
		size, from := int(frames[1]), 2
		switch size {
		case 126:
			size, from = int(binary.BigEndian.Uint16(frames[2:])), 4
		case 127:
			size, from = int(binary.BigEndian.Uint64(frames[2:])), 10
		}
		if frames[0]&opBits == opClose {
			return Status(binary.BigEndian.Uint16(frames[from:]))
		}
		frames = frames[min(from+size, len(frames)):]
	}
	return 0
}

// TestFaults: who breaks the protocol is told so. The frames come with the handshake,
// so that net/http has read them.
func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		frames string
		want   Status
	}{
		"unmasked":                    {"\x81\x01x\x00\x00\x00\x00", protocolError},
		"reserved bit":                {masked(finBit|0x40|opText, "x"), protocolError},
		"unknown kind":                {masked(finBit|3, "x"), protocolError},
		"unknown control":             {masked(finBit|11, "x"), protocolError},
		"continues nothing":           {masked(finBit|opContinue, "x"), protocolError},
		"message in a message":        {masked(opText, "x") + masked(finBit|opText, "y"), protocolError},
		"control in parts":            {masked(opPing, "x"), protocolError},
		"control too long":            {masked(finBit|opPing, strings.Repeat("x", 126)), protocolError},
		"negative size":               {"\x81\xff\xff\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", protocolError},
		"goodbye of one byte":         {masked(finBit|opClose, "x"), protocolError},
		"goodbye for no known reason": {masked(finBit|opClose, "\x03\xed"), protocolError},
		"goodbye":                     {masked(finBit|opClose, "\x03\xe8bye"), normal},
		"goodbye without a word":      {masked(finBit|opClose, ""), normal},
		"too large":                   {masked(finBit|opText, strings.Repeat("x", testLimit+1)), tooBig},
		"promises too much":           {"\x81\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", tooBig},
		"a part that overflows":       {masked(opText, "x") + "\x80\xff\x7f\xff\xff\xff\xff\xff\xff\xff\x00\x00\x00\x00", tooBig},
		"unmasked, and no more":       {"\x81\x00", protocolError},
		"too large in parts":          {masked(opText, strings.Repeat("x", testLimit)) + masked(finBit|opContinue, "x"), tooBig},
		"empty parts without an end":  {masked(opText, "x") + strings.Repeat(masked(opContinue, ""), 2*mostFragments), PolicyViolation},
		"a good one first":            {masked(finBit|opText, "x") + masked(finBit|opPing, "x") + masked(finBit|opPong, "x") + masked(finBit|opClose, ""), normal},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client := raw(t, serve(t, echo), c.frames)
			time.AfterFunc(500*time.Millisecond, func() { _ = client.(*net.TCPConn).CloseWrite() }) // it has seen the answer
			if got := closedWith(t, client); got != c.want {
				t.Errorf("closed with %d, want %d", got, c.want)
			}
		})
	}
}

// TestPromise: a peer that promises a large message and sends nothing takes no memory.
func TestPromise(t *testing.T) {
	c := newConn(&script{in: []byte(masked(finBit|opText, strings.Repeat("x", testLimit)))[:100]}, testLimit)
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	b, err := c.Read(nil)
	if err == nil || cap(b) > 2*readStep {
		t.Errorf("%v with %d bytes held", err, cap(b))
	}
}

// TestControlled: whoever owns a connection hears of each ping and pong before it is
// answered, and of nothing else.
func TestControlled(t *testing.T) {
	pings := strings.Repeat(masked(finBit|opPing, "x"), 5) + masked(finBit|opPong, "")
	c := newConn(&script{in: []byte(pings + masked(finBit|opText, "hello") + masked(finBit|opClose, ""))}, testLimit)
	heard := 0
	c.Controlled = func() { heard++ }
	if err := c.Wait(); err != nil || heard != 6 {
		t.Fatalf("heard of %d, %v", heard, err)
	}
	if b, err := c.Read(nil); string(b) != "hello" || err != nil {
		t.Fatalf("read %q, %v", b, err)
	}
	if err := c.Wait(); err != errPeerLeft || heard != 6 {
		t.Errorf("heard of %d, %v", heard, err)
	}
}

// TestClose: a message that crosses the goodbye is not executed, and the peer's own
// goodbye ends the socket at once.
func TestClose(t *testing.T) {
	ended := make(chan error, 1)
	begun := make(chan struct{})
	c := dial(t, serve(t, func(c *Conn) {
		if err := c.Close(ServiceRestart, strings.Repeat("long ", 100)); err != nil {
			t.Error(err)
		}
		if err := c.WriteMessage(make([]byte, HeadRoom)); err != ErrClosed {
			t.Errorf("after the goodbye: %v", err)
		}
		close(begun)
		ended <- c.Wait()
	}))
	<-begun
	if err := c.Write(t.Context(), websocket.MessageText, make([]byte, 3*inSize)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusServiceRestart {
		t.Errorf("closed with %v", err)
	}
	start := time.Now()
	if err := <-ended; err != errPeerLeft || time.Since(start) > closeTime-time.Second {
		t.Errorf("ended with %v after %v", err, time.Since(start))
	}
}

// TestSlowReader: a peer that doesn't read at first finds everything that was sent,
// whole, and the reason of the end behind it. The write ends by its deadline, or is
// stuck when the socket is closed.
func TestSlowReader(t *testing.T) {
	full.Slow(t)
	if runtime.GOOS != "linux" {
		t.Skip("the system leaves no room for the goodbye")
	}
	for name, deadline := range map[string]time.Duration{"by deadline": 300 * time.Millisecond, "stuck": time.Minute} {
		t.Run(name, func(t *testing.T) {
			closed, said := make(chan error, 1), make(chan struct{})
			addr := serve(t, func(c *Conn) {
				_ = c.raw.SetWriteDeadline(time.Now().Add(deadline))
				stuck := time.AfterFunc(time.Second, func() {
					closed <- c.Close(PolicyViolation, "slow")
					close(said)
				})
				var err error
				for err == nil {
					err = c.WriteMessage(make([]byte, HeadRoom+10_000))
				}
				if stuck.Stop() {
					if err != ErrSlow {
						t.Errorf("a write ended with %v", err)
					}
					_ = c.raw.SetWriteDeadline(time.Now().Add(time.Second))
					closed <- c.Close(PolicyViolation, "slow")
					return
				}
				<-said // the connection is closed when this returns
			})
			client := raw(t, addr, "")
			if err := <-closed; err != nil {
				t.Fatalf("the goodbye was not sent: %v", err)
			}
			if got := closedWith(t, client); got != PolicyViolation {
				t.Errorf("closed with %d", got)
			}
		})
	}
}

// TestPing: a peer that reads answers; one that doesn't is not heard of.
func TestPing(t *testing.T) {
	heard, wait := make(chan bool, 2), make(chan time.Duration, 1)
	addr := serve(t, func(c *Conn) {
		go func() { _ = c.Wait() }()
		if sent, err := c.Ping(); !sent || err != nil {
			t.Errorf("%t, %v", sent, err)
		}
		for end := time.Now().Add(<-wait); !c.heard.Load() && time.Now().Before(end); time.Sleep(time.Millisecond) {
		}
		heard <- c.Heard()
		heard <- c.Heard()
	})
	wait <- 20 * time.Second
	c := dial(t, addr)
	c.CloseRead(t.Context())
	if first, second := <-heard, <-heard; !first || second {
		t.Errorf("a client that answers: %t, then %t", first, second)
	}
	wait <- 300 * time.Millisecond
	raw(t, addr, "")
	if <-heard {
		t.Error("a client that does not answer was heard")
	}
}

// TestPingGivesWay: a ping does not wait for what is being written.
func TestPingGivesWay(t *testing.T) {
	c := newConn(&script{}, testLimit)
	c.mu.Lock()
	if sent, err := c.Ping(); sent || err != nil {
		t.Errorf("%t, %v", sent, err)
	}
}

// TestUnfinished: a message that has begun and doesn't go on ends its socket; one that
// goes on slowly enough doesn't, and between messages a peer may be silent.
func TestUnfinished(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		c := newConn(server, 1<<20)
		said := make(chan string, 4)
		go func() {
			defer close(said)
			for c.Wait() == nil {
				b, err := c.Read(nil)
				if err != nil {
					return
				}
				said <- string(b)
			}
		}()
		answers := make(chan []byte, 1)
		go func() {
			b, _ := io.ReadAll(client)
			answers <- b
		}()
		slow := masked(finBit|opText, strings.Repeat("x", 60<<10))
		for part := range slices.Chunk([]byte(slow), 4<<10) { // twice the pace, for half a minute
			_, _ = client.Write(part)
			time.Sleep(2 * time.Second)
		}
		if got := <-said; len(got) != 60<<10 {
			t.Errorf("%d bytes came", len(got))
		}
		time.Sleep(time.Hour)
		_, _ = io.WriteString(client, masked(finBit|opText, "y"))
		if got := <-said; got != "y" {
			t.Errorf("after an hour came %q", got)
		}
		most := masked(finBit|opText, strings.Repeat("z", 512<<10))
		_, _ = io.WriteString(client, most[:len(most)-1]) // at once, which buys no time
		begin := time.Now()
		if got, more := <-said; more {
			t.Errorf("a message that was not finished came: %q", got)
		}
		if took := time.Since(begin); took < paceTime || took > paceTime+2*closeTime {
			t.Errorf("it ended after %v", took)
		}
		c.Cut()
		if b := <-answers; len(b) < 4 || Status(binary.BigEndian.Uint16(b[2:])) != PolicyViolation {
			t.Errorf("it was told %q", b)
		}
	})
}

// TestEndlessPeer: what a peer sends after its socket was closed is read up to a bound.
func TestEndlessPeer(t *testing.T) {
	client := raw(t, serve(t, echo), masked(finBit|opContinue, "x"))
	if _, err := client.Read(make([]byte, 1024)); err != nil { // the handshake
		t.Fatal(err)
	}
	sent, piece := 0, make([]byte, 1<<20)
	for sent < 64<<20 {
		n, err := client.Write(piece)
		if sent += n; err != nil {
			return
		}
	}
	t.Errorf("%d MiB were read", sent>>20)
}
