package web

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// late accepts a connection whose client is still sending, and closes it.
func late(t *testing.T, accepted <-chan net.Conn) *guardedConn {
	t.Helper()
	c := (<-accepted).(*guardedConn)
	_, _ = io.WriteString(c, "no")
	c.late.Store(true)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestLinger: after Close the answer and the end of it are there, what the client still
// sends is taken, and the connection is given back when the client ends.
func TestLinger(t *testing.T) {
	addr, accepted := listen(t, 1)
	client := dial(t, addr)
	c := late(t, accepted)
	if _, err := client.Write(make([]byte, 8<<20)); err != nil {
		t.Fatalf("what is sent after the answer is not taken: %v", err)
	}
	if text, err := io.ReadAll(client); string(text) != "no" || err != nil {
		t.Fatalf("got %q, %v", text, err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("the server reads %d on: %v", n, err)
	}
	if err := c.Close(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed twice: %v", err)
	}
	_ = client.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		next := dial(t, addr)
		_ = next.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
		select {
		case <-accepted:
			return
		case <-time.After(100 * time.Millisecond):
		}
		if time.Now().After(end) {
			t.Fatal("the connection is never given back")
		}
	}
}

// TestLingerWakes: whoever reads when the connection closes is let go.
func TestLingerWakes(t *testing.T) {
	addr, accepted := listen(t, 1)
	dial(t, addr)
	c := (<-accepted).(*guardedConn)
	c.late.Store(true)
	read := make(chan error, 1)
	go func() {
		_, err := c.Read(make([]byte, 1))
		read <- err
	}()
	time.Sleep(20 * time.Millisecond) // so that it most likely waits
	_ = c.Close()
	select {
	case err := <-read:
		if err == nil {
			t.Error("it read something")
		}
	case <-time.After(lingerSilence + 30*time.Second):
		t.Error("a read outlasts Close")
	}
}

// endless is a connection whose peer never stops sending.
type endless struct{ net.Conn }

func (endless) Read(b []byte) (int, error)      { return len(b), nil }
func (endless) SetReadDeadline(time.Time) error { return nil }

// TestDrainPace: what a client sends to have it thrown away is read at full speed at first, and
// then at a pace. Others have their own.
func TestDrainPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l lingers
		took := func(ip string) time.Duration {
			begun := time.Now()
			drain(endless{}, func(came int) { l.pace(netip.MustParseAddr(ip), came) })
			return time.Since(begun)
		}
		if d := took("192.0.2.1"); d > time.Second/10 {
			t.Errorf("the first bytes took %s", d)
		}
		if d := took("192.0.2.1"); d < time.Second/2 || d > 2*time.Second {
			t.Errorf("the next %d bytes took %s", lingerBytes, d)
		}
		if d := took("192.0.2.2"); d > time.Second/10 {
			t.Errorf("another client's took %s", d)
		}
	})
}

// TestLingersAreBounded: for one client and for all; a trusted proxy may use all.
func TestLingersAreBounded(t *testing.T) {
	l := headcount{most: mostLingering, each: lingeringOfIP}
	count := func(ip netip.Addr, tries int) (n int) {
		for range tries {
			if l.enter(ip) {
				n++
			}
		}
		return n
	}
	one, two := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")
	if n := count(one, 100); n != lingeringOfIP {
		t.Errorf("%d of one client linger", n)
	}
	if n := count(netip.Addr{}, 1000); n != mostLingering-lingeringOfIP {
		t.Errorf("%d of a proxy linger", n)
	}
	if l.enter(two) {
		t.Error("there is no end to them")
	}
	l.leave(one)
	if !l.enter(two) || l.enter(one) {
		t.Error("what was given back is not there")
	}
}

func TestOwnAnswer(t *testing.T) {
	const headers = "\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"
	for text, want := range map[string]int{
		"HTTP/1.1 431 Request Header Fields Too Large" + headers + "431 Request Header Fields Too Large": 431,
		"HTTP/1.1 505 HTTP Version Not Supported: x" + headers + "505":                                   505,
		"HTTP/1.1 200 OK" + headers + "fine":                                                             0,
		"HTTP/1.1 400 Bad Request\r\nDate: x" + headers + "400":                                          0,
		"HTTP/1.1 400 Bad Request\r\n\r\n":                                                               0,
		"x":                                                                                              0, "": 0,
	} {
		if status, _, ok := ownAnswer([]byte(text)); ok != (want != 0) || ok && status != want {
			t.Errorf("%q: %d %t, want %d", text, status, ok, want)
		}
	}
}
