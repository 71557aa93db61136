package ratelimit

import (
	"sync"
	"time"
)

const secondsOfDay = 24 * 60 * 60

// moment is a time on both clocks.
type moment struct {
	at  time.Duration // since the start, monotonic
	day int64         // since 1970, in UTC
}

// account is what is counted of one account; its lock is for its keys, too. The
// order of the members and the size of 128 bytes keep what each request needs in
// one line of memory, here and in a key's entry.
type account struct {
	mu sync.Mutex
	tally
	id   string
	keys int // that are in the table
	_    [40]byte
}

// key is what is counted of one key, under its account's lock.
type key struct {
	account *account
	gone    bool // no longer in the table
	tally
	waiting int // requests that wait for a lease, and will come back here
	_       [24]byte
}

// tally is a bucket and a day's count.
type tally struct {
	day    int64
	spent  int64
	lease  *lease // nil until there is one
	bucket bucket
	rate   int64 // at the last use; only for finding out whether the bucket is full again
}

// roll begins a new day. Never an old one: a wall clock that is set back does not
// give the credits of a day twice.
func (t *tally) roll(day int64) {
	if day <= t.day {
		return
	}
	t.day, t.spent = day, 0
	if t.lease != nil {
		t.lease.owed = 0 // it belongs to the day before
	}
}

// check tells whether the limits leave room for a cost, and refills the bucket.
func (t *tally) check(l *Limit, cost int64, now moment) refusal {
	t.roll(now.day)
	var r refusal
	if l.PerDay > 0 && t.spent > l.PerDay-cost {
		r = refusal{verdict: spent, limit: *l, day: t.day}
	}
	if l.Rate == 0 {
		return r
	}
	t.bucket.refill(l.Rate, now.at)
	t.bucket.add(0, l.Burst) // it may have become smaller
	if cost > l.Burst {
		return refusal{verdict: never, limit: *l}
	}
	if missing := t.bucket.used - (l.Burst - cost); missing > 0 {
		r = r.worse(refusal{verdict: later, limit: *l, seconds: wait(missing, l.Rate)})
	}
	return r
}

// take counts a cost. The bucket never holds less than nothing.
func (t *tally) take(l *Limit, cost int64) {
	t.spent += cost
	if l.Rate > 0 {
		t.rate = l.Rate
		t.bucket.add(cost, l.Burst)
	}
	if t.lease != nil && l.some() {
		t.lease.spend(cost)
	}
}

// give takes a cost back.
func (t *tally) give(l *Limit, cost int64) {
	t.spent = max(t.spent-cost, 0)
	t.bucket.add(-cost, maxBurst)
	if t.lease != nil && l.some() {
		t.lease.owed -= cost
	}
}

// idle tells whether forgetting the tally changes nothing.
func (t *tally) idle(now moment) bool {
	if t.spent > 0 && t.day >= now.day {
		return false
	}
	t.bucket.refill(t.rate, now.at)
	return t.bucket.used == 0 && (t.lease == nil || t.lease.flight == nil)
}
