package report_test

import (
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// TestStacks: the parts add up to the series at every step, the largest first, and the
// period before has the requests of exactly that time.
func TestStacks(t *testing.T) {
	s := open(t)
	rows := month()
	add(t, s, 1, rows)
	reports := report.New(report.Config{Store: s})
	rapid.Check(t, func(rt *rapid.T) {
		q := report.Query{
			AccountID: "a", Range: rapid.SampledFrom(report.Ranges()).Draw(rt, "range"), Compare: true, By: nodegate.ByMethod,
			Stack: rapid.SampledFrom(report.Dimensions()).Draw(rt, "stack"), Method: rapid.SampledFrom([]string{"", "", "eth_m4"}).Draw(rt, "method"),
		}
		if rapid.Bool().Draw(rt, "custom") {
			q.Range, q.From = report.Custom, now.Add(-time.Duration(rapid.IntRange(0, 45*24*60).Draw(rt, "ago"))*time.Minute)
			q.To = q.From.Add(time.Duration(rapid.IntRange(1, 50*24*60).Draw(rt, "long")) * time.Minute)
		}
		r, err := reports.Make(rt.Context(), q, nodegate.Plan{}, now)
		if err != nil {
			rt.Fatal(err)
		}
		checkStacks(rt, r)
		checkCompared(rt, r, rows)
		total := int64(0)
		for _, u := range rows {
			if u.AccountID != "a" || q.Method != "" && q.Method != u.Method {
				continue
			}
			if !u.At.Before(r.Begin) && u.At.Before(r.End) {
				total += u.Requests
			}
		}
		if r.Total.Requests != total {
			rt.Fatalf("%s from %v to %v: %d requests, want %d", q.Range, r.Begin, r.End, r.Total.Requests, total)
		}
	})
}

// checkCompared: what is compared are two spans of the same length, and neither has a step in
// progress.
func checkCompared(rt *rapid.T, r *report.Result, rows []nodegate.Usage) {
	if r.Compared == nil {
		return
	}
	end := r.End
	if end.After(now) {
		end = r.Begin.Add(now.Sub(r.Begin) / r.Step * r.Step)
	}
	length := end.Sub(r.Begin)
	then := r.Begin.Add(-length)
	if r.Query.Range == report.Custom && r.Query.To.After(now) {
		then = r.Begin.Add(-r.Query.To.Sub(r.Begin))
	}
	in := func(from time.Time) (requests, credits int64) {
		for _, u := range rows {
			if u.AccountID == "a" && (r.Query.Method == "" || r.Query.Method == u.Method) && !u.At.Before(from) && u.At.Before(from.Add(length)) {
				requests, credits = requests+u.Requests, credits+u.Credits
			}
		}
		return requests, credits
	}
	requests, credits := in(r.Begin)
	if c := r.Compared.Now; c.Requests != requests || c.Credits != credits {
		rt.Fatalf("%s from %v to %v: %+v is compared, want %d and %d", r.Query.Range, r.Begin, r.End, c, requests, credits)
	}
	if r.Query.Range == report.Custom {
		return // may begin within a step of what is kept
	}
	requests, credits = in(then)
	if c := r.Compared.Then; c.Requests != requests || c.Credits != credits {
		rt.Fatalf("%s from %v to %v: it is compared with %+v, want %d and %d", r.Query.Range, r.Begin, r.End, c, requests, credits)
	}
}

// TestCompared: steady use is the same as before at any time of the day, however much of the
// last step is over, and what is no longer kept is compared with nothing.
func TestCompared(t *testing.T) {
	s := open(t)
	const day = 24 * time.Hour
	var rows []nodegate.Usage
	for at := nodegate.ByDay.Start(now).Add(-70 * day); at.Before(now); at = at.Add(10 * time.Minute) {
		rows = append(rows, nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: "steady", KeyID: "k", Network: "n", Method: "m", Outcome: "ok"}, At: at, Requests: 10, Credits: 20})
	}
	add(t, s, 1, rows)
	reports := report.New(report.Config{Store: s})
	midnight := nodegate.ByDay.Start(now)
	for _, q := range []report.Query{
		{Range: report.Hour}, {Range: report.Hours6}, {Range: report.Day}, {Range: report.Week}, {Range: report.Month},
		{Range: report.Custom, From: midnight, To: midnight.Add(day)}, {Range: report.Custom, From: midnight.Add(-3 * day), To: midnight.Add(day)},
		{Range: report.Custom, From: midnight.Add(-9 * day), To: midnight.Add(-5 * day)},
	} {
		q.AccountID, q.Compare = "steady", true
		r, err := reports.Make(t.Context(), q, nodegate.Plan{}, now)
		if err != nil {
			t.Fatal(err)
		}
		if c := r.Compared; c == nil || c.Now.Requests == 0 || c.Now.Requests != c.Then.Requests || c.Now.Credits != c.Then.Credits {
			t.Errorf("%s from %v to %v: %+v", q.Range, r.Begin, r.End, c)
		}
	}
	long := report.Query{AccountID: "steady", Compare: true, Range: report.Custom, From: midnight.Add(-88 * day), To: midnight.Add(-85 * day)}
	if r, err := reports.Make(t.Context(), long, nodegate.Plan{}, now); err != nil || r.Compared != nil {
		t.Errorf("hours that are no longer kept: %+v, %v", r.Compared, err)
	}
}

