package blockstore

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkSmallBesideLarge commits single blocks of one account while six goroutines of
// another commit batches of 5,000 tiny ones. A small commit begins every 20 ms, however
// long the ones before it take: who waits for each would count long waits too seldom.
func BenchmarkSmallBesideLarge(b *testing.B) {
	s := open(b, benchConfig(b))
	var stop atomic.Bool
	var large atomic.Int64
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			for !stop.Load() {
				if err := putRandom(b, s, "large", 5_000); err != nil {
					b.Error(err)
				}
				large.Add(1)
			}
		})
	}
	time.Sleep(time.Second)
	var took []time.Duration
	begun, before := time.Now(), large.Load()
	var mu sync.Mutex
	for time.Since(begun) < 5*time.Second {
		wait.Go(func() {
			start := time.Now()
			if err := putRandom(b, s, "small", 1); err != nil {
				b.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			took = append(took, time.Since(start))
		})
		time.Sleep(20 * time.Millisecond)
	}
	rate := float64(large.Load()-before) / time.Since(begun).Seconds()
	stop.Store(true)
	wait.Wait()
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)-1].Microseconds())/1000, "max-ms")
	b.ReportMetric(rate, "large/s")
}

// putRandom commits random blocks of 64 bytes without a pin.
func putRandom(t testing.TB, s *Store, account string, count int) error {
	batch := s.Begin(account, 0)
	defer batch.Abort()
	data := make([]byte, 64)
	for range count {
		for i := 0; i < len(data); i += 8 {
			binary.LittleEndian.PutUint64(data[i:], rand.Uint64())
		}
		if err := batch.Put(t.Context(), rawCID(t, data), data); err != nil {
			return err
		}
	}
	return batch.Commit(t.Context())
}
