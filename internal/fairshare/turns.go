package fairshare

import (
	"context"
	"sync/atomic"
	"time"
)

// How long a request works before it takes turns. Most requests end within it and never
// meet the pool. One whose owner takes turns at the moment has less: owners that send long
// requests send many.
const (
	Free      = 10 * time.Millisecond
	freeAmong = Free / 20
)

// A request on a thread of its own that comes back for its next turn at once keeps its
// slot meanwhile: to wake another thread costs more than a short piece of work.
const (
	quantum = time.Millisecond       // from the first of its turns until another one is woken
	pause   = 100 * time.Microsecond // between two of them
)

// turns are those of one request: whose work it is, and where slots come from. They are
// the request's context as well, which saves every request an allocation.
type turns struct {
	context.Context
	pool  *Pool
	name  string
	given time.Duration // how much of Free it has
	own   left
	*left        // own, or that of the request's first context
	late  func() // called once that is over, in the goroutine that works
	rest  func() // called after each turn from then on

	// Of a slot that is kept between two turns. The pool's lock guards them.
	kept  bool
	since time.Time // of its first turn
	timer *time.Timer
}

// left is what a request has left of Free, and how long it has worked in turns, in
// nanoseconds.
type left struct{ free, inTurns atomic.Int64 }

type contextKey struct{}

// Value finds the turns of a context.
func (t *turns) Value(key any) any {
	if key == (contextKey{}) {
		return t
	}
	return t.Context.Value(key)
}

// With lets work of a request below take turns, in an owner's name.
func With(ctx context.Context, p *Pool, name string) context.Context {
	t := &turns{Context: ctx, pool: p, name: name}
	t.left = &t.own
	t.given = Free
	if p.Has(name) {
		t.given = freeAmong
	}
	t.free.Store(int64(t.given))
	return t
}

// Spent is how long a request has worked, in turns and before.
func Spent(ctx context.Context) time.Duration {
	t, _ := ctx.Value(contextKey{}).(*turns)
	if t == nil {
		return 0
	}
	return t.given - time.Duration(t.free.Load()) + time.Duration(t.inTurns.Load())
}

// Slots is how many pieces of work may have their turn at once, or 0 for no bound.
func Slots(ctx context.Context) int {
	t, _ := ctx.Value(contextKey{}).(*turns)
	if t == nil {
		return 0
	}
	return t.pool.total
}

// TakeTurns lets a request take turns from the start. It comes before its work.
func TakeTurns(ctx context.Context) {
	if t, _ := ctx.Value(contextKey{}).(*turns); t != nil {
		t.given = 0
		t.free.Store(0)
	}
}

// Count adds to what a request has worked: for work that can't be done in a turn, because it
// may wait for the client.
func Count(ctx context.Context, d time.Duration) {
	t, _ := ctx.Value(contextKey{}).(*turns)
	switch {
	case t == nil:
	case t.free.Load() > 0:
		t.free.Add(int64(-d))
	default:
		t.inTurns.Add(int64(d))
	}
}

// Alone is the context of a request that has a goroutine for itself. Before the first of its
// turns, late is called there, and rest after each. No other goroutine may work with this
// context: see Others.
func Alone(ctx context.Context, late, rest func()) context.Context {
	t, _ := ctx.Value(contextKey{}).(*turns)
	if t == nil {
		return ctx
	}
	return &turns{Context: ctx, pool: t.pool, name: t.name, left: t.left, late: late, rest: rest}
}

// Others is the context for further goroutines that work on such a request.
func Others(ctx context.Context) context.Context {
	t, _ := ctx.Value(contextKey{}).(*turns)
	if t == nil || t.late == nil {
		return ctx
	}
	return &turns{Context: ctx, pool: t.pool, name: t.name, left: t.left}
}

// Do runs a short piece of work that keeps a core busy when it is its turn; work of a
// context without turns runs at once. It must not wait for a client or a disk. The
// error is the context's, and then the work was not done.
func Do(ctx context.Context, work func()) error {
	t, _ := ctx.Value(contextKey{}).(*turns)
	return t.do(ctx, work)
}

// Turn is Do for work that calls others which take turns themselves: with the context
// that it gets, they are part of this one.
func Turn(ctx context.Context, work func(context.Context)) error {
	t, _ := ctx.Value(contextKey{}).(*turns)
	return t.do(ctx, func() { work(context.WithValue(ctx, contextKey{}, (*turns)(nil))) })
}

func (t *turns) do(ctx context.Context, work func()) error {
	switch {
	case t == nil:
		work()
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case t.free.Load() > 0:
		begun := time.Now()
		defer func() { t.free.Add(int64(-time.Since(begun))) }()
		work()
		return nil
	}
	since, err := t.begin(ctx)
	if err != nil {
		return err
	}
	defer t.end(since)
	begun := time.Now()
	work()
	t.inTurns.Add(int64(time.Since(begun)))
	if t.rest != nil {
		t.rest()
	}
	return nil
}

// begin takes the slot that was kept, or waits for one. It returns since when the slot is
// this request's.
func (t *turns) begin(ctx context.Context) (since time.Time, err error) {
	if t.late == nil {
		return since, t.pool.Acquire(ctx, t.name)
	}
	if t.timer == nil { // the first one
		t.timer = time.AfterFunc(pause, t.giveUp) // finds nothing; it is set again when a slot is kept
		t.late()
	}
	if since, ok := t.resume(); ok {
		return since, nil
	}
	err = t.pool.Acquire(ctx, t.name)
	return time.Now(), err
}

// resume takes the slot that was kept.
func (t *turns) resume() (since time.Time, ok bool) {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	ok, t.kept = t.kept, false
	return t.since, ok
}

// end gives the slot back, or keeps it for a moment when somebody would have to be woken.
func (t *turns) end(since time.Time) {
	p := t.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if t.late == nil || p.waiting == 0 || time.Since(since) > quantum {
		p.giveBack(p.owner(t.name))
		return
	}
	t.kept, t.since = true, since
	t.timer.Reset(pause)
}

// giveUp ends the wait for the next turn of the request.
func (t *turns) giveUp() {
	t.pool.mu.Lock()
	defer t.pool.mu.Unlock()
	if t.kept {
		t.kept = false
		t.pool.giveBack(t.pool.owner(t.name))
	}
}
