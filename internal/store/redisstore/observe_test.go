package redisstore

import (
	"sync"
	"testing"
	"time"

	"github.com/nodegate/nodegate/internal/accounts/ratelimit"
)

// TestObserve: commands and scripts are reported, and those of a Redis that is gone as failed.
func TestObserve(t *testing.T) {
	server := startRedis(t)
	s := server.open()
	var mu sync.Mutex
	commands, failures := 0, 0
	s.Observe(func(took time.Duration, failed bool) {
		mu.Lock()
		defer mu.Unlock()
		commands++
		if failed {
			failures++
		}
	})
	counts := func() (int, int) {
		mu.Lock()
		defer mu.Unlock()
		return commands, failures
	}
	take(t, s, ratelimit.Ask{Name: "account:a", Limit: ratelimit.Limit{PerDay: 10}, Need: 1, Want: 1})
	if all, failed := counts(); all == 0 || failed != 0 {
		t.Errorf("%d commands, %d of them failed", all, failed)
	}
	if !s.Reaches(t.Context()) {
		t.Error("Redis answers, and is not reached")
	}
	server.Stop()
	if _, err := s.Take(t.Context(), ratelimit.Ask{Name: "account:a", Need: 1, Want: 1}); err == nil {
		t.Error("a Redis that is gone gives a lease")
	}
	if s.Reaches(t.Context()) {
		t.Error("a Redis that is gone is reached")
	}
	if _, failed := counts(); failed == 0 {
		t.Error("no failure is reported")
	}
}
