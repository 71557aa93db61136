package ratelimit

import (
	"context"
	"errors"
	"time"
)

// The times of shared limits.
const (
	patience    = 150 * time.Millisecond // how long a request waits for a lease, by default
	probeEvery  = 250 * time.Millisecond // how often a lost limiter is tried again
	settleEvery = 5 * time.Second        // how long a debt may stay unreported
	pause       = 10 * time.Millisecond  // between two asks of an empty bucket
	believed    = time.Second            // how long an answer about an empty bucket holds
)

// Shared is a limiter that several servers have in common.
type Shared interface {
	// Take does all of an Ask at once. It returns by the end of ctx.
	Take(ctx context.Context, a Ask) (Lease, error)
}

// Ask is a wish for credits of one bucket.
type Ask struct {
	Name  string // of the bucket
	Limit Limit
	Need  int64 // less than this is no use: then none are granted
	Want  int64 // at most so many
	Owed  int64 // used without a lease, or to be given back when negative; counted first

	// Spent is the least that was used on a day by this server alone, and Seen what all
	// servers had used at the shared limiter's last answer, whose Incarnation and Asks follow.
	// They make up for a shared limiter that has lost its memory: Seen counts only if it did.
	Day, Spent, Seen  int64
	Incarnation, Asks int64 // 0 before the first answer
}

// Lease is the answer to an Ask.
type Lease struct {
	Granted int64
	Rest    int64 // what the bucket holds afterwards
	Day     int64 // by the shared limiter's clock
	Spent   int64 // of the day, with all leases

	// Incarnation is a random number that the count got when it was created, and Asks how many
	// there were of it so far. Another incarnation, or fewer asks, mean that the shared limiter
	// has lost its memory. Both are 0 for a bucket of which nothing is kept.
	Incarnation, Asks int64
}

// lease is what a server holds of a shared bucket.
type lease struct {
	name    string
	limit   Limit // at the last use
	left    int64
	owed    int64
	waiting int64         // the cost of all requests that wait for the flight
	flight  chan struct{} // closed when the answer is here; nil without one on its way

	// The last answer.
	at          time.Duration
	short       bool // less than wanted was granted
	rest        int64
	day         int64
	spent       int64
	incarnation int64
	asks        int64
}

// spend uses leased credits, and owes the rest.
func (l *lease) spend(cost int64) {
	leased := min(l.left, cost)
	l.left -= leased
	l.owed += cost - leased
}

// check tells whether the last answer rules out that missing credits are there.
func (l *lease) check(missing int64, now moment) refusal {
	age := now.at - l.at
	if !l.short || age > believed {
		return refusal{}
	}
	if l.limit.PerDay > 0 && l.spent > l.limit.PerDay-missing && l.day >= now.day {
		return refusal{verdict: spent, limit: l.limit, day: l.day}
	}
	if l.limit.Rate == 0 || l.rest >= missing {
		return refusal{}
	}
	more, _ := gained(l.limit.Rate, max(age, 0), 0)
	if age >= pause && l.rest+more >= missing {
		return refusal{}
	}
	return refusal{verdict: later, limit: l.limit, seconds: wait(missing-l.rest-more, l.limit.Rate)}
}

// admitLeased is Admit with a shared limiter, after share. The account's lock is
// held before and after, but not while waiting.
func (m *Limiter) admitLeased(ctx context.Context, k *key, r *request, now moment) refusal {
	var timeout <-chan time.Time
	for {
		refused, t := r.check(k, now), r.lacking(k)
		alone := t == nil || m.down.Load()
		if !alone {
			refused = refused.worse(t.lease.check(r.cost-t.lease.left, now))
		} else if m.down.Load() {
			refused = refused.worse(r.checkAlone(k))
		}
		if refused.verdict != pass {
			return refused
		}
		if alone {
			break
		}
		if timeout == nil {
			timer := time.NewTimer(m.patience)
			defer timer.Stop()
			timeout = timer.C
		}
		if !m.await(ctx, k, t, r.cost, timeout) {
			break
		}
		now = m.now()
	}
	r.take(k)
	if r.plan.some() {
		m.prefetch(k.account, &k.account.tally, now)
	}
	if r.own.some() {
		m.prefetch(k.account, &k.tally, now)
	}
	return refusal{}
}