func checkStacks(rt *rapid.T, r *report.Result) {
	last := int64(-1)
	for i, stack := range r.Stacks {
		sum := int64(0)
		for _, n := range stack.Requests {
			sum += n
		}
		if stack.Rest != (i == report.MaxStacks && stack.Name == "") || !stack.Rest && last >= 0 && sum > last {
			rt.Fatalf("part %d of %d: %+v", i, len(r.Stacks), stack)
		}
		last = sum
	}
	for i, p := range r.Series {
		requests, credits := int64(0), int64(0)
		for _, stack := range r.Stacks {
			requests, credits = requests+stack.Requests[i], credits+stack.Credits[i]
		}
		if requests != p.Requests || credits != p.Credits {
			rt.Fatalf("step %d: the parts have %d requests and %d credits of %+v", i, requests, credits, p.Sums)
		}
	}
}

// TestCustom: a range of somebody's own has as fine a step as the store keeps of it, and
// covers what was asked for.
func TestCustom(t *testing.T) {
	reports := report.New(report.Config{Store: open(t)})
	date := func(ago time.Duration) time.Time { return nodegate.ByDay.Start(now.Add(-ago)) }
	const day = 24 * time.Hour
	for _, c := range []struct {
		from, to time.Time
		step     time.Duration
	}{
		{date(0), date(-day), 10 * time.Minute}, // today, so far 14 hours
		{date(day), date(0), time.Hour},
		{date(7 * day), date(0), 3 * time.Hour},
		{date(20 * day), date(0), day},
		{date(89 * day), date(88 * day), time.Hour},
		{date(100 * day), date(99 * day), day},
		{date(700 * day), date(0), day},
		{now.Add(-time.Hour), now, time.Minute},
	} {
		r, err := reports.Make(t.Context(), report.Query{AccountID: "a", Range: report.Custom, From: c.from, To: c.to}, nodegate.Plan{}, now)
		if err != nil {
			t.Fatal(err)
		}
		if c.from.Equal(date(0)) {
			c.step = time.Hour // a day is longer than 16 hours, whatever is past of it
		}
		if r.Step != c.step || r.Begin.After(c.from) || r.End.Before(c.to) && r.End.Before(now) || len(r.Series) > 1000 || len(r.Series) == 0 {
			t.Errorf("from %v to %v: %v from %v to %v, %d steps", c.from, c.to, r.Step, r.Begin, r.End, len(r.Series))
		}
	}
	for name, q := range map[string]report.Query{
		"none": {}, "no end": {From: now}, "backwards": {From: now, To: now.Add(-time.Hour)}, "too long": {From: now.Add(-800 * day), To: now},
	} {
		q.AccountID, q.Range = "a", report.Custom
		if _, err := reports.Make(t.Context(), q, nodegate.Plan{}, now); !errors.Is(err, nodegate.InvalidInput) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
