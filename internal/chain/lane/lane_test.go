package lane

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
)

// as is a context with the grant of a key.
func as(key string) context.Context {
	return nodegate.WithGrant(context.Background(), &nodegate.Grant{KeyID: key})
}

func TestShortWorkRunsOnce(t *testing.T) {
	l := New(1, 1)
	leave, err := l.Enter(as("other")) // the only heavy seat is taken
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	var limits []time.Duration
	want := errors.New("its own error")
	err = l.Run(as("a"), time.Second, func(_ context.Context, limit time.Duration) error {
		limits = append(limits, limit)
		return want
	})
	if !errors.Is(err, want) || len(limits) != 1 || limits[0] != LightLimit {
		t.Errorf("%v after runs of %v", err, limits)
	}
}

func TestLongWorkStartsAgain(t *testing.T) {
	l := New(1, 1)
	var limits []time.Duration
	err := l.Run(as("a"), time.Second, func(_ context.Context, limit time.Duration) error {
		limits = append(limits, limit)
		if limit == LightLimit {
			return ErrAborted
		}
		return nil
	})
	if err != nil || len(limits) != 2 || limits[1] > time.Second || limits[1] < time.Second/2 {
		t.Errorf("%v after runs of %v", err, limits)
	}
	l.empty(t)
}

// empty sees that nothing is kept of the calls that are over.
func (l *Lanes) empty(t *testing.T) {
	t.Helper()
	if len(l.seats) != 0 || len(l.keys) != 0 || l.waiting.Load() != 0 {
		t.Errorf("left over: %d seats, %d keys, %d waiting", len(l.seats), len(l.keys), l.waiting.Load())
	}
}

// The whole call ends in time, also while it waits for a seat.
func TestWaitingEnds(t *testing.T) {
	l := New(1, 2)
	leave, err := l.Enter(as("a"))
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	err = l.Run(as("a"), 50*time.Millisecond, func(context.Context, time.Duration) error { return ErrAborted })
	if !errors.Is(err, ErrAborted) || time.Since(start) > 5*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
	leave()
	l.empty(t)
}

// One key's calls wait for each other, not before another key's.
func TestKeysAreApart(t *testing.T) {
	l := New(2, 1)
	leave, err := l.Enter(as("greedy"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(as("greedy"), 20*time.Millisecond)
	defer cancel()
	if _, err := l.Enter(ctx); !errors.Is(err, ErrAborted) {
		t.Errorf("a second seat for one key: %v", err)
	}
	second, err := l.Enter(as("modest"))
	if err != nil {
		t.Fatal(err)
	}
	second()
	leave()
	l.empty(t)
}

func TestTooManyWaiting(t *testing.T) {
	l := New(1, 1)
	leave, err := l.Enter(as("a"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(as("a"))
	var waiting sync.WaitGroup
	for range maxWaiting {
		waiting.Go(func() { _, _ = l.Enter(ctx) })
	}
	for l.waiting.Load() < maxWaiting {
		time.Sleep(time.Millisecond)
	}
	_, err = l.Enter(as("b"))
	var e *nodegate.Error
	if !errors.As(err, &e) || e.Code != nodegate.Busy || e.RetryAfter <= 0 {
		t.Errorf("one more: %v", err)
	}
	cancel()
	waiting.Wait()
	leave()
	l.empty(t)
}

// Many keys at once leave nothing behind.
func TestManyKeys(t *testing.T) {
	l := New(3, 2)
	var all sync.WaitGroup
	for i := range 200 {
		all.Go(func() {
			_ = l.Run(as(string(rune('a'+i%20))), time.Second, func(_ context.Context, limit time.Duration) error {
				if limit == LightLimit {
					return ErrAborted
				}
				return nil
			})
		})
	}
	all.Wait()
	l.empty(t)
}
