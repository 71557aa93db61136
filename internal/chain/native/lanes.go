package native

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// lightLimit is how long a call may run among the others. One that takes longer
// is stopped and started again in the heavy lane.
const lightLimit = 20 * time.Millisecond

// lanes keep long executions from starving everything else. The heavy lane has
// fewer seats than the machine has cores, so that short requests always find one;
// and one key may hold or wait for only so many of them, so that one tenant's
// endless loops don't fill the queue before another's slow call.
type lanes struct {
	seats  chan struct{}
	perKey int

	mu   sync.Mutex
	keys map[string]*keyGate
}

// keyGate exists while a key has heavy calls under way or waiting.
type keyGate struct {
	slots chan struct{}
	users int
}

func newLanes(seats, perKey int) *lanes {
	return &lanes{seats: make(chan struct{}, seats), perKey: perKey, keys: map[string]*keyGate{}}
}

// run executes work in the light lane first and, when that is too short, in the
// heavy lane. The whole call, waiting included, ends after timeout.
func (l *lanes) run(ctx context.Context, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	start := time.Now()
	err := work(ctx, lightLimit)
	if !errors.Is(err, errAborted) {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, start.Add(timeout))
	defer cancel()
	leave, err := l.enter(ctx)
	if err != nil {
		return errAborted
	}
	defer leave()
	return work(ctx, timeout-time.Since(start))
}

// enter waits for the key's own gate and then for a seat.
func (l *lanes) enter(ctx context.Context) (leave func(), err error) {
	key := nodegate.GrantFrom(ctx).KeyID
	gate := l.gate(key)
	select {
	case gate.slots <- struct{}{}:
	case <-ctx.Done():
		l.drop(key, gate)
		return nil, ctx.Err()
	}
	select {
	case l.seats <- struct{}{}:
	case <-ctx.Done():
		<-gate.slots
		l.drop(key, gate)
		return nil, ctx.Err()
	}
	return func() {
		<-l.seats
		<-gate.slots
		l.drop(key, gate)
	}, nil
}

func (l *lanes) gate(key string) *keyGate {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.keys[key]
	if g == nil {
		g = &keyGate{slots: make(chan struct{}, l.perKey)}
		l.keys[key] = g
	}
	g.users++
	return g
}

// drop forgets a key's gate with its last user, so that the map is bounded by
// what is under way.
func (l *lanes) drop(key string, g *keyGate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(l.keys, key)
	}
}
