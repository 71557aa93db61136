package fastpath

import (
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// inFakeTime runs a test on pipes in a bubble where waiting costs nothing.
func inFakeTime(t *testing.T, test func(t *testing.T, s *site, open func(*testing.T) *client)) {
	synctest.Test(t, func(t *testing.T) {
		ln := newPipeListener()
		s := newSite(ln)
		defer func() { // also when the test gives up: nothing may be left in the bubble
			_ = s.Close()
			<-s.served
		}()
		test(t, s, func(t *testing.T) *client {
			c := ln.open(t)
			_ = c.SetDeadline(time.Time{}) // time flies here
			return c
		})
	})
}

// TestIdleEnds: an idle connection lasts idleTime from its last request, however
// quickly the requests before followed each other.
func TestIdleEnds(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *site, open func(*testing.T) *client) {
		c := open(t)
		for _, body := range []string{"1", askDone, "2", "3"} {
			time.Sleep(renewEvery / 3)
			c.send(post("/a", "", body))
			c.expect("plain", echo("/a", body))
		}
		last := time.Now()
		c.expectEnd()
		if idle := time.Since(last); idle < idleTime-renewEvery || idle > idleTime {
			t.Errorf("closed after %v, want about %v", idle, idleTime)
		}
	})
}

// TestIdleIsRenewed: a connection in use is not closed, at whatever pace.
func TestIdleIsRenewed(t *testing.T) {
	for _, pace := range []time.Duration{renewEvery / 2, 10 * time.Second, idleTime - 2*renewEvery} {
		inFakeTime(t, func(t *testing.T, _ *site, open func(*testing.T) *client) {
			c := open(t)
			for begin := time.Now(); time.Since(begin) < 3*idleTime; time.Sleep(pace) {
				c.send(post("/a", "", "1"))
				c.expect("plain", echo("/a", "1"))
			}
		})
	}
}

// TestIdleAfterWatch: a call that was watched leaves no old deadline behind.
func TestIdleAfterWatch(t *testing.T) {
	inFakeTime(t, func(t *testing.T, s *site, open func(*testing.T) *client) {
		c := open(t)
		c.send(post("/a", "", askHold))
		<-s.entered
		time.Sleep(2 * idleTime) // no deadline of the connection may end the call
		s.release <- struct{}{}
		c.expect("plain", echo("/a", askHold))
		time.Sleep(idleTime - 2*renewEvery)
		c.send(post("/b", "", "1"))
		c.expect("plain", echo("/b", "1"))
	})
}

// TestSilence: a connection that never says anything gets no more time than
// net/http would give it for its first head. Two minutes for each would let a
// peer hold as many as it likes.
func TestSilence(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *site, open func(*testing.T) *client) {
		begin := time.Now()
		open(t).expectEnd()
		if took := time.Since(begin); took > 6*time.Second {
			t.Errorf("a silent connection was closed after %v", took)
		}
	})
}

// TestSlowHead: a head that comes slowly has net/http's five seconds.
func TestSlowHead(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *site, open func(*testing.T) *client) {
		begin := time.Now()
		c := open(t)
		c.send("POST / HTTP/1.1\r\nHo")
		if got, err := io.ReadAll(c.in); err != nil || strings.Contains(string(got), "200 OK") {
			t.Errorf("answered %q, %v", got, err)
		}
		if took := time.Since(begin); took > 6*time.Second {
			t.Errorf("closed after %v", took)
		}
	})
}

// TestBodyInTime: a body in pieces that is there within bodyWait stays here.
func TestBodyInTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T, _ *site, open func(*testing.T) *client) {
		c := open(t)
		for range 3 {
			raw := post("/a", "", "0123456789")
			c.send(raw[:len(raw)-10])
			for i := range 10 {
				time.Sleep(bodyWait / 12)
				c.send(raw[len(raw)-10+i:][:1])
			}
			c.expect("plain", echo("/a", "0123456789"))
		}
		time.Sleep(idleTime / 2) // the body's deadline is not the next request's
		c.send(post("/b", "", "1"))
		c.expect("plain", echo("/b", "1"))
	})
}

// TestSlowBody: a slower one is handed over with all that came, and net/http
// waits for the rest.
func TestSlowBody(t *testing.T) {
	inFakeTime(t, func(t *testing.T, s *site, open func(*testing.T) *client) {
		c := open(t)
		c.send(post("/a", "", "first"))
		c.expect("plain", echo("/a", "first"))
		raw := post("/b", "", "0123456789")
		c.send(raw[:len(raw)-5])
		time.Sleep(bodyWait + 3*time.Second)
		if s.plain.Load() != 1 || s.full.Load() != 1 {
			t.Errorf("%d plain and %d other requests, want one of each", s.plain.Load(), s.full.Load())
		}
		c.send(raw[len(raw)-5:])
		c.expect("full", echo("/b", "0123456789"))
	})
}

// TestShutdownInFakeTime: a drain with nothing in progress takes no longer than idle
// connections are kept for.
func TestShutdownInFakeTime(t *testing.T) {
	inFakeTime(t, func(t *testing.T, s *site, open func(*testing.T) *client) {
		c := open(t)
		c.send(post("/a", "", "1"))
		c.expect("plain", echo("/a", "1"))
		begin := time.Now()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
		if took := time.Since(begin); took != linger {
			t.Errorf("took %v", took)
		}
		c.expectEnd()
	})
}
