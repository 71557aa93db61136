package storetest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func leaseHolder(t *testing.T, s Store) {
	now := noon()
	lease := func(name, holder string, at, until time.Time, want bool) {
		t.Helper()
		same(t, holder+" has the lease of "+name, must[bool](t)(s.Lease(t.Context(), name, holder, at, until)), want)
	}
	lease("work", "a", now, now.Add(time.Minute), true)
	lease("work", "b", now.Add(59*time.Second), now.Add(time.Hour), false)
	lease("other work", "b", now, now.Add(time.Hour), true)
	lease("work", "a", now.Add(59*time.Second), now.Add(2*time.Minute), true) // renewed
	lease("work", "b", now.Add(time.Minute), now.Add(time.Hour), false)
	lease("work", "b", now.Add(2*time.Minute), now.Add(time.Hour), true) // it ended
	lease("work", "a", now.Add(2*time.Minute), now.Add(time.Hour), false)
	lease("work", "b", now.Add(3*time.Minute), now.Add(3*time.Minute), true) // given back
	lease("work", "a", now.Add(3*time.Minute), now.Add(time.Hour), true)
	leaseRace(t, s, now)
}

// leaseRace has many take the same lease at once.
func leaseRace(t *testing.T, s Store, now time.Time) {
	var all sync.WaitGroup
	var won atomic.Int64
	for i := range 8 {
		all.Go(func() {
			mine, err := s.Lease(t.Context(), "raced", fmt.Sprint(i), now, now.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			if mine {
				won.Add(1)
			}
		})
	}
	all.Wait()
	same(t, "holders", won.Load(), int64(1))
}
