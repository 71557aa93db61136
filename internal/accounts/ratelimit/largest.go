package ratelimit

import (
	"math"

	"github.com/nodegate/nodegate"
)

// Largest is the most credits that one request may ever cost: a full bucket.
func Largest(p *nodegate.Policy) int64 {
	largest := int64(math.MaxInt64)
	plan, own := limitsOf(p)
	for _, l := range []Limit{plan, own} {
		if l.Rate > 0 {
			largest = min(largest, l.Burst)
		}
	}
	return largest
}
