package ratelimit

import (
	"cmp"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nodegate/nodegate"
)

// sweepEvery is how often idle buckets are looked for.
const sweepEvery = time.Minute

// Config is what a Limiter needs.
type Config struct {
	Shared   Shared          // nil on a single server
	Patience time.Duration   // how long a request waits for Shared; 0 is 150 ms
	Log      *slog.Logger    // nil is slog's default
	Spent    *nodegate.Spent // what was used today before the start; nil is nothing
}

// Limiter holds accounts and keys to their limits.
type Limiter struct {
	table    *table
	shared   Shared
	patience time.Duration
	log      *slog.Logger
	start    time.Time
	day      atomic.Int64 // today, since 1970
	ends     atomic.Int64 // when it ends, in nanoseconds since the start

	down    atomic.Bool // the shared limiter does not answer
	stop    context.CancelFunc
	running sync.WaitGroup
}

// New starts a rate limiter. Close ends it.
func New(c Config) *Limiter {
	ctx, stop := context.WithCancel(context.Background())
	m := &Limiter{shared: c.Shared, patience: cmp.Or(c.Patience, patience), log: c.Log, start: time.Now(), stop: stop}
	if m.log == nil {
		m.log = slog.Default()
	}
	m.table = newTable(c.Spent, m.now().day)
	m.running.Go(func() { every(ctx, sweepEvery, m.sweep) })
	if m.shared != nil {
		m.running.Go(func() { every(ctx, probeEvery, m.probe) })
		m.running.Go(func() { every(ctx, settleEvery, m.settleUp) })
	}
	return m
}

// every calls do at an interval until ctx ends.
func every(ctx context.Context, interval time.Duration, do func()) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}

// now reads the monotonic clock only, which is faster, and the wall clock when the
// day should be over by it.
func (m *Limiter) now() moment {
	at := time.Since(m.start)
	if int64(at) >= m.ends.Load() {
		m.readDay()
	}
	return moment{at: at, day: m.day.Load()}
}

// readDay takes the day from the wall clock, which may have been set.
func (m *Limiter) readDay() {
	now := time.Now()
	day := now.Unix() / secondsOfDay
	m.day.Store(day)
	m.ends.Store(int64(now.Sub(m.start) + time.Unix((day+1)*secondsOfDay, 0).Sub(now.Round(0))))
}

func (m *Limiter) sweep() {
	m.readDay()
	m.table.sweep(m.now())
}

// Admit takes the cost of a request from the account and, where the key has limits
// of its own, from the key: from both or from none.
//
// Returns RateLimited with RetryAfter, CreditsSpent, or InvalidRequest for a cost
// beyond a full bucket, which can never pass. Nothing else, whatever happens to
// the shared limiter or to ctx.
func (m *Limiter) Admit(ctx context.Context, g *nodegate.Grant, cost int64) error {
	k := m.table.find(g)
	r, now := newRequest(g, cost), m.now()
	k = m.table.lock(k, g)
	var refused refusal
	if m.shared != nil && (r.plan.some() || r.own.some()) {
		r.share(k, g.KeyID)
		refused = m.admitLeased(ctx, k, &r, now)
	} else if refused = r.check(k, now); refused.verdict == pass {
		r.take(k)
	}
	k.account.mu.Unlock()
	return refused.error(r.cost)
}

// request is a cost and the limits that it has to pass.
type request struct {
	cost      int64
	plan, own Limit
}

func newRequest(g *nodegate.Grant, cost int64) request {
	plan, own := limitsOf(g.Policy())
	return request{cost: max(cost, 0), plan: plan, own: own}
}

// check asks the key and its account, whose lock is held.
func (r *request) check(k *key, now moment) refusal {
	byPlan := k.account.check(&r.plan, r.cost, now)
	return byPlan.worse(k.check(&r.own, r.cost, now))
}

func (r *request) take(k *key) {
	k.account.take(&r.plan, r.cost)
	k.take(&r.own, r.cost)
}

// Charge takes the cost of a request that was refused: without asking, down to an
// empty bucket at most. It counts for the day.
func (m *Limiter) Charge(g *nodegate.Grant, cost int64) {
	k := m.table.find(g)
	r, now := newRequest(g, cost), m.now()
	k = m.table.lock(k, g)
	defer k.account.mu.Unlock()
	if m.shared != nil {
		r.share(k, g.KeyID)
	}
	r.check(k, now) // for its refill
	r.take(k)
}

// Refund gives back what a request had paid that failed on our side.
func (m *Limiter) Refund(g *nodegate.Grant, cost int64) {
	k := m.table.find(g)
	r, now := newRequest(g, cost), m.now()
	k = m.table.lock(k, g)
	defer k.account.mu.Unlock()
	r.check(k, now) // for its refill
	k.account.give(&r.plan, r.cost)
	k.give(&r.own, r.cost)
}

// SpentToday is what an account has used of the day's credits: as far as this
// server knows, with the shared limiter's count as of the last lease.
func (m *Limiter) SpentToday(accountID string) int64 {
	today := m.now().day
	a := m.table.account(accountID)
	if a == nil {
		if today == m.table.firstDay {
			return m.table.first.Load().Accounts[accountID]
		}
		return 0
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roll(today)
	if l := a.lease; l != nil && l.day == a.day {
		return max(a.spent, l.spent-l.left)
	}
	return a.spent
}

// Close ends the background work and gives unused leases back.
func (m *Limiter) Close(ctx context.Context) error {
	m.stop()
	m.running.Wait()
	if m.shared == nil || m.down.Load() {
		return nil
	}
	return m.settle(ctx, true)
}
