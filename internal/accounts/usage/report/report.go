package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// Config is what reports are made from.
type Config struct {
	Store nodegate.UsageReader
	// SpentToday is what the rate limiter knows of an account's credits of today, which is
	// newer than what the store has. It may be nil.
	SpentToday func(accountID string) int64
	// Stored is what the storage gateway keeps for an account; nil without a gateway.
	Stored func(accountID string) int64
	// Embedded tells whether a network's chain runs in this process. A call that runs out of
	// time there asked for too much; on nodes, it may be the node that is slow. It may be nil.
	Embedded func(network string) bool
}

// Reports makes reports.
type Reports struct{ cfg Config }

// New makes reports from a store.
func New(c Config) *Reports { return &Reports{c} }

// MaxGroups is how many groups are listed by themselves; the rest are one more.
const MaxGroups = 20

// Sums are the figures of a step, a group or all, as nodegate.UsageSum defines them.
type Sums struct {
	Requests, Errors, Credits int64
	BytesIn, BytesOut         int64
	P50, P95, P99             time.Duration // estimates, 0 without requests that were executed
}

// Point is a step of the series.
type Point struct {
	At time.Time
	Sums
}

// Group are the requests that have one value of the dimension.
type Group struct {
	Name string
	Rest bool // the smaller groups together; Name is ""
	Sums
}

// Result is a report.
type Result struct {
	Query      Query
	Begin, End time.Time
	Step       time.Duration
	Total      Sums
	Series     []Point     // one for each step, also where nothing happened
	Groups     []Group     // the largest first
	GroupCount int         // how many there are in all
	Stacks     []Stack     // the parts of the series, the largest first
	Compared   *Comparison // with the time before; nil without Compare, and where that isn't kept
	Standing   Standing
	RunsOut    time.Time // when today's credits are used up at the rate of the last hour; zero: not today
}

// Share is what is used of a limit.
type Share struct{ Used, Limit int64 }

// Limited tells whether there is a limit at all.
func (s Share) Limited() bool { return s.Limit > 0 }

// Percent is the share in hundredths: 0 without a limit, over 100 beyond it.
func (s Share) Percent() float64 {
	if !s.Limited() || s.Used <= 0 {
		return 0
	}
	return 100 * float64(s.Used) / float64(s.Limit)
}

// Standing is what an account has used of its plan.
type Standing struct {
	Credits  Share     // of today
	ResetsAt time.Time // when a new day of credits begins
	Stored   Share     // bytes in the storage gateway now
	Moved    Share     // bytes through the storage gateway in this month
	Month    time.Time // its first day
}

// Make makes the report of a query at a time. The plan is the account's.
//
// Returns InvalidInput for a query that can't be answered, and what the store returns.
func (r *Reports) Make(ctx context.Context, q Query, plan nodegate.Plan, now time.Time) (*Result, error) {
	if err := q.check(); err != nil {
		return nil, err
	}
	row, begin, end := q.period(now)
	result := &Result{Query: q, Step: row.step, Begin: begin, End: end}
	sums := nodegate.UsageSums{
		AccountID: q.AccountID, KeyID: q.KeyID, Network: q.Network, Method: q.Method, Outcome: q.Outcome, From: result.Begin, To: result.End,
	}
	var series, groups []nodegate.UsageSum
	var spans compared
	if err := together(
		func() (err error) {
			series, groups, err = r.read(ctx, row, sums, &q)
			return err
		},
		func() (err error) {
			if c, ok := q.comparable(row, begin, end, now); q.Compare && ok {
				result.Compared, spans = new(Comparison), c
				result.Compared.Then, err = r.before(ctx, row, sums, c)
			}
			return err
		},
		func() (err error) {
			if result.Standing, err = r.Standing(ctx, q.AccountID, plan, now); err == nil {
				result.RunsOut, err = r.runsOut(ctx, q.AccountID, &result.Standing, now)
			}
			return err
		},
	); err != nil {
		return nil, err
	}
	result.fill(series, groups)
	if result.Compared != nil {
		result.Compared.Now = result.until(spans.end)
	}
	return result, nil
}

// readings is how often figures are read that change between two queries.
const readings = 3

