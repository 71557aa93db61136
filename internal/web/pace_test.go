package web

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// timedWriter notes the read deadline, as a connection would.
type timedWriter struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (w *timedWriter) SetReadDeadline(t time.Time) error {
	w.deadline = t
	return nil
}

// drip is a body of which a piece comes now and then, until the deadline.
type drip struct {
	w      *timedWriter
	pieces int
	size   int
	wait   func(i int) time.Duration
	i      int
}

func (d *drip) Read(b []byte) (int, error) {
	if d.i == d.pieces {
		return 0, io.EOF
	}
	next := time.Now().Add(d.wait(d.i))
	if until := d.w.deadline; !until.IsZero() && next.After(until) {
		time.Sleep(time.Until(until))
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(time.Until(next))
	d.i++
	return min(d.size, len(b)), nil
}

// dripped reads such a body and returns how long that took.
func dripped(t *testing.T, pieces, size int, wait func(i int) time.Duration) (took time.Duration, err error) {
	t.Helper()
	w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
	r := httptest.NewRequest(http.MethodPost, "/", &drip{w: w, pieces: pieces, size: size, wait: wait})
	r.ContentLength = -1
	start := time.Now()
	w.deadline = start.Add(12 * time.Second) // the server's own
	_, err = ReadBody(w, r, make([]byte, 0, 8<<10), Reading{Limit: 5 << 20, Grow: always, Inflate: directly})
	return time.Since(start), err
}

// TestSlowBodyIsCut gives a body ten seconds for every ten KiB. When its first byte came makes no difference.
func TestSlowBodyIsCut(t *testing.T) {
	for name, wait := range map[string]func(int) time.Duration{
		"a byte a second":         func(int) time.Duration { return time.Second },
		"a late first byte":       func(i int) time.Duration { return max(time.Second, time.Duration(11-11*i)*time.Second) },
		"a byte in five seconds":  func(int) time.Duration { return 5 * time.Second },
		"one byte and then never": func(i int) time.Duration { return time.Duration(i) * time.Hour },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if took, err := dripped(t, 1000, 1, wait); err == nil || took > 13*time.Second {
					t.Errorf("ended after %v with %v, want an error within 13s", took, err)
				}
			})
		})
	}
}

// TestWhatCameBuysNoTime sends most of a body at once and then nothing, or too little:
// it is cut as soon as one that has sent nothing.
func TestWhatCameBuysNoTime(t *testing.T) {
	const pieces = 1000
	for name, wait := range map[string]time.Duration{"nothing more": time.Hour, "a byte a second": time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &timedWriter{ResponseRecorder: httptest.NewRecorder()}
				whole := &drip{w: w, pieces: pieces, size: 4096, wait: func(int) time.Duration { return 0 }}
				slow := &drip{w: w, pieces: pieces, size: 1, wait: func(int) time.Duration { return wait }}
				r := httptest.NewRequest(http.MethodPost, "/", io.MultiReader(whole, slow))
				r.ContentLength = 5<<20 - 1
				start := time.Now()
				w.deadline = start.Add(12 * time.Second)
				body, err := ReadBody(w, r, nil, Reading{Limit: 5 << 20, Grow: always, Inflate: directly})
				if took := time.Since(start); err == nil || took > 11*time.Second || len(body) < pieces*4096 {
					t.Errorf("ended after %v and %d bytes with %v, want an error within 11s", took, len(body), err)
				}
			})
		})
	}
}

// TestSteadyBodyIsNotCut takes minutes at 2 KiB a second.
func TestSteadyBodyIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		took, err := dripped(t, 600, 1024, func(int) time.Duration { return time.Second / 2 })
		if err != nil || took < 5*time.Minute {
			t.Errorf("ended after %v with %v", took, err)
		}
	})
}

// slowConn is a peer that takes so many bytes a second.
type slowConn struct {
	net.Conn
	rate     int
	deadline time.Time
}

func (c *slowConn) SetWriteDeadline(t time.Time) error {
	c.deadline = t
	return nil
}

func (c *slowConn) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += c.rate {
		if time.Now().Add(time.Second).After(c.deadline) {
			time.Sleep(time.Until(c.deadline))
			return n, os.ErrDeadlineExceeded
		}
		time.Sleep(time.Second)
	}
	return len(b), nil
}

// TestUnreadWriteIsCut gives a peer that reads nothing 15 seconds at the most,
// whenever the deadline was last renewed.
func TestUnreadWriteIsCut(t *testing.T) {
	for _, before := range []time.Duration{0, renewEvery / 2, renewEvery, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			inner := &slowConn{rate: 1 << 20}
			c := &guardedConn{Conn: inner, leave: func() {}}
			_, _ = c.Write([]byte("hello"))
			time.Sleep(before)
			inner.rate = 0
			start := time.Now()
			if _, err := c.Write(make([]byte, 1<<20)); err == nil || time.Since(start) > 15*time.Second {
				t.Errorf("ended after %v with %v", time.Since(start), err)
			}
		})
	}
}

// TestSteadyReaderIsNotCut takes a megabyte at 8 KiB a second: slow, but it moves.
func TestSteadyReaderIsNotCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &guardedConn{Conn: &slowConn{rate: 8 << 10}, leave: func() {}}
		start := time.Now()
		if n, err := c.Write(make([]byte, 1<<20)); err != nil || n != 1<<20 {
			t.Errorf("cut after %v and %d bytes: %v", time.Since(start), n, err)
		}
	})
}
