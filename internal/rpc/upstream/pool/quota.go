package pool

import (
	"sync"
	"sync/atomic"
	"time"
)

// Used is what a node was used for in the UTC day and month of a time.
type Used struct {
	At    time.Time `json:"at"`
	Day   int64     `json:"day"`   // credits
	Month int64     `json:"month"` // credits
}

// since is what of it still counts at a later time.
func (u Used) since(now time.Time) Used {
	now, was := now.UTC(), u.At.UTC()
	if now.Year() != was.Year() || now.Month() != was.Month() {
		return Used{At: now}
	}
	if now.Day() != was.Day() {
		u.Day = 0
	}
	u.At = now
	return u
}

// quota is what a node may be used for in a UTC day and month. A node that has used it up
// rests until the next one begins.
type quota struct {
	day, month int64 // credits; 0: no limit

	mu    sync.Mutex
	used  Used
	until atomic.Int64 // the node rests; in Unix nanoseconds, 0: it doesn't
}

// take uses credits.
func (q *quota) take(cost int64, now time.Time) {
	if q.day == 0 && q.month == 0 {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.used = q.used.since(now)
	q.used.Day += cost
	q.used.Month += cost
	q.settle()
}

// settle finds out until when the node rests. The quota is locked.
func (q *quota) settle() {
	until, at := int64(0), q.used.At
	if q.day > 0 && q.used.Day >= q.day {
		until = time.Date(at.Year(), at.Month(), at.Day()+1, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	if q.month > 0 && q.used.Month >= q.month {
		until = time.Date(at.Year(), at.Month()+1, 1, 0, 0, 0, 0, time.UTC).UnixNano()
	}
	q.until.Store(until)
}

// left is how long the node rests; 0 when it doesn't.
func (q *quota) left(now time.Time) time.Duration {
	until := q.until.Load()
	if until == 0 {
		return 0
	}
	return max(time.Unix(0, until).Sub(now), 0)
}

// spent tells whether the node rests.
func (q *quota) spent() bool { return q.until.Load() != 0 && q.left(time.Now()) > 0 }

// why says until when the node rests.
func (q *quota) why() string {
	return "credits used up; not used until " + time.Unix(0, q.until.Load()).UTC().Format("2006-01-02 15:04 UTC")
}

// now is what was used so far.
func (q *quota) now(now time.Time) Used {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.used.since(now)
}

// begin adds what was used before.
func (q *quota) begin(u Used, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	before := u.since(now)
	q.used = q.used.since(now)
	q.used.Day += before.Day
	q.used.Month += before.Month
	q.settle()
}

// Used is what each node that has a limit by day or month was used for, by its name.
func (p *Pool) Used() map[string]Used {
	used := map[string]Used{}
	for _, n := range p.nodes.all() {
		if n.quota.day > 0 || n.quota.month > 0 {
			used[n.cfg.Name] = n.quota.now(time.Now())
		}
	}
	return used
}

// Continue counts what nodes were used for on top of what they were used for before.
func (p *Pool) Continue(used map[string]Used) {
	now := time.Now()
	for _, n := range p.nodes.all() {
		if u, known := used[n.cfg.Name]; known {
			n.quota.begin(u, now)
		}
	}
}
