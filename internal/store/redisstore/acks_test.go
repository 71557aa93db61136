package redisstore

import (
	"context"
	"sync/atomic"
	"testing"
	"time"
)

// TestRaiseWaits: when a head was raised, every server that watches has heard of it; one
// that hangs holds the others up only for a moment.
func TestRaiseWaits(t *testing.T) {
	r := startRedis(t)
	stores := []*Store{r.open(), r.open(), r.open()}
	var heard [3]atomic.Uint64
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i, s := range stores {
		s.acks.within = time.Minute // a busy machine may be late
		go s.Watch(ctx, "net", heard[i].Store, func(uint64) {})
	}
	awaitWatchers(t, stores[0], "net", len(stores))
	start := time.Now()
	for n := uint64(1); n <= 100; n++ {
		raise(t, stores[n%3], "net", n)
		for i := range heard {
			if got := heard[i].Load(); got != n {
				t.Fatalf("head %d is told, and server %d has heard of %d", n, i, got)
			}
		}
	}
	t.Logf("100 heads took %v", time.Since(start))
	hanging := make(chan struct{})
	go r.open().Watch(ctx, "net", func(uint64) { <-hanging }, func(uint64) {})
	awaitWatchers(t, stores[0], "net", len(stores)+1)
	stores[0].acks.within = ackWithin
	raise(t, stores[0], "net", 1000)
	close(hanging)
}

// awaitWatchers waits until so many servers watch.
func awaitWatchers(t *testing.T, s *Store, network string, n int) {
	t.Helper()
	c := redis(t, s)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		counts, err := c.Do(t.Context(), c.B().PubsubNumsub().Channel(headName(network)).Build()).AsIntMap()
		if err != nil {
			t.Fatal(err)
		}
		if counts[headName(network)] == int64(n) {
			return
		}
	}
	t.Fatalf("not all %d servers watch", n)
}
