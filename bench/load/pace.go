package load

import "time"

// pace is one connection's timetable; the zero value has none.
type pace struct {
	every time.Duration
	first time.Duration // of the first request, after the first wait
	due   time.Time
}

// paceOf spreads the connections evenly over an interval.
func paceOf(k int, o Options) pace {
	if o.Rate <= 0 {
		return pace{}
	}
	every := time.Duration(float64(o.Conns) / o.Rate * float64(time.Second))
	return pace{every: every, first: every * time.Duration(k) / time.Duration(o.Conns)}
}

// wait returns when the next request is due, or at once where there is no timetable
// or it is late already. The result is when it was due.
func (p *pace) wait() time.Time {
	now := time.Now()
	if p.every == 0 {
		return now
	}
	if p.due.IsZero() {
		p.due = now.Add(p.first)
	} else {
		p.due = p.due.Add(p.every)
	}
	time.Sleep(p.due.Sub(now))
	return p.due
}
