package load

import (
	"math"
	"testing"
	"time"
)

func TestQuantiles(t *testing.T) {
	var h Histogram
	for i := 1; i <= 100_000; i++ {
		h.Add(time.Duration(i) * time.Microsecond)
	}
	if h.Count() != 100_000 {
		t.Errorf("count %d", h.Count())
	}
	for _, q := range []float64{0.001, 0.5, 0.9, 0.99, 1} {
		got, want := float64(h.Quantile(q)), q*float64(100*time.Millisecond)
		if math.Abs(got-want)/want > 1.0/subBuckets {
			t.Errorf("quantile %g is %v, want about %v", q, time.Duration(got), time.Duration(want))
		}
	}
}

func TestQuantileOfFew(t *testing.T) {
	var h Histogram
	if got := h.Quantile(0.5); got != 0 {
		t.Errorf("of none: %v", got)
	}
	h.Add(7)
	h.Add(-1) // the clock may stand still, and subtraction is not to be trusted with an index
	if low, high := h.Quantile(0.5), h.Quantile(0.99); low != 0 || high != 7 {
		t.Errorf("of two: %v and %v", low, high)
	}
	h.Add(math.MaxInt64)
	if got := h.Quantile(1); bucketOf(uint64(got)) != lastBucket {
		t.Errorf("of the longest: %v", got)
	}
}

func TestBucketsAreContinuous(t *testing.T) {
	for v := uint64(1); v < 1<<maxBits; v += 1 + v/200 {
		i, before := bucketOf(v), bucketOf(v-1)
		if i != before && i != before+1 {
			t.Fatalf("%d is in bucket %d, its predecessor in %d", v, i, before)
		}
		if bucketOf(uint64(middleOf(i))) != i {
			t.Fatalf("the middle of bucket %d is in another", i)
		}
	}
}

func TestMerge(t *testing.T) {
	var a, b Histogram
	a.Add(10)
	b.Add(20)
	b.Add(30)
	a.Merge(&b)
	if a.Count() != 3 || a.Quantile(0.5) != 20 || a.Quantile(1) != 30 {
		t.Errorf("count %d, median %d, maximum %d", a.Count(), a.Quantile(0.5), a.Quantile(1))
	}
}