// checkAlone tells whether the day's credits were used up by all servers together, as far as this
// one knows: without the shared limiter it goes on from what that said last.
func (r *request) checkAlone(k *key) (refused refusal) {
	if r.plan.PerDay > 0 {
		refused = k.account.checkAlone(&r.plan, r.cost)
	}
	if r.own.PerDay > 0 {
		refused = refused.worse(k.tally.checkAlone(&r.own, r.cost))
	}
	return refused
}

func (t *tally) checkAlone(l *Limit, cost int64) refusal {
	used := t.lease.seen(t.day) - t.lease.left + t.lease.owed
	if used > l.PerDay-cost {
		return refusal{verdict: spent, limit: *l, day: t.day}
	}
	return refusal{}
}

// seen is what all servers had used of a day at the last answer, with their leases.
func (l *lease) seen(day int64) int64 {
	if l.day != day {
		return 0
	}
	return l.spent
}

// share makes room for the leases that the limits of a key with this id need.
func (r *request) share(k *key, id string) {
	k.account.share("account:", k.account.id, &r.plan)
	k.share("key:", id, &r.own)
}

func (t *tally) share(kind, id string, l *Limit) {
	if !l.some() {
		return
	}
	if t.lease == nil {
		t.lease = &lease{name: kind + id}
	}
	t.lease.limit = *l
}

// lacking returns the tally whose lease does not cover the cost, if there is one.
func (r *request) lacking(k *key) *tally {
	if r.plan.some() && k.account.lease.left < r.cost {
		return &k.account.tally
	}
	if r.own.some() && k.lease.left < r.cost {
		return &k.tally
	}
	return nil
}

// await waits for the flight of a lease. It returns false when this takes too
// long: then the server's own buckets decide.
func (m *Limiter) await(ctx context.Context, k *key, t *tally, cost int64, timeout <-chan time.Time) bool {
	l := t.lease
	l.waiting += cost
	k.waiting++
	landed := m.fly(k.account, t, cost-l.left)
	k.account.mu.Unlock()
	inTime := true
	select {
	case <-landed:
	case <-timeout:
		inTime = false
		select {
		case <-landed: // the answers come, but others were served first
		default:
			m.lose(context.DeadlineExceeded)
		}
	case <-ctx.Done():
		inTime = false
	}
	k.account.mu.Lock()
	l.waiting -= cost
	k.waiting--
	return inTime
}

// prefetch renews a lease that is half used, before anybody has to wait.
func (m *Limiter) prefetch(a *account, t *tally, now moment) {
	l := t.lease
	if l.left > l.limit.share()/2 || l.flight != nil || l.short && now.at-l.at < pause || m.down.Load() {
		return
	}
	m.fly(a, t, 0)
}

// fly asks for a lease in the background, unless that is in progress.
func (m *Limiter) fly(a *account, t *tally, need int64) <-chan struct{} {
	l := t.lease
	if l.flight != nil {
		return l.flight
	}
	l.flight = make(chan struct{})
	ask := l.ask(t)
	ask.Need, ask.Want = need, max(need, l.waiting-l.left, l.limit.share()-l.left)
	m.running.Go(func() { _ = m.take(context.Background(), a, t, ask) })
	return l.flight
}

// ask begins an Ask with what is owed. It counts as reported from here on.
func (l *lease) ask(t *tally) Ask {
	owed := l.owed
	l.owed = 0
	return Ask{Name: l.name, Limit: l.limit, Owed: owed, Day: t.day, Spent: t.spent, Seen: l.seen(t.day), Incarnation: l.incarnation, Asks: l.asks}
}

// take brings an Ask to the shared limiter and its answer back.
func (m *Limiter) take(ctx context.Context, a *account, t *tally, ask Ask) error {
	ctx, cancel := context.WithTimeout(ctx, m.patience)
	defer cancel()
	got, err := m.shared.Take(ctx, ask)
	now := m.now()
	a.mu.Lock()
	defer a.mu.Unlock()
	l := t.lease
	close(l.flight)
	l.flight = nil
	if err != nil {
		// After a time-out the ask may still be carried out: then it was delivered.
		if !errors.Is(err, context.DeadlineExceeded) {
			l.owed += ask.Owed
		}
		m.lose(err)
		return err
	}
	l.left += got.Granted
	l.at, l.short, l.rest, l.day, l.spent = now.at, got.Granted < ask.Want, got.Rest, got.Day, got.Spent
	l.incarnation, l.asks = got.Incarnation, got.Asks
	t.bucket.follow(ask.Limit, got.Rest+l.left, now.at)
	return nil
}
