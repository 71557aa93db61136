package ws

import (
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestMostFragments: a message may have 1,024 fragments beside its first frame, and one for
// each KiB.
func TestMostFragments(t *testing.T) {
	parts := func(n int, payload string) string {
		return masked(opText, "[") + strings.Repeat(masked(opContinue, payload), n-1) + masked(finBit|opContinue, "]")
	}
	for name, c := range map[string]struct {
		frames string
		bytes  int
		want   error
	}{
		"empty, as many as may be":      {parts(mostFragments, ""), 2, nil},
		"empty, one more":               {parts(mostFragments+1, ""), 0, errFragments},
		"of a byte, one more":           {parts(mostFragments+2, "x"), 0, errFragments},
		"of a KiB, three times as many": {parts(1000*3, strings.Repeat("x", 256)), 0, errFragments},
		"of a KiB each":                 {parts(1000, strings.Repeat("x", 1024)), 999*1024 + 2, nil},
	} {
		conn := newConn(&script{in: []byte(c.frames)}, testLimit)
		if err := conn.Wait(); err != nil {
			t.Fatal(err)
		}
		if b, err := conn.Read(nil); err != c.want || err == nil && len(b) != c.bytes {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
		// A message that there is no memory for is read over, as far as one that is read.
		conn = newConn(&script{in: []byte(c.frames)}, testLimit)
		conn.Grow = func(int) error { return errTooBig }
		if err := conn.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Read(nil); (err == errFragments) != (c.want == errFragments) {
			t.Errorf("%s, read over: %v", name, err)
		}
	}
}

// TestTinyFragments: tiny fragments are heard of as pings are, over all messages; others and
// the last of a message are not.
func TestTinyFragments(t *testing.T) {
	message := masked(opText, "[") + strings.Repeat(masked(opContinue, "x"), tinyPerControl/2) +
		strings.Repeat(masked(opContinue, strings.Repeat("x", tinyFragment)), 100) + masked(finBit|opContinue, "]")
	c := newConn(&script{in: []byte(strings.Repeat(message, 6))}, testLimit)
	heard := 0
	c.Controlled = func() { heard++ }
	for range 6 {
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(nil); err != nil {
			t.Fatal(err)
		}
	}
	if heard != 3 {
		t.Errorf("heard of %d", heard)
	}
}

// TestSkipped: all bytes of a refused message are told, and a peer that was made to wait has
// its time afterwards.
func TestSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer ours.Close()
		const size = 50_000
		go func() {
			defer theirs.Close()
			for _, part := range []string{masked(opText, strings.Repeat("x", size/2)), masked(finBit|opContinue, strings.Repeat("x", size/2))} {
				if _, err := theirs.Write([]byte(part)); err != nil {
					t.Error(err)
				}
			}
		}()
		c := newConn(ours, testLimit)
		skipped := 0
		c.Grow = func(int) error { return errTooBig }
		c.Skipped = func(n int) bool {
			skipped += n
			time.Sleep(paceTime * 3 / 4)
			return true
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Read(nil); err != errTooBig || skipped != size {
			t.Errorf("%v, %d bytes were told of, want %d", err, skipped, size)
		}
	})
}
