package pool

import (
	"context"
	"sync"
	"time"
)

// term is the context of one attempt: the caller's, with a deadline of its own, that can
// be ended. It is what context.WithDeadline makes, only when somebody asks for Done: a
// call that is answered at once never does, and to watch a client's connection for it
// may cost as much as the call.
type term struct {
	context.Context // the caller's
	deadline        time.Time

	mu    sync.Mutex
	ended bool
	made  context.Context // nil before somebody asked for Done
	stop  context.CancelFunc
}

// Deadline is the attempt's.
func (t *term) Deadline() (time.Time, bool) { return t.deadline, true }

// Done is closed at the end of the attempt's time, of the caller's patience, or by end.
func (t *term) Done() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.made == nil {
		if t.ended {
			t.made, t.stop = context.WithCancel(t.Context)
			t.stop()
		} else {
			t.made, t.stop = context.WithDeadline(t.Context, t.deadline)
		}
	}
	return t.made.Done()
}

// Err says why the context has ended.
func (t *term) Err() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.made != nil:
		return t.made.Err()
	case t.ended:
		return context.Canceled
	case t.Context.Err() != nil:
		return t.Context.Err()
	case !time.Now().Before(t.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// Value asks what was made, so that contexts made of this one need no goroutine.
func (t *term) Value(key any) any {
	t.mu.Lock()
	from := t.made
	t.mu.Unlock()
	if from == nil {
		from = t.Context
	}
	return from.Value(key)
}

// end ends the context and what was made of it.
func (t *term) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.stop != nil {
		t.stop()
	}
}
