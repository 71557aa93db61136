package gateway

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate/internal/accounts/usage"
)

// TestRates: whatever the pattern, no more passes than a second's worth at once and
// the rate after it; and what stays under the rate always passes.
func TestRates(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Int64Range(1, 50).Draw(rt, "limit")
		waits := rapid.SliceOfN(rapid.Int64Range(0, 300), 1, 200).Draw(rt, "waits")
		synctest.Test(t, func(t *testing.T) {
			r, start, passed := &rates{}, time.Now(), int64(0)
			for _, ms := range waits {
				time.Sleep(time.Duration(ms) * time.Millisecond)
				if r.allow("a", true, limit) {
					passed++
				}
				if most := float64(limit) * (1 + time.Since(start).Seconds()); float64(passed) > most+1e-6 {
					t.Fatalf("%d passed in %v at %d a second", passed, time.Since(start), limit)
				}
			}
		})
	})
}

func TestRatesApart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &rates{}
		for range 2 {
			if !r.allow("a", true, 2) {
				t.Error("a write was refused")
			}
		}
		if r.allow("a", true, 2) {
			t.Error("a third write passed")
		}
		if !r.allow("a", false, 2) || !r.allow("b", true, 2) || !r.allow("a", true, 0) {
			t.Error("reads, other accounts and plans without a limit are apart")
		}
		time.Sleep(500 * time.Millisecond)
		if !r.allow("a", true, 2) || r.allow("a", true, 2) {
			t.Error("half a second is worth one")
		}
	})
}

func TestMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, fail := 0, true
		m := &moved{figures: func(string, time.Time) (int64, error) {
			if asked++; fail {
				return 0, errors.New("no answer")
			}
			return 100, nil
		}}
		if n := m.of("a"); n != 0 {
			t.Errorf("%d without the store", n)
		}
		count := func(n int64) {
			m.mu.Lock()
			m.account("a").bytes += n
			m.mu.Unlock()
		}
		count(30)
		if n := m.of("a"); n != 30 || asked != 1 {
			t.Errorf("%d after %d questions: a store that does not answer is left alone", n, asked)
		}
		fail = false
		time.Sleep(retryFigures)
		if n := m.of("a"); n != 100 || asked != 2 {
			t.Errorf("%d after %d questions", n, asked)
		}
		count(5)
		if n := m.of("a"); n != 105 || asked != 2 {
			t.Errorf("%d after %d questions", n, asked)
		}
		time.Sleep(32 * 24 * time.Hour) // another month
		if n := m.of("a"); n != 100 || asked != 3 {
			t.Errorf("%d after %d questions in the next month", n, asked)
		}
	})
}

// TestMovedBeside: a slow store holds up only who asks for the first time.
func TestMovedBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &moved{figures: func(string, time.Time) (int64, error) {
			time.Sleep(5 * time.Second)
			return 7, nil
		}}
		begun := time.Now()
		var wait sync.WaitGroup
		for i := range 10 {
			wait.Go(func() {
				if n := m.of(fmt.Sprint(i)); n != 7 {
					t.Errorf("account %d: %d", i, n)
				}
			})
		}
		wait.Wait()
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("ten accounts took %v", took)
		}
	})
}

// seen is a connection that looks at the account's figure whenever bytes leave.
type seen struct {
	http.ResponseWriter
	figure func() int64
	left   int64
	late   []int64
	fail   bool
}

func (s *seen) Write(b []byte) (int, error) {
	if s.left += int64(len(b)); s.figure() < s.left {
		s.late = append(s.late, s.left)
	}
	if s.fail {
		return len(b) / 2, errors.New("gone")
	}
	return len(b), nil
}

// TestMovedBeforehand: bytes count before they leave. A client that has the whole answer
// may ask again at once, and is past its limit then. What a client that left does not get
// counts no more.
func TestMovedBeforehand(t *testing.T) {
	recorder := usage.New(usage.Config{Store: noUsage{}, Every: time.Hour})
	t.Cleanup(func() { _ = recorder.Close(context.Background()) })
	g := New(Config{Log: slog.New(slog.DiscardHandler), Usage: recorder})
	w := &seen{ResponseWriter: httptest.NewRecorder(), figure: func() int64 { return g.moved.of("a") }}
	c := g.newCall(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/v0/cat", nil))
	c.grant = grantOf("a")
	for _, size := range []int{60_000, 256 << 10, 2048, 100_000} {
		if _, err := c.answer.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	if len(w.late) > 0 {
		t.Errorf("%d bytes had left before they counted", w.late)
	}
	w.fail = true
	before := w.left
	if _, err := c.answer.Write(make([]byte, 10_000)); err == nil {
		t.Error("a client that has left is written to")
	}
	_ = c.settle()
	if n := g.moved.of("a"); n != before+5_000 {
		t.Errorf("%d bytes count, %d left", n, before+5_000)
	}
}