// read reads the series and the groups until they are of the same requests: a server may
// add usage between the two.
func (r *Reports) read(ctx context.Context, row *rangeOf, sums nodegate.UsageSums, q *Query) (series, groups []nodegate.UsageSum, err error) {
	by := q.By
	for range readings {
		err := together(
			func() (err error) {
				part := sums
				part.Resolution, part.Step, part.By = row.series, row.step, q.Stack
				series, err = r.cfg.Store.SumUsage(ctx, part)
				return err
			},
			func() (err error) {
				if by == nodegate.NoDimension {
					return nil
				}
				part := sums
				part.Resolution, part.By = row.groups, by
				groups, err = r.cfg.Store.SumUsage(ctx, part)
				return err
			},
		)
		if err != nil {
			return nil, nil, err
		}
		if by == nodegate.NoDimension || added(series).Requests == added(groups).Requests {
			break
		}
	}
	return series, groups, nil
}

// together does several things at once and returns all their errors.
func together(do ...func() error) error {
	errs := make([]error, len(do))
	var all sync.WaitGroup
	for i := range do {
		all.Go(func() { errs[i] = do[i]() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// fill works out what is shown. Usage that arrives between the two readings is in
// the groups, and the totals are theirs where there are any: the page's columns add up.
func (r *Result) fill(series, groups []nodegate.UsageSum) {
	at := map[time.Time]*nodegate.UsageSum{}
	for i := range series {
		if sum := at[series[i].At]; sum != nil {
			sum.Add(&series[i])
			continue
		}
		sum := series[i]
		at[sum.At] = &sum
	}
	for t := r.Begin; t.Before(r.End); t = t.Add(r.Step) {
		p := Point{At: t}
		if u := at[t]; u != nil {
			p.Sums = sumsOf(u)
		}
		r.Series = append(r.Series, p)
	}
	if r.Query.Stack != nodegate.NoDimension {
		r.stack(series)
	}
	all := series
	if r.Query.By != nodegate.NoDimension {
		all = groups
	}
	r.Total = sumsOf(added(all))
	r.GroupCount = len(groups)
	slices.SortStableFunc(groups, func(a, b nodegate.UsageSum) int {
		return cmp.Or(cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Group, b.Group))
	})
	listed := groups[:min(len(groups), MaxGroups)]
	for i := range listed {
		r.Groups = append(r.Groups, Group{Name: listed[i].Group, Sums: sumsOf(&listed[i])})
	}
	if rest := groups[len(listed):]; len(rest) > 0 {
		r.Groups = append(r.Groups, Group{Rest: true, Sums: sumsOf(added(rest))})
	}
}

func added(list []nodegate.UsageSum) *nodegate.UsageSum {
	sum := new(nodegate.UsageSum)
	for i := range list {
		sum.Add(&list[i])
	}
	return sum
}

func sumsOf(u *nodegate.UsageSum) Sums {
	s := Sums{Requests: u.Requests, Errors: u.Errors, Credits: u.Credits, BytesIn: u.BytesIn, BytesOut: u.BytesOut}
	s.P50, s.P95, s.P99 = u.Percentiles()
	return s
}

// Standing is what an account has used of a plan at a time.
func (r *Reports) Standing(ctx context.Context, accountID string, plan nodegate.Plan, now time.Time) (Standing, error) {
	today := nodegate.ByDay.Start(now)
	s := Standing{ResetsAt: today.Add(day), Month: time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)}
	spent, err := r.cfg.Store.SumUsage(ctx, nodegate.UsageSums{AccountID: accountID, From: today, To: s.ResetsAt, Resolution: nodegate.ByDay})
	if err != nil {
		return s, err
	}
	s.Credits = Share{added(spent).Credits, plan.CreditsPerDay}
	if r.cfg.SpentToday != nil {
		s.Credits.Used = max(s.Credits.Used, r.cfg.SpentToday(accountID))
	}
	figures, err := r.cfg.Store.Figures(ctx, accountID, now)
	s.Stored, s.Moved = Share{figures.Stored, plan.StoredBytes}, Share{figures.Moved, plan.MovedBytes}
	if r.cfg.Stored != nil {
		s.Stored.Used = r.cfg.Stored(accountID)
	}
	return s, err
}
