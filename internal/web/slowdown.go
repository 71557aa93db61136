package web

import (
	"context"
	"net/http"
	"time"

	"github.com/nodegate/nodegate/internal/tokenbucket"
)

// A refusal costs nothing, so a client that is refused could ask on as fast as a core
// goes, with an unknown key too. A client gets so many at their normal speed; beyond them
// they come at a pace.
const (
	RefusalsPerSecond = 200
	RefusalsAtOnce    = 2000
	longestPause      = 250 * time.Millisecond
)

// LargeRefusal is how many refusals one counts for that took work: something was inflated,
// walked or waited for.
const LargeRefusal = 20

// Refusals are what a refusal with a status counts for. An overloaded server answers at
// once: that is not the client's doing.
func Refusals(status int) float64 {
	switch {
	case status < http.StatusBadRequest || status >= http.StatusInternalServerError:
		return 0
	case status == http.StatusRequestEntityTooLarge:
		return LargeRefusal
	}
	return 1
}

// Slowdown counts refusals by client. The zero Slowdown is ready.
type Slowdown[K comparable] struct{ buckets tokenbucket.Set[K] }

// Count counts n refusals and returns how late the last is to be sent.
func (s *Slowdown[K]) Count(client K, n float64) time.Duration {
	if n == 0 {
		return 0
	}
	return min(longestPause, s.buckets.Spend(client, n, tokenbucket.Rate{PerSecond: RefusalsPerSecond, Burst: RefusalsAtOnce}))
}

// Pause waits for a time, or for the client to leave.
func Pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
