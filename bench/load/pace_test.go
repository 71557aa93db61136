package load

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestPace: requests keep to the timetable, and one that is late counts from when it
// was due.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := paceOf(1, Options{Conns: 4, Rate: 40}), time.Now()
		for i, want := range []time.Duration{25, 125, 225} {
			if due := p.wait().Sub(begin); due != want*time.Millisecond || time.Since(begin) != due {
				t.Errorf("request %d is due after %v, at %v", i, due, time.Since(begin))
			}
		}
		time.Sleep(time.Second) // a slow answer
		if due := p.wait().Sub(begin); due != 325*time.Millisecond || time.Since(begin) != 1225*time.Millisecond {
			t.Errorf("a late request is due after %v, at %v", due, time.Since(begin))
		}
	})
}
