package account

import (
	"context"
	"slices"
	"sync"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/credential"
	"github.com/nodegate/nodegate/internal/background"
)

// Hashing a password takes 19 MiB and tens of milliseconds on purpose. One runs at a
// time: two would take both cores of a small machine from everything else. Some wait,
// and the rest is sent away. Whoever is known waits in a queue of their own, which
// strangers can't fill.
const (
	strangersWaiting = 32
	strangersEach    = 4 // for one account, or one address that signs up
	knownWaiting     = 256
	knownEach        = 4 // for one account

	// strangerTurn is how often a stranger goes before the known: strangers may be late,
	// but they are not kept out.
	strangerTurn = 4
)

// lane is a queue of those who wait for a hash.
type lane struct {
	most, each int
	waiting    []*waiter
}

type waiter struct {
	who  string
	turn chan struct{} // closed when it is theirs
}

// join adds somebody; nil when there is no place for them.
func (l *lane) join(who string) *waiter {
	same := 0
	for _, w := range l.waiting {
		if w.who == who {
			same++
		}
	}
	if len(l.waiting) >= l.most || same >= l.each {
		return nil
	}
	w := &waiter{who: who, turn: make(chan struct{})}
	l.waiting = append(l.waiting, w)
	return w
}

// leave takes somebody out who is still waiting.
func (l *lane) leave(w *waiter) bool {
	i := slices.Index(l.waiting, w)
	if i < 0 {
		return false
	}
	l.waiting = slices.Delete(l.waiting, i, i+1)
	return true
}

// hashing lets one hash run at a time.
type hashing struct {
	mu               sync.Mutex
	running          bool
	turns            int
	known, strangers lane
}

func newHashing() hashing {
	return hashing{known: lane{most: knownWaiting, each: knownEach}, strangers: lane{most: strangersWaiting, each: strangersEach}}
}

// do runs work when it is its turn.
//
// Returns RateLimited when too many wait already, Timeout when the caller can't
// wait any longer.
func (h *hashing) do(ctx context.Context, v visitor, work func()) error {
	h.mu.Lock()
	if !h.running {
		h.running = true
		h.mu.Unlock()
		defer h.next()
		work()
		return nil
	}
	l := &h.strangers
	if v.known {
		l = &h.known
	}
	w := l.join(v.who)
	h.mu.Unlock()
	if w == nil {
		return errQueue
	}
	select {
	case <-w.turn:
		defer h.next()
		work()
		return nil
	case <-ctx.Done():
		h.giveUp(l, w)
		return nodegate.ErrTimeout("account.hash", ctx.Err())
	}
}

// giveUp leaves the queue, or passes on the turn that has just come.
func (h *hashing) giveUp(l *lane, w *waiter) {
	h.mu.Lock()
	left := l.leave(w)
	h.mu.Unlock()
	if !left {
		h.next()
	}
}

// next gives the turn to who waits longest: the known first, and now and then a stranger.
func (h *hashing) next() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.turns++
	l := &h.known
	if len(l.waiting) == 0 || h.turns%strangerTurn == 0 && len(h.strangers.waiting) > 0 {
		l = &h.strangers
	}
	if len(l.waiting) == 0 {
		h.running = false
		return
	}
	w := l.waiting[0]
	l.waiting = slices.Delete(l.waiting, 0, 1)
	close(w.turn)
}

// passwords hashes passwords, and checks them.
type passwords struct{ hashing hashing }

func (p *passwords) hash(ctx context.Context, v visitor, password string) (hash string, err error) {
	if len(password) < minPassword || len(password) > maxPassword {
		return "", invalid("a password must have 10 to 1,024 characters")
	}
	err = p.hashing.do(ctx, v, func() { background.Run(func() { hash = credential.HashPassword(password) }) })
	return hash, err
}

func (p *passwords) check(ctx context.Context, v visitor, hash, password string) (ok bool, err error) {
	if len(password) > maxPassword {
		return false, nil
	}
	err = p.hashing.do(ctx, v, func() { background.Run(func() { ok = credential.CheckPassword(hash, password) }) })
	return ok, err
}
