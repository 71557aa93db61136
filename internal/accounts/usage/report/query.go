package report

import (
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// Range is how far back a report reaches.
type Range string

// The ranges.
const (
	Minutes15 Range = "15m"
	Hour      Range = "1h"
	Hours6    Range = "6h"
	Day       Range = "24h"
	Week      Range = "7d"
	Month     Range = "30d"
	Custom    Range = "custom" // from Query.From to Query.To
)

// rangeOf is a row of the table of ranges.
type rangeOf struct {
	name   Range
	title  string
	back   time.Duration
	step   time.Duration
	series nodegate.Resolution // of the points: no longer than a step
	groups nodegate.Resolution // of the groups, and where the range begins
}

const day = 24 * time.Hour

var ranges = [...]rangeOf{
	{Minutes15, "15 minutes", 15 * time.Minute, time.Minute, nodegate.ByMinute, nodegate.ByMinute},
	{Hour, "hour", time.Hour, time.Minute, nodegate.ByMinute, nodegate.ByMinute},
	{Hours6, "6 hours", 6 * time.Hour, 10 * time.Minute, nodegate.ByMinute, nodegate.ByHour},
	{Day, "24 hours", day, time.Hour, nodegate.ByHour, nodegate.ByHour},
	{Week, "7 days", 7 * day, 3 * time.Hour, nodegate.ByHour, nodegate.ByDay},
	{Month, "30 days", 30 * day, day, nodegate.ByDay, nodegate.ByDay},
}

// Ranges lists the ranges, shortest first.
func Ranges() []Range {
	var list []Range
	for i := range ranges {
		list = append(list, ranges[i].name)
	}
	return list
}

func (r Range) row() *rangeOf {
	for i := range ranges {
		if ranges[i].name == r {
			return &ranges[i]
		}
	}
	return nil
}

// Title is the range in words: "the last " comes before it.
func (r Range) Title() string {
	if row := r.row(); row != nil {
		return row.title
	}
	return string(r)
}

// window is the time that a range covers: whole steps, the last of which holds now.
func (r *rangeOf) window(now time.Time) (begin, end time.Time) {
	return r.groups.Start(now.Add(-r.back)), now.UTC().Truncate(r.step).Add(r.step)
}

// Dimension is what the groups of a report are.
type Dimension = nodegate.Dimension

// Dimensions lists what usage can be grouped by.
func Dimensions() []Dimension {
	return []Dimension{nodegate.ByNetwork, nodegate.ByMethod, nodegate.ByKey, nodegate.ByOutcome}
}

// Query says what a report is about. Of the filters "" lets all pass.
type Query struct {
	AccountID string // must be given; "*" is all accounts, for operators
	KeyID     string
	Network   string
	Method    string
	Outcome   string // "ok", or a Code's name
	Range     Range
	From, To  time.Time // of Custom only
	By        Dimension // "" makes no groups
	Stack     Dimension // "" makes no stacks
	Compare   bool      // with the time before
}

// longest is how much time a report covers at most.
const longest = 2 * 366 * day

// customs are the steps of ranges that somebody chose, by how long they are.
var customs = [...]rangeOf{
	{back: 3 * time.Hour, step: time.Minute, series: nodegate.ByMinute},
	{back: 16 * time.Hour, step: 10 * time.Minute, series: nodegate.ByMinute},
	{back: 4 * day, step: time.Hour, series: nodegate.ByHour},
	{back: 14 * day, step: 3 * time.Hour, series: nodegate.ByHour},
	{back: longest, step: day, series: nodegate.ByDay},
}

// period is the time of a query: its row, where it begins and where it ends.
func (q *Query) period(now time.Time) (row *rangeOf, begin, end time.Time) {
	if q.Range != Custom {
		row = q.Range.row()
		begin, end = row.window(now)
		return row, begin, end
	}
	custom := customs[len(customs)-1]
	for _, c := range customs {
		if q.To.Sub(q.From) <= c.back && now.Sub(q.From) < c.series.Kept() {
			custom = c
			break
		}
	}
	custom.groups = custom.series
	begin = custom.series.Start(q.From)
	steps := (min(q.To.Sub(begin), now.Sub(begin)+custom.step) + custom.step - 1) / custom.step
	return &custom, begin, begin.Add(max(steps, 1) * custom.step)
}

// maxFilter is the longest name that can be asked for.
const maxFilter = 256

// check returns InvalidInput and says what can be asked for.
func (q *Query) check() error {
	if q.AccountID == "" {
		return invalid("a report is about an account: name one")
	}
	if q.Range == Custom {
		if err := q.checkTime(); err != nil {
			return err
		}
	} else if q.Range.row() == nil {
		var names []string
		for _, r := range Ranges() {
			names = append(names, string(r))
		}
		return invalid("there is no such range of time: choose one of " + strings.Join(names, ", "))
	}
	for _, filter := range []string{q.AccountID, q.KeyID, q.Network, q.Method, q.Outcome} {
		if len(filter) > maxFilter {
			return invalid("a filter has at most 256 bytes")
		}
	}
	for _, by := range []Dimension{q.By, q.Stack} {
		if by != nodegate.NoDimension && !slices.Contains(Dimensions(), by) {
			return invalid("usage is grouped by network, method, key or outcome")
		}
	}
	return nil
}

func (q *Query) checkTime() error {
	switch {
	case q.From.IsZero() || q.To.IsZero():
		return invalid("a custom range needs a first and a last day")
	case !q.To.After(q.From):
		return invalid("the last day is before the first")
	case q.To.Sub(q.From) > longest:
		return invalid("a report covers at most two years")
	}
	return nil
}

func invalid(msg string) error {
	return &nodegate.Error{Op: "report", Code: nodegate.InvalidInput, Msg: msg}
}
