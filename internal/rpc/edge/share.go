package edge

import (
	"context"
	"hash/maphash"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/background"
	"github.com/nodegate/nodegate/internal/index"
)

// Bounds of what is open or being executed. They hold for an account with all its keys
// and connections, and for all accounts together. Zero is no limit. A plan may have
// other ones for its accounts.
type Bounds struct {
	SocketsPerAccount       int
	SubscriptionsPerAccount int
	CallsPerAccount         int   // bodies and messages that are executed at the same time
	BodyRate                int64 // bytes a second in large bodies and messages
	Sockets                 int
	Subscriptions           int
}

// How a refusal by a share is answered.
const (
	callWait   = 2 * time.Second // for one of the account's own calls to end
	shareRetry = 5 * time.Second // until something that is open may have been closed
	callRetry  = time.Second
)

// sweepAfter is how many accounts come between two looks for those that have left.
const sweepAfter = 1024

// shares are what accounts have open at this moment.
type shares struct {
	bounds        Bounds
	sockets, subs atomic.Int64 // of all

	seed  maphash.Seed
	index index.Index[string, share] // by the account's id
	added atomic.Int64               // accounts since the last sweep
}

// share is what one account has open.
type share struct {
	mu            sync.Mutex
	gone          bool // no longer in the index
	sockets, subs int

	calls   gate // what is executed
	senders senders
}

func newShares(b Bounds) *shares { return &shares{bounds: b, seed: maphash.MakeSeed()} }

// of finds an account's share. It may be dropped from the index meanwhile; who counts
// sockets looks at gone.
func (l *shares) of(g *nodegate.Grant) *share {
	hash := maphash.String(l.seed, g.AccountID)
	if e := l.index.Find(hash, g.AccountID); e != nil {
		return &e.Value
	}
	if l.added.Add(1)%sweepAfter == 0 {
		l.index.Drop(func(e *index.Entry[string, share]) bool { return e.Value.stays() })
	}
	return &l.index.Add(hash, g.AccountID, func(e *index.Entry[string, share]) {
		e.Value.calls = newGate(l.bounds.CallsPerAccount)
		e.Value.senders.free = max(1, background.Cores()/2)
	}).Value
}

// stays tells whether the share is in use, and marks it when it is not.
func (s *share) stays() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.gone = s.sockets == 0 && s.subs == 0 && s.calls.inside.Load() == 0
	return !s.gone
}

// openSocket counts a socket of an account.
//
// Returns AccountBusy when the account has as many as it may, Busy when all have.
func (l *shares) openSocket(g *nodegate.Grant) (*share, error) {
	most := boundOf(g.Policy().Plan.Sockets, l.bounds.SocketsPerAccount)
	for {
		s := l.of(g)
		s.mu.Lock()
		if s.gone {
			s.mu.Unlock()
			continue
		}
		defer s.mu.Unlock()
		if err := admit(&s.sockets, most, &l.sockets, l.bounds.Sockets, "WebSockets"); err != nil {
			return nil, err
		}
		return s, nil
	}
}

// closeSocket counts a socket with its last subscriptions back.
func (l *shares) closeSocket(s *share, subscriptions int) {
	l.closeSubscriptions(s, subscriptions)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets--
	l.sockets.Add(-1)
}

// openSubscription counts a subscription of an account that has a socket.
//
// Returns errors as openSocket does.
func (l *shares) openSubscription(s *share, g *nodegate.Grant) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := boundOf(g.Policy().Plan.Subscriptions, l.bounds.SubscriptionsPerAccount)
	return admit(&s.subs, most, &l.subs, l.bounds.Subscriptions, "subscriptions")
}

func (l *shares) closeSubscriptions(s *share, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subs -= n
	l.subs.Add(-int64(n))
}

// boundOf is the plan's bound, or the server's where the plan has none.
func boundOf(plan int64, server int) int {
	if plan > 0 {
		return int(plan)
	}
	return server
}

// admit counts one more of what an account has open, and of what all have.
func admit(own *int, most int, all *atomic.Int64, mostOfAll int, what string) error {
	if most > 0 && *own >= most {
		return &nodegate.Error{
			Op: "edge.share", Code: nodegate.AccountBusy, RetryAfter: shareRetry,
			Msg: "too many " + what + " of this account: at most " + strconv.Itoa(most) + " at the same time; close some",
		}
	}
	if n := all.Add(1); mostOfAll > 0 && n > int64(mostOfAll) {
		all.Add(-1)
		return &nodegate.Error{Op: "edge.share", Code: nodegate.Busy, RetryAfter: shareRetry, Msg: "server busy: too many open " + what}
	}
	*own++
	return nil
}

// enter takes one of the account's calls and waits a little when all are taken. As many may
// wait as may be executed: each of them keeps a connection.
//
// Returns AccountBusy when none ends in time, or when too many wait already.
func (s *share) enter(ctx context.Context) error {
	if s.calls.try() {
		return nil
	}
	if s.calls.waiting.Load() < s.calls.most {
		ctx, cancel := context.WithTimeout(ctx, callWait)
		defer cancel()
		if s.calls.enter(ctx) {
			return nil
		}
	}
	return &nodegate.Error{
		Op: "edge.share", Code: nodegate.AccountBusy, RetryAfter: callRetry,
		Msg: "too many calls of this account are being executed: at most " + strconv.FormatInt(s.calls.most, 10) + " at the same time",
	}
}

// wait is enter for a socket, which is not read further until it is its turn. It is
// false when the socket ends first.
func (s *share) wait(ctx context.Context) bool { return s.calls.enter(ctx) }

// leave gives back what enter or wait took.
func (s *share) leave() { s.calls.leave() }
