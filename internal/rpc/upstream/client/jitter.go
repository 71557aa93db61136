package client

import (
	"math/rand/v2"
	"time"
)

// Jitter spreads pauses, so that nodes are not asked all at once.
func Jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}
