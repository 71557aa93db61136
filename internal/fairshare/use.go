package fairshare

import (
	"math"
	"time"
)

// decay is how fast slot time is forgotten: after it, a third counts.
const decay = time.Minute

// A request may be displaced when it has had its slot for slice. Where several owners wait
// who may displace it, they share that time, down to shortSlice.
const (
	slice      = time.Second
	shortSlice = slice / 10
)

// contrast is how many times as much its owner must have used as the one who waits. Owners
// with similar use don't displace each other: else no long request of theirs would ever end.
const contrast = 2

// trifle is slot time that is not worth remembering.
const trifle = time.Millisecond

// usage is how much slot time owners used lately. The pool's lock guards it.
type usage struct {
	owners map[string]*slotTime
	swept  time.Time
}

// slotTime is one owner's, with the slots that it has now.
type slotTime struct {
	seconds float64 // as of at
	at      time.Time
	slots   int
}

// ByTime gives slots to the owners that used the least slot time lately, instead of letting
// owners take turns, and makes Displace work. It comes before any use.
func (p *Pool) ByTime() *Pool {
	p.times = &usage{owners: map[string]*slotTime{}, swept: time.Now()}
	return p
}

// Displace reports whether a request that has had its slot for so long must give it back,
// because an owner waits that used much less. It then gives the slot back with Yield.
func (p *Pool) Displace(name string, had time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	owners, requests := p.entitled(name)
	if requests <= p.yielding || had < max(slice/time.Duration(owners), shortSlice) {
		return false
	}
	p.yielding++
	return true
}

// entitled counts who may have a slot of an owner: other owners, and their requests.
func (p *Pool) entitled(name string) (owners, requests int) {
	now := time.Now()
	used := p.times.used(name, now)
	for _, o := range p.queue {
		if more := min(len(o.waiting), p.each-o.used); o.name != name && more > 0 && contrast*p.times.used(o.name, now) <= used {
			owners, requests = owners+1, requests+more
		}
	}
	return owners, requests
}

// Yield is Release after Displace.
func (p *Pool) Yield(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.yielding--
	p.giveBack(p.owner(name))
}

// OverShare reports whether an owner used as much slot time as those on average that have or
// want a slot, or more.
func (p *Pool) OverShare(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	used, owners := p.times.used(name, now), 1
	sum := used
	for other := range p.owners {
		if other != name {
			sum, owners = sum+p.times.used(other, now), owners+1
		}
	}
	return used*float64(owners) >= sum
}

// used is how many seconds an owner used until now.
func (u *usage) used(name string, now time.Time) float64 {
	t := u.owners[name]
	if t == nil {
		return 0
	}
	t.update(now)
	return t.seconds
}

// change adds slots to an owner's or takes them away.
func (u *usage) change(name string, slots int) {
	now := time.Now()
	u.sweep(now)
	t := u.owners[name]
	if t == nil {
		t = &slotTime{at: now}
		u.owners[name] = t
	}
	t.update(now)
	t.slots += slots
}

// update counts the time since the last one, of which a part is forgotten already.
func (t *slotTime) update(now time.Time) {
	kept := math.Exp(-now.Sub(t.at).Seconds() / decay.Seconds())
	t.seconds = t.seconds*kept + float64(t.slots)*decay.Seconds()*(1-kept)
	t.at = now
}

// sweep forgets owners that used next to nothing.
func (u *usage) sweep(now time.Time) {
	if now.Sub(u.swept) < decay/10 {
		return
	}
	u.swept = now
	for name, t := range u.owners {
		if t.update(now); t.slots == 0 && t.seconds < trifle.Seconds() {
			delete(u.owners, name)
		}
	}
}
