// Package fairshare gives a limited number of slots to owners, which are accounts
// or client addresses: so many in total, and so many for each. When slots are short,
// owners take turns, however many requests each of them has; with ByTime, those that used
// the least time come first. Start at New.
package fairshare

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// What Acquire returns when too many wait already.
var (
	ErrOwnerWaits = errors.New("too many requests of this owner wait")
	ErrAllWait    = errors.New("too many requests wait")
)

// Pool is a set of slots. Its methods may be called by many goroutines.
type Pool struct {
	total int // slots in all; 0: no bound
	each  int // slots of one owner

	maxWaiting, maxOwnerWaiting int // 0: no bound

	mu      sync.Mutex
	used    int
	waiting int
	owners  map[string]*owner // that have or want a slot
	queue   []*owner          // that want one, in the order of their turns

	times    *usage // nil: owners take turns
	yielding int    // slots that Displace asked for and Yield has not given back yet
}

// owner is one owner's slots, and its requests that wait for more.
type owner struct {
	name    string
	used    int
	freed   time.Time // when it gave back its last slot, while requests of it wait
	waiting []*waiter
}

// waiter is a request that waits for a slot.
type waiter struct {
	since   time.Time
	over    chan struct{} // closed when the wait is
	err     error         // why there is no slot
	blocked time.Duration // how long its owner had none at all
}

// New returns a pool of total slots, or without a bound if that is 0, of which each
// owner gets at most each.
func New(total, each int) *Pool {
	return &Pool{total: total, each: each, owners: map[string]*owner{}}
}

// LimitWaiting bounds how many requests may wait, in all and of one owner. It comes
// before any use.
func (p *Pool) LimitWaiting(all, each int) *Pool {
	p.maxWaiting, p.maxOwnerWaiting = all, each
	return p
}

// Try takes a slot if there is one.
func (p *Pool) Try(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	if len(o.waiting) > 0 || !p.free(o) {
		p.forget(o)
		return false
	}
	p.take(o)
	return true
}

// Acquire waits for a slot. Its error is the context's, or one of the two above.
func (p *Pool) Acquire(ctx context.Context, name string) error {
	_, err := p.Wait(ctx, name, false)
	return err
}

// Wait is Acquire, and tells how much of the time it waited for other owners only: its own
// had no slot. A request that comes back after it gave up a slot goes before the others of
// its owner, and is not refused for their number.
func (p *Pool) Wait(ctx context.Context, name string, back bool) (blocked time.Duration, err error) {
	if ctx.Err() != nil {
		return 0, ctx.Err()
	}
	o, w, err := p.join(name, back)
	if err != nil || w == nil {
		return 0, err
	}
	select {
	case <-w.over:
		return w.blocked, w.err
	case <-ctx.Done():
		p.leave(o, w)
		return 0, ctx.Err()
	}
}

// join takes a slot at once, or returns a waiter.
func (p *Pool) join(name string, back bool) (*owner, *waiter, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o := p.owner(name)
	if len(o.waiting) == 0 && p.free(o) {
		p.take(o)
		return o, nil, nil
	}
	if err := p.refuse(o); err != nil && !back {
		p.forget(o)
		return nil, nil, err
	}
	w := &waiter{since: time.Now(), over: make(chan struct{})}
	p.waiting++
	if back {
		o.waiting = slices.Insert(o.waiting, 0, w)
	} else {
		o.waiting = append(o.waiting, w)
	}
	if len(o.waiting) == 1 {
		p.queue = append(p.queue, o)
	}
	return o, w, nil
}

// refuse tells why no more requests of an owner may wait. Where too many of all owners wait,
// the last one of the owner that has the most gives its place to an owner that has fewer.
func (p *Pool) refuse(o *owner) error {
	switch {
	case p.maxOwnerWaiting > 0 && len(o.waiting) >= p.maxOwnerWaiting:
		return ErrOwnerWaits
	case p.maxWaiting == 0 || p.waiting < p.maxWaiting:
		return nil
	}
	most := slices.MaxFunc(p.queue, func(a, b *owner) int { return len(a.waiting) - len(b.waiting) })
	if len(most.waiting) <= len(o.waiting)+1 {
		return ErrAllWait
	}
	p.drop(most, len(most.waiting)-1).end(ErrOwnerWaits)
	return nil
}

func (w *waiter) end(err error) {
	w.err = err
	close(w.over)
}

// drop takes a request out of those that wait.
func (p *Pool) drop(o *owner, i int) *waiter {
	w := o.waiting[i]
	p.waiting--
	if o.waiting = slices.Delete(o.waiting, i, i+1); len(o.waiting) == 0 {
		p.unqueue(o)
	}
	return w
}

// leave ends a wait. A slot that came in the same instant is given on.
func (p *Pool) leave(o *owner, w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(o.waiting, w); i >= 0 {
		p.drop(o, i)
		p.forget(o)
		return
	}
	if w.err == nil {
		p.giveBack(o)
	}
}

// Release gives a slot back.
func (p *Pool) Release(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack(p.owner(name))
}

// Used is how many slots are taken.
func (p *Pool) Used() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used
}

// Waiting is how many requests wait.
func (p *Pool) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// Has tells whether an owner has a slot or waits for one.
func (p *Pool) Has(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owners[name] != nil
}

// Idle tells whether nobody has or wants a slot, and nothing is kept of those who did.
func (p *Pool) Idle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.used == 0 && p.waiting == 0 && len(p.owners) == 0 && len(p.queue) == 0
}

func (p *Pool) owner(name string) *owner {
	o := p.owners[name]
	if o == nil {
		o = &owner{name: name}
		p.owners[name] = o
	}
	return o
}

func (p *Pool) free(o *owner) bool {
	return (p.total == 0 || p.used < p.total) && o.used < p.each
}

func (p *Pool) take(o *owner) {
	p.used++
	o.used++
	p.count(o, 1)
}

func (p *Pool) giveBack(o *owner) {
	p.used--
	if o.used--; o.used == 0 && len(o.waiting) > 0 {
		o.freed = time.Now()
	}
	p.count(o, -1)
	p.next()
	p.forget(o)
}

func (p *Pool) count(o *owner, slots int) {
	if p.times != nil {
		p.times.change(o.name, slots)
	}
}

// next gives a free slot to the owner in the queue whose turn it is.
func (p *Pool) next() {
	first := p.first()
	if first == nil {
		return
	}
	p.unqueue(first) // it goes to the end
	w := first.waiting[0]
	first.waiting = first.waiting[1:]
	p.waiting--
	if len(first.waiting) > 0 {
		p.queue = append(p.queue, first)
	}
	if now := time.Now(); first.used == 0 {
		w.blocked = min(now.Sub(w.since), now.Sub(first.freed))
	}
	p.take(first)
	close(w.over)
}

// first is the owner that gets the next slot: the first in the queue that may have one more,
// or the one of these that used the least time.
func (p *Pool) first() (first *owner) {
	if len(p.queue) == 0 {
		return nil
	}
	now, least := time.Now(), 0.0
	for _, o := range p.queue {
		if !p.free(o) {
			continue
		}
		if p.times == nil {
			return o
		}
		if used := p.times.used(o.name, now); first == nil || used < least {
			first, least = o, used
		}
	}
	return first
}

func (p *Pool) unqueue(o *owner) {
	if i := slices.Index(p.queue, o); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
	}
}

// forget drops an owner that has and wants nothing.
func (p *Pool) forget(o *owner) {
	if o.used == 0 && len(o.waiting) == 0 {
		delete(p.owners, o.name)
	}
}
