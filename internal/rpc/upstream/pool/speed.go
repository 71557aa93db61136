package pool

import (
	"math"
	"math/bits"
	"sync/atomic"
	"time"
)

// speeds is a histogram of latencies that forgets: counts are halved now and then.
// Its buckets are quarters of a doubling, so a quantile is right within a fifth.
type speeds struct {
	counts [speedBuckets]atomic.Uint32
}

const (
	speedBuckets = 112
	speedUnit    = time.Microsecond
)

func speedBucket(d time.Duration) int {
	u := uint64(max(d/speedUnit, 1))
	octave := bits.Len64(u) - 1
	quarter := (u << 2 >> octave) & 3
	return min(octave*4+int(quarter), speedBuckets-1)
}

// speedBound is the upper end of a bucket.
func speedBound(i int) time.Duration {
	return speedUnit * time.Duration((5+uint64(i&3))<<(i/4)) / 4
}

func (s *speeds) add(d time.Duration) { s.counts[speedBucket(d)].Add(1) }

// quantiles returns how many latencies are remembered and which of them bound the
// given shares, rising.
func (s *speeds) quantiles(shares ...float64) (n uint64, bounds []time.Duration) {
	var seen [speedBuckets]uint64
	for i := range s.counts {
		seen[i] = uint64(s.counts[i].Load())
		n += seen[i]
	}
	bounds = make([]time.Duration, len(shares))
	if n == 0 {
		return 0, bounds
	}
	var sum uint64
	at := 0
	for i, c := range seen {
		sum += c
		for at < len(shares) && float64(sum) >= shares[at]*float64(n) {
			bounds[at] = speedBound(i)
			at++
		}
	}
	return n, bounds
}

// forget halves the counts.
func (s *speeds) forget() {
	for i := range s.counts {
		for {
			c := s.counts[i].Load()
			if c == 0 || s.counts[i].CompareAndSwap(c, c/2) {
				break
			}
		}
	}
}

// average is a mean that follows the latest values.
type average struct{ bits atomic.Uint64 }

func (a *average) add(v, weight float64) {
	for {
		old := a.bits.Load()
		next := v
		if old != 0 {
			was := math.Float64frombits(old)
			next = was + weight*(v-was)
		}
		if a.bits.CompareAndSwap(old, math.Float64bits(next)) {
			return
		}
	}
}

func (a *average) value() float64 { return math.Float64frombits(a.bits.Load()) }

// blend is add for a value that begins at 0.
func (a *average) blend(v, weight float64) {
	for {
		old := a.bits.Load()
		was := math.Float64frombits(old)
		next := was + weight*(v-was)
		if next < 1e-6 {
			next = 0
		}
		if a.bits.CompareAndSwap(old, math.Float64bits(next)) {
			return
		}
	}
}
