package report

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// Comparison is the figures of a report against the same span of time before it.
type Comparison struct {
	Now  Counts // of the steps that are over: one in progress would always look small
	Then Sums   // of as much time before
}

// Counts are figures that add up.
type Counts struct{ Requests, Credits int64 }

// compared is the part of a report that can be compared, and where the time begins that it
// is compared with.
type compared struct {
	end, then time.Time
}

// comparable finds two spans of the same length: the steps of the report that are over, and
// as much time before it. Where the report is of a day, week or month that goes on, that is
// the same part of the one before. It reports false where there is no such step, or where
// usage is no longer kept in steps so fine.
func (q *Query) comparable(row *rangeOf, begin, end, now time.Time) (c compared, ok bool) {
	c.end = end
	if end.After(now) {
		c.end = begin.Add(now.Sub(begin).Truncate(row.step))
	}
	shift := c.end.Sub(begin)
	if q.Range == Custom && q.To.After(now) {
		shift = q.To.Sub(begin)
	}
	c.then = begin.Add(-shift)
	kept := row.series.Kept()
	return c, c.end.After(begin) && (kept == 0 || now.Sub(c.then) < kept)
}

// before adds up the span that a report is compared with.
func (r *Reports) before(ctx context.Context, row *rangeOf, sums nodegate.UsageSums, c compared) (Sums, error) {
	length := c.end.Sub(sums.From)
	sums.From, sums.To, sums.Resolution = c.then, c.then.Add(length), row.series
	list, err := r.cfg.Store.SumUsage(ctx, sums)
	return sumsOf(added(list)), err
}

// until adds up the steps before a time.
func (r *Result) until(end time.Time) (c Counts) {
	for i := range r.Series {
		if p := &r.Series[i]; p.At.Before(end) {
			c.Requests, c.Credits = c.Requests+p.Requests, c.Credits+p.Credits
		}
	}
	return c
}
