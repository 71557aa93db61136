package tokenbucket

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestTake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set[string]
		r := Rate{PerSecond: 10, Burst: 3}
		for range 3 {
			if _, ok := s.Take("a", 1, r); !ok {
				t.Fatal("refused within the burst")
			}
		}
		wait, ok := s.Take("a", 1, r)
		if ok || wait != 100*time.Millisecond {
			t.Fatalf("after the burst: %v, wait %v; want refused and 100ms", ok, wait)
		}
		if _, ok := s.Take("b", 1, r); !ok {
			t.Error("another client was refused")
		}
		time.Sleep(wait)
		if _, ok := s.Take("a", 1, r); !ok {
			t.Error("refused after the wait")
		}
		if _, ok := s.Take("a", 1, r); ok {
			t.Error("one token was taken twice")
		}
	})
}

func TestSpendAndGive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set[int]
		r := Rate{PerSecond: 10, Burst: 10}
		if wait := s.Spend(1, 10, r); wait != 0 {
			t.Errorf("wait within the burst: %v", wait)
		}
		if wait := s.Spend(1, 5, r); wait != 500*time.Millisecond {
			t.Errorf("wait for 5 at 10 a second: %v", wait)
		}
		if wait := s.Spend(1, 1000, r); wait != time.Second {
			t.Errorf("the debt is %v; want at most the burst, 1s", wait)
		}
		s.Give(1, 10, r)
		if wait := s.Spend(1, 0, r); wait != 0 {
			t.Errorf("wait after it was given back: %v", wait)
		}
		s.Give(1, 1000, r)
		if wait := s.Spend(1, 11, r); wait != 100*time.Millisecond {
			t.Errorf("more was given than fits in: wait %v", wait)
		}
		r.Debt = 30
		if wait := s.Spend(1, 1000, r); wait != 3*time.Second {
			t.Errorf("the debt is %v; want the one of the rate, 3s", wait)
		}
	})
}

// TestForgets holds the set to what is in use: full buckets go, others stay.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set[int]
		for i := range 1000 {
			s.Take(i, 1, Rate{PerSecond: 1000, Burst: 1000})
		}
		slow := Rate{PerSecond: 1, Burst: 1000}
		s.Spend(-1, 1000, slow)
		time.Sleep(sweepEvery + time.Second)
		s.Take(-2, 1, slow)
		if len(s.buckets) != 2 {
			t.Errorf("%d buckets are kept; want 2", len(s.buckets))
		}
		if _, ok := s.Take(-1, 62, slow); ok {
			t.Error("an empty bucket was forgotten")
		}
	})
}

func TestBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Set[int]
		r := Rate{PerSecond: 1, Burst: 2}
		for i := range maxBuckets {
			s.Take(i, 1, r)
		}
		if _, ok := s.Take(-1, 1, r); ok {
			t.Error("a bucket more than the bound")
		}
		time.Sleep(2 * time.Second)
		if _, ok := s.Take(-1, 1, r); !ok {
			t.Error("refused although all others are full again")
		}
	})
}
