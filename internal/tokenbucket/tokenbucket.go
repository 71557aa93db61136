// Package tokenbucket holds clients to a rate: each key has a bucket that fills
// steadily, and each request takes from it. Buckets that are full again are forgotten.
//
// The credits of JSON-RPC have buckets of their own (internal/accounts/ratelimit): those
// are exact, and shared between servers.
package tokenbucket

import (
	"cmp"
	"sync"
	"time"
)

// Rate is how fast a bucket fills, and how much fits in.
type Rate struct {
	PerSecond, Burst float64
	Debt             float64 // how much a client may owe; 0 is as much as Burst
}

// Set is the buckets of many clients. The zero Set is ready.
type Set[K comparable] struct {
	mu      sync.Mutex
	buckets map[K]*bucket
	swept   time.Time
}

// bucket is one client's. It may hold less than nothing; see Spend.
type bucket struct {
	at   time.Time
	left float64
	rate Rate
}

const (
	sweepEvery = time.Minute
	rounding   = 1e-6    // what fractions may have lost
	maxBuckets = 1 << 16 // of clients whose bucket is not full, once they are that many
)

// Take takes n. Where they are not there, it takes nothing and says when they would be.
func (s *Set[K]) Take(key K, n float64, r Rate) (wait time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(key, r, time.Now())
	if b == nil {
		return time.Second, false
	}
	if b.left < n-rounding {
		return b.until(n), false
	}
	b.left -= n
	return 0, true
}

// Spend takes n, whether they are there or not, and says how long to wait before the next.
// What a client owes is bounded, so that it is never shut out for long.
func (s *Set[K]) Spend(key K, n float64, r Rate) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := s.bucket(key, r, time.Now())
	if b == nil {
		return time.Second
	}
	b.left = max(b.left-n, -cmp.Or(r.Debt, r.Burst))
	return b.until(0)
}

// Give puts n back, up to what fits in.
func (s *Set[K]) Give(key K, n float64, r Rate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b := s.bucket(key, r, time.Now()); b != nil {
		b.left = min(b.left+n, r.Burst)
	}
}

// bucket finds or makes a client's, filled up to now; nil when there are too many.
func (s *Set[K]) bucket(key K, r Rate, now time.Time) *bucket {
	s.sweep(now)
	b := s.buckets[key]
	if b == nil {
		if len(s.buckets) >= maxBuckets {
			return nil
		}
		b = &bucket{at: now, left: r.Burst}
		s.buckets[key] = b
	}
	b.rate = r
	b.fill(now)
	return b
}

func (b *bucket) fill(now time.Time) {
	b.left = min(b.left+now.Sub(b.at).Seconds()*b.rate.PerSecond, b.rate.Burst)
	b.at = now
}

// until is how long the bucket takes to hold n.
func (b *bucket) until(n float64) time.Duration {
	if b.left >= n {
		return 0
	}
	return time.Duration((n - b.left) / b.rate.PerSecond * float64(time.Second))
}

// sweep forgets buckets that are full again.
func (s *Set[K]) sweep(now time.Time) {
	crowded := len(s.buckets) >= maxBuckets && now.Sub(s.swept) > time.Second
	if s.buckets != nil && !crowded && now.Sub(s.swept) <= sweepEvery {
		return
	}
	kept := map[K]*bucket{}
	for key, b := range s.buckets {
		if b.fill(now); b.left < b.rate.Burst {
			kept[key] = b
		}
	}
	s.buckets, s.swept = kept, now
}
