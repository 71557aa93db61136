package blockstore

import (
	"context"
	"sync"
)

// calls counts the calls in progress, so that closing can wait for them.
type calls struct {
	life context.Context // ends when the store closes
	stop context.CancelFunc

	mu     sync.Mutex
	closed bool
	active sync.WaitGroup
}

// enter begins a call, unless the store is closing or the caller has gone.
func (c *calls) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed()
	}
	c.active.Add(1)
	return nil
}

func (c *calls) leave() { c.active.Done() }

// close refuses new calls, cancels background work and waits for the calls in
// progress. It reports false when the store was closed before.
func (c *calls) close() bool {
	c.mu.Lock()
	again := c.closed
	c.closed = true
	c.mu.Unlock()
	if again {
		return false
	}
	c.stop()
	c.active.Wait()
	return true
}

// untilClose is a context that also ends with the store.
func (c *calls) untilClose(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.life, cancel)
	return ctx, func() { stop(); cancel() }
}
