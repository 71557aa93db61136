package edge

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodegate/nodegate"
)

// TestGate: never more than the bound are inside, everybody who has time comes in, and
// nobody is left.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most, people = 3, 500
		g := newGate(most)
		var inside, served, left atomic.Int64
		var all sync.WaitGroup
		for range people {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(int(2*time.Second))))
				defer cancel()
				time.Sleep(time.Duration(rand.IntN(int(100 * time.Millisecond))))
				if !g.enter(ctx) {
					left.Add(1)
					return
				}
				if n := inside.Add(1); n > most {
					t.Errorf("%d are inside", n)
				}
				time.Sleep(time.Duration(rand.IntN(int(5 * time.Millisecond))))
				inside.Add(-1)
				served.Add(1)
				g.leave()
			})
		}
		all.Wait()
		if g.inside.Load() != 0 || g.waiting.Load() != 0 || served.Load()+left.Load() != people || served.Load() < people/2 {
			t.Errorf("%d inside, %d waiting, %d served, %d gave up", g.inside.Load(), g.waiting.Load(), served.Load(), left.Load())
		}
	})
}

// TestGateWakes: whoever has no deadline gets in, however those before leave.
func TestGateWakes(t *testing.T) {
	g := newGate(2)
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for range 200 {
				if !g.enter(t.Context()) {
					t.Error("given up without a deadline")
					return
				}
				g.leave()
			}
		})
	}
	all.Wait()
	if g.inside.Load() != 0 {
		t.Errorf("%d are inside", g.inside.Load())
	}
}

// TestFewWait: as many calls wait as may be executed, for a while; those beyond are refused
// at once.
func TestFewWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const most = 2
		s := &share{calls: newGate(most)}
		begun := time.Now()
		var mu sync.Mutex
		waited := map[time.Duration]int{}
		for i := range 5 * most {
			go func() {
				err := s.enter(t.Context())
				mu.Lock()
				defer mu.Unlock()
				if waited[time.Since(begun)]++; (err == nil) != (i < most) || err != nil && nodegate.AsError(err).Code != nodegate.AccountBusy {
					t.Errorf("call %d: %v", i, err)
				}
			}()
			synctest.Wait()
		}
		time.Sleep(2 * callWait)
		mu.Lock()
		defer mu.Unlock()
		if waited[0] != 4*most || waited[callWait] != most {
			t.Errorf("calls by how long they waited: %v", waited)
		}
	})
}
