package client

import (
	"context"
	"slices"
	"sync"
	"time"
)

// maxWaiting is how many calls may wait for a connection.
const maxWaiting = 4096

// pool decides which connection a call gets: the one that was used last, a new one
// while there are fewer than most, or the first that somebody gives back.
type pool struct {
	dial func(ctx context.Context, deadline time.Time) (*conn, error)
	most int

	mu      sync.Mutex
	idle    []*conn // the one used last is last
	open    int     // idle, in use and being dialled
	waiting []*waiter
	closed  bool
	reaper  *time.Timer // runs while there are idle connections
}

// waiter gets a connection, or nil and with it the right to dial one.
type waiter struct{ given chan *conn }

// get returns a connection for one call. It goes back by put or drop.
func (p *pool) get(ctx context.Context, deadline time.Time, safe bool) (*conn, error) {
	for {
		c, w, err := p.take()
		if w != nil {
			c, err = p.wait(ctx, deadline, w)
		}
		if err != nil {
			return nil, err
		}
		if c == nil {
			return p.connect(ctx, deadline)
		}
		if c.usable(time.Now(), safe) {
			c.reused = true
			return c, nil
		}
		p.drop(c)
	}
}

// take returns an idle connection, or a place in the queue, or neither: the right to dial.
func (p *pool) take() (*conn, *waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch n := len(p.idle); {
	case p.closed:
		return nil, nil, ErrClosed
	case n > 0:
		c := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		return c, nil, nil
	case p.open < p.most:
		p.open++
		return nil, nil, nil
	case len(p.waiting) >= maxWaiting:
		return nil, nil, ErrBusy
	}
	w := &waiter{given: make(chan *conn, 1)}
	p.waiting = append(p.waiting, w)
	return nil, w, nil
}

// wait waits for a turn. Like a read, it asks the context for Done only after a while.
func (p *pool) wait(ctx context.Context, deadline time.Time, w *waiter) (*conn, error) {
	timer := time.NewTimer(min(quickTime, time.Until(deadline)))
	defer timer.Stop()
	select {
	case c, ok := <-w.given:
		return turn(c, ok)
	case <-timer.C:
	}
	timer.Reset(time.Until(deadline))
	select {
	case c, ok := <-w.given:
		return turn(c, ok)
	case <-timer.C:
		p.withdraw(w)
		return nil, context.DeadlineExceeded
	case <-ctx.Done():
		p.withdraw(w)
		return nil, ctx.Err()
	}
}

// turn reads what came to a waiter; its channel is closed when the pool is.
func turn(c *conn, ok bool) (*conn, error) {
	if !ok {
		return nil, ErrClosed
	}
	return c, nil
}

// withdraw gives up a place in the queue, or passes on what came to it meanwhile.
func (p *pool) withdraw(w *waiter) {
	p.mu.Lock()
	i := slices.Index(p.waiting, w)
	if i >= 0 {
		p.waiting = slices.Delete(p.waiting, i, i+1)
	}
	p.mu.Unlock()
	if i >= 0 {
		return
	}
	switch c, ok := <-w.given; {
	case c != nil:
		p.put(c)
	case ok:
		p.release()
	}
}

// connect dials for a call that has the right to.
func (p *pool) connect(ctx context.Context, deadline time.Time) (*conn, error) {
	c, err := p.dial(ctx, deadline)
	if err != nil {
		p.release()
		return nil, err
	}
	return c, nil
}

// put keeps a connection for the next call.
func (p *pool) put(c *conn) {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		p.open--
		c.close()
		return
	}
	c.idleFrom = now
	if w := p.next(); w != nil {
		w.given <- c
		return
	}
	p.idle = append(p.idle, c)
	if p.reaper == nil {
		p.reaper = time.AfterFunc(c.idleFor, p.reap)
	}
}

// drop closes a connection.
func (p *pool) drop(c *conn) {
	c.close()
	p.release()
}

// release gives the right to one connection to who waits for it.
func (p *pool) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w := p.next(); w != nil {
		w.given <- nil
		return
	}
	p.open--
}

// next takes the first of the queue; nil when there is none.
func (p *pool) next() *waiter {
	if len(p.waiting) == 0 {
		return nil
	}
	w := p.waiting[0]
	p.waiting = slices.Delete(p.waiting, 0, 1)
	return w
}

// reap closes connections that nobody has used for their time.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, soonest := time.Now(), idleTime
	p.idle = slices.DeleteFunc(p.idle, func(c *conn) bool {
		left := c.idleFor - now.Sub(c.idleFrom)
		if left > 0 {
			soonest = min(soonest, left)
			return false
		}
		c.close()
		p.open--
		return true
	})
	if p.reaper = nil; len(p.idle) > 0 {
		p.reaper = time.AfterFunc(max(soonest, freshTime), p.reap)
	}
}

// shut closes what is idle and turns away who waits. Calls in progress finish.
func (p *pool) shut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, w := range p.waiting {
		close(w.given)
	}
	for _, c := range p.idle {
		c.close()
		p.open--
	}
	p.idle, p.waiting = nil, nil
	if p.reaper != nil {
		p.reaper.Stop()
	}
}
