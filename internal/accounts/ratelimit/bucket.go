package ratelimit

import (
	"time"

	"github.com/nodegate/nodegate"
)

// Limits beyond these are cut down to them: the arithmetic is exact up to here.
const (
	maxRate  = 1_000_000_000
	maxBurst = 1_000_000_000_000
)

// keyBurst is the bucket of a key's own rate, in seconds of it: the same as the
// built-in plan's 10,000 at 500 a second. It is never more than the plan's bucket.
const keyBurst = 20

// nano is the number of parts of a credit that a bucket counts.
const nano = int64(time.Second)

// Limit is what an account or a key may use. A zero rate or day is no limit.
type Limit struct {
	Rate   int64 // credits a second
	Burst  int64 // credits that may be saved up
	PerDay int64 // credits a day
}

// some tells whether there is anything to hold to.
func (l *Limit) some() bool { return l.Rate > 0 || l.PerDay > 0 }

// share is the size of a lease.
func (l *Limit) share() int64 {
	size := int64(maxBurst)
	if l.Rate > 0 {
		size = l.Rate / 10
	}
	if l.PerDay > 0 {
		size = min(size, l.PerDay/10_000)
	}
	return max(size, 1)
}

// limitsOf reads the limits of the account and, where they are stricter, the key's.
func limitsOf(p *nodegate.Policy) (plan, own Limit) {
	plan = Limit{
		Rate:   min(max(p.Plan.CreditsPerSecond, 0), maxRate),
		Burst:  min(p.Plan.Burst, maxBurst),
		PerDay: max(p.Plan.CreditsPerDay, 0),
	}
	if plan.Burst <= 0 {
		plan.Burst = plan.Rate
	}
	if r := p.Settings.CreditsPerSecond; r > 0 && (plan.Rate == 0 && r <= maxRate || r < plan.Rate) {
		own.Rate, own.Burst = r, keyBurst*r
		if plan.Rate > 0 {
			own.Burst = min(own.Burst, plan.Burst)
		}
	}
	if d := p.Settings.CreditsPerDay; d > 0 && (plan.PerDay == 0 || d < plan.PerDay) {
		own.PerDay = d
	}
	return plan, own
}

// bucket is a generic cell rate limiter that counts in credits instead of time, so
// that no rate has to divide a second. The zero bucket is full.
type bucket struct {
	used int64         // credits taken and not regained yet
	part int64         // billionths of the next credit to be regained
	at   time.Duration // up to when regaining is counted
}

// refill counts what was regained up to now. A time before the last one is another
// request's that came a little later: nothing is regained for it.
func (b *bucket) refill(rate int64, now time.Duration) {
	passed := now - b.at
	if passed <= 0 {
		return
	}
	b.at = now
	whole, part := gained(rate, passed, b.part)
	if whole >= b.used {
		b.used, b.part = 0, 0
		return
	}
	b.used, b.part = b.used-whole, part
}

// add uses credits, or gives them back when n is negative. The bucket stays between
// full and empty.
func (b *bucket) add(n, burst int64) {
	b.used += n
	if b.used <= 0 {
		b.used, b.part = 0, 0
	} else if b.used > burst {
		b.used, b.part = burst, 0
	}
}

// follow lowers the bucket to what the shared one holds: should that be lost, this
// one goes on from there instead of from a full bucket.
func (b *bucket) follow(l Limit, holds int64, now time.Duration) {
	if l.Rate == 0 {
		return
	}
	b.refill(l.Rate, now)
	if used := min(l.Burst-holds, l.Burst); used > b.used {
		b.used, b.part = used, 0
	}
}

// gained is what a rate yields in a time: whole credits and billionths, with
// those that were there before. At maxRate it fits for 292 years, as time.Duration.
func gained(rate int64, passed time.Duration, part int64) (whole, rest int64) {
	part += rate * (int64(passed) % nano)
	return rate*(int64(passed)/nano) + part/nano, part % nano
}

// wait is in how many whole seconds missing credits are regained, at least 1.
func wait(missing, rate int64) int64 { return max((missing+rate-1)/rate, 1) }
