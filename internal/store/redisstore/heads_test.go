package redisstore

import (
	"errors"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/nodegate/nodegate"
)

func raise(t *testing.T, s *Store, network string, number uint64) uint64 {
	t.Helper()
	highest, err := s.Raise(t.Context(), network, number)
	if err != nil {
		t.Fatal(err)
	}
	return highest
}

func TestRaise(t *testing.T) {
	s := startRedis(t).open()
	for _, c := range []struct {
		network      string
		number, want uint64
	}{
		{"a", 7, 7}, {"a", 100, 100}, {"a", 99, 100}, {"b", 3, 3}, {"a", 100, 100}, {"b", 0, 3},
		{"c", 1<<53 + 1, 1<<53 + 1}, {"c", 1 << 53, 1<<53 + 1}, {"c", math.MaxUint64, math.MaxUint64}, {"c", math.MaxUint64 - 1, math.MaxUint64},
	} {
		if got := raise(t, s, c.network, c.number); got != c.want {
			t.Errorf("raise %s to %d: %d, want %d", c.network, c.number, got, c.want)
		}
	}
	ttl, err := redis(t, s).Do(t.Context(), redis(t, s).B().Ttl().Key(prefix+"head:a").Build()).AsInt64()
	if err != nil || ttl <= headsKept/2 || ttl > headsKept {
		t.Errorf("a head expires in %d s, %v", ttl, err)
	}
}

// TestRaiseForeign: what somebody else wrote is no head.
func TestRaiseForeign(t *testing.T) {
	s := startRedis(t).open()
	for _, value := range []string{"", "x", "99999999999999999999999", "zzzzzzzzzzzzzzzzzzzz"} {
		if err := redis(t, s).Do(t.Context(), redis(t, s).B().Set().Key(prefix+"head:a").Value(value).Build()).Error(); err != nil {
			t.Fatal(err)
		}
		if got := raise(t, s, "a", 5); got != 5 {
			t.Errorf("over %q: %d", value, got)
		}
	}
}

// TestRaiseTogether: for each server the highest never goes down, and in the end all
// know the same.
func TestRaiseTogether(t *testing.T) {
	r := startRedis(t)
	var all sync.WaitGroup
	for range 3 {
		s := r.open()
		all.Go(func() {
			last := uint64(0)
			for i := range uint64(200) {
				told := i + rand.Uint64N(20)
				highest, err := s.Raise(t.Context(), "a", told)
				if err != nil || highest < last || highest < told {
					t.Errorf("raised to %d after %d: %d, %v", told, last, highest, err)
				}
				last = highest
			}
		})
	}
	all.Wait()
	a, b := raise(t, r.open(), "a", 0), raise(t, r.open(), "a", 0)
	if a != b || a < 199 {
		t.Errorf("in the end %d and %d", a, b)
	}
}

func TestRaiseWithoutRedis(t *testing.T) {
	r := startRedis(t)
	s := r.open()
	r.Stop()
	if _, err := s.Raise(t.Context(), "a", 1); !errors.Is(err, nodegate.Busy) {
		t.Errorf("got %v, want busy", err)
	}
}
