package edge

import (
	"context"
	"sync/atomic"
)

// gate bounds how many are inside. The way of one that finds room is a single swap of a
// counter: all requests of an account pass the same gate.
type gate struct {
	most    int64 // 0 is no limit
	inside  atomic.Int64
	waiting atomic.Int64
	wake    chan struct{} // of size 1: somebody may have left
}

func newGate(most int) gate { return gate{most: int64(most), wake: make(chan struct{}, 1)} }

// try enters if there is room. It never counts one that has none, not even for a moment:
// who waits would look in vain and sleep on.
func (g *gate) try() bool {
	for {
		n := g.inside.Load()
		if g.most > 0 && n >= g.most {
			return false
		}
		if g.inside.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// enter waits for room until the context ends.
func (g *gate) enter(ctx context.Context) bool {
	if g.try() {
		return true
	}
	g.waiting.Add(1)
	defer g.waiting.Add(-1)
	for !g.try() {
		select {
		case <-g.wake:
		case <-ctx.Done():
			g.call() // it may have been meant for us
			return false
		}
	}
	g.call() // two may have left at once
	return true
}

func (g *gate) leave() {
	g.inside.Add(-1)
	g.call()
}

// call wakes one who waits.
func (g *gate) call() {
	if g.waiting.Load() == 0 {
		return
	}
	select {
	case g.wake <- struct{}{}:
	default:
	}
}
