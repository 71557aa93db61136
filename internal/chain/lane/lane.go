// Package lane keeps long executions from starving everything else.
//
// The heavy lane has fewer seats than the machine has cores, so that short
// requests always find one. One key may hold or wait for only so many of them, so
// that one tenant's endless loops don't fill the queue before another's slow call.
// And the queue itself is bounded: beyond it the server says that it is busy.
package lane

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// LightLimit is how long a call may run among the others. One that takes longer
// is stopped and started again in the heavy lane.
const LightLimit = 20 * time.Millisecond

// maxWaiting is how many calls may wait for a heavy seat.
const maxWaiting = 512

// ErrAborted is what work returns when it was stopped at its limit.
var ErrAborted = errors.New("execution aborted")

// Lanes hand out the seats of one chain.
type Lanes struct {
	seats   chan struct{}
	perKey  int
	waiting atomic.Int32

	mu   sync.Mutex
	keys map[string]*keyGate
}

// keyGate exists while a key has heavy calls under way or waiting.
type keyGate struct {
	slots chan struct{}
	users int
}

// New makes a heavy lane of so many seats.
func New(seats, perKey int) *Lanes {
	return &Lanes{seats: make(chan struct{}, seats), perKey: perKey, keys: map[string]*keyGate{}}
}

// Run executes work among the others first and, when that is too short, in the
// heavy lane. The whole call, waiting included, ends after timeout.
func (l *Lanes) Run(ctx context.Context, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	start := time.Now()
	if err := work(ctx, LightLimit); !errors.Is(err, ErrAborted) {
		return err
	}
	return l.RunHeavy(ctx, timeout-time.Since(start), work)
}

// RunHeavy executes work in the heavy lane. The whole call, waiting included, ends
// after timeout.
func (l *Lanes) RunHeavy(ctx context.Context, timeout time.Duration, work func(context.Context, time.Duration) error) error {
	deadline := time.Now().Add(timeout)
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	leave, err := l.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	return work(ctx, time.Until(deadline))
}

// Enter waits for a heavy seat; leave gives it back.
//
// Returns Busy when too many wait already, and ErrAborted when ctx ends first.
func (l *Lanes) Enter(ctx context.Context) (leave func(), err error) {
	defer l.waiting.Add(-1)
	if l.waiting.Add(1) > maxWaiting {
		return nil, &nodegate.Error{Op: "lane.enter", Code: nodegate.Busy, Msg: "server busy", RetryAfter: time.Second}
	}
	key := nodegate.GrantFrom(ctx).KeyID
	gate := l.gate(key)
	if !take(ctx, gate.slots) {
		l.drop(key, gate)
		return nil, ErrAborted
	}
	if !take(ctx, l.seats) {
		<-gate.slots
		l.drop(key, gate)
		return nil, ErrAborted
	}
	return func() {
		<-l.seats
		<-gate.slots
		l.drop(key, gate)
	}, nil
}

func take(ctx context.Context, slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (l *Lanes) gate(key string) *keyGate {
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
func (l *Lanes) drop(key string, g *keyGate) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if g.users--; g.users == 0 {
		delete(l.keys, key)
	}
}
