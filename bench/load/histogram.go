package load

import (
	"math"
	"math/bits"
	"time"
)

// The buckets: 64 to every power of two, so that a quantile is within 1.6 % of the
// truth, up to 2^40 ns, some eighteen minutes.
const (
	subBits    = 6
	subBuckets = 1 << subBits
	maxBits    = 40
	lastBucket = (maxBits-subBits+1)*subBuckets - 1
)

// Histogram counts durations in buckets whose width grows with their value. The
// zero value is empty and ready. It is not safe for concurrent use.
type Histogram struct {
	count   uint64
	buckets [lastBucket + 1]uint64
}

// Add counts one duration.
func (h *Histogram) Add(d time.Duration) {
	h.buckets[bucketOf(uint64(max(d, 0)))]++
	h.count++
}

// Count is how many durations were added.
func (h *Histogram) Count() uint64 { return h.count }

// Merge adds what another histogram has counted.
func (h *Histogram) Merge(other *Histogram) {
	for i, n := range other.buckets {
		h.buckets[i] += n
	}
	h.count += other.count
}

// Quantile returns the duration that a share q of all does not exceed, 0 when there are none.
func (h *Histogram) Quantile(q float64) time.Duration {
	rank := max(uint64(math.Ceil(q*float64(h.count))), 1)
	seen := uint64(0)
	for i, n := range h.buckets {
		if seen += n; seen >= rank {
			return middleOf(i)
		}
	}
	return 0
}

// bucketOf keeps a value's leading bits. Values below 64 have a bucket each.
func bucketOf(v uint64) int {
	if v < subBuckets {
		return int(v)
	}
	exponent := bits.Len64(v) - 1 - subBits
	return min(exponent*subBuckets+int(v>>exponent), lastBucket)
}

// middleOf is the value in the middle of a bucket.
func middleOf(bucket int) time.Duration {
	if bucket < subBuckets {
		return time.Duration(bucket)
	}
	exponent := bucket/subBuckets - 1
	low := uint64(bucket%subBuckets+subBuckets) << exponent
	return time.Duration(low + uint64(1)<<exponent/2)
}
