package fastpath

import (
	"crypto/tls"
	"net/http/httptest"
	"testing"
	"time"
)

// startTLS serves behind TLS, where a read that was interrupted has state of its
// own to keep.
func startTLS(t *testing.T) (s *site, open func() *client) {
	t.Helper()
	lender := httptest.NewTLSServer(nil) // for its certificate
	lender.Close()
	plain := listen(t)
	s = newSite(tls.NewListener(plain, &tls.Config{Certificates: lender.TLS.Certificates, NextProtos: []string{"http/1.1"}}))
	t.Cleanup(func() { s.end(t) })
	return s, func() *client {
		t.Helper()
		conn, err := tls.Dial("tcp", plain.Addr().String(), &tls.Config{InsecureSkipVerify: true})
		if err != nil {
			t.Fatal(err)
		}
		return newClient(t, conn)
	}
}

// TestTLS: both ways, and watching again and again, which interrupts reads.
func TestTLS(t *testing.T) {
	_, open := startTLS(t)
	c := open()
	for range 30 {
		c.send(post("/a", "", askDone))
		c.expect("plain", echo("/a", askDone))
	}
	c.send(post("/a", "", "1") + handedOver[3].raw + post("/a", "", "2"))
	c.expect("plain", echo("/a", "1"))
	c.expect("full", handedOver[3].want)
	c.expect("full", echo("/a", "2"))
}

func TestTLSNextDuringCall(t *testing.T) {
	s, open := startTLS(t)
	for range 20 {
		c := open()
		c.send(post("/a", "", askHold))
		await(t, "the call", s.entered)
		c.send(post("/b", "", "2") + post("/c", "", askDone))
		time.Sleep(2 * time.Millisecond) // the watcher should have seen it; either way is right
		s.release <- struct{}{}
		c.expect("plain", echo("/a", askHold))
		c.expect("", echo("/b", "2"))
		c.expect("", echo("/c", askDone))
	}
}

func TestTLSLeaving(t *testing.T) {
	s, open := startTLS(t)
	c := open()
	c.send(post("/a", "", askHold))
	await(t, "the call", s.entered)
	_ = c.Close()
	await(t, "the context's end", s.left)
}

func TestTLSShutdown(t *testing.T) {
	s, open := startTLS(t)
	idle, busy := open(), open()
	idle.send(post("/a", "", "1"))
	idle.expect("plain", echo("/a", "1"))
	busy.send(post("/a", "", askHold))
	await(t, "the call", s.entered)
	done := s.shutDown(patience)
	idle.expectEnd()
	s.release <- struct{}{}
	busy.expect("plain", echo("/a", askHold))
	busy.expectEnd()
	mustShutDown(t, done)
}
