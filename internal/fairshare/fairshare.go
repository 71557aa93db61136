// Package fairshare gives a limited number of slots to owners, which are accounts
// or client addresses: so many in total, and so many for each. When slots are short,
// owners take turns, however many requests each of them has. Start at New.
package fairshare

import (
	"context"
	"errors"
	"sync"
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
}

// owner is one owner's slots, and its requests that wait for more.
type owner struct {
	name    string
	used    int
	waiting []chan struct{}
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
	if ctx.Err() != nil {
		return ctx.Err()
	}
	o, turn, err := p.join(name)
	if err != nil || turn == nil {
		return err
	}
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		p.leave(o, turn)
		return ctx.Err()
	}
}

// join takes a slot at once, or returns what is closed when one is given.
func (p *Pool) join(name string) (o *owner, turn chan struct{}, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	o = p.owner(name)
	switch {
	case len(o.waiting) == 0 && p.free(o):
		p.take(o)
		return o, nil, nil
	case p.maxOwnerWaiting > 0 && len(o.waiting) >= p.maxOwnerWaiting:
		return nil, nil, ErrOwnerWaits
	case p.maxWaiting > 0 && p.waiting >= p.maxWaiting:
		p.forget(o)
		return nil, nil, ErrAllWait
	}
	turn = make(chan struct{})
	p.waiting++
	if o.waiting = append(o.waiting, turn); len(o.waiting) == 1 {
		p.queue = append(p.queue, o)
	}
	return o, turn, nil
}

// leave ends a wait. A slot that came in the same instant is given on.
func (p *Pool) leave(o *owner, turn chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, w := range o.waiting {
		if w == turn {
			p.waiting--
			if o.waiting = append(o.waiting[:i], o.waiting[i+1:]...); len(o.waiting) == 0 {
				p.unqueue(o)
			}
			p.forget(o)
			return
		}
	}
	p.giveBack(o)
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
}

func (p *Pool) giveBack(o *owner) {
	p.used--
	o.used--
	p.next()
	p.forget(o)
}

// next gives a free slot to the first owner in the queue that may have one more. It
// then goes to the end.
func (p *Pool) next() {
	for i, o := range p.queue {
		if !p.free(o) {
			continue
		}
		turn := o.waiting[0]
		o.waiting = o.waiting[1:]
		p.waiting--
		p.queue = append(p.queue[:i], p.queue[i+1:]...)
		if len(o.waiting) > 0 {
			p.queue = append(p.queue, o)
		}
		p.take(o)
		close(turn)
		return
	}
}

func (p *Pool) unqueue(o *owner) {
	for i, q := range p.queue {
		if q == o {
			p.queue = append(p.queue[:i], p.queue[i+1:]...)
			return
		}
	}
}

// forget drops an owner that has and wants nothing.
func (p *Pool) forget(o *owner) {
	if o.used == 0 && len(o.waiting) == 0 {
		delete(p.owners, o.name)
	}
}
