package dashboard

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// TestProjected: what is left of today's credits stands in the steps until they run out.
func TestProjected(t *testing.T) {
	now := time.Date(2026, 11, 15, 13, 30, 0, 0, time.UTC)
	hours := report.Result{
		Step: time.Hour, Begin: now.Add(-90 * time.Minute), End: now.Add(30 * time.Minute), RunsOut: now.Add(2 * time.Hour),
		Standing: report.Standing{Credits: report.Share{Used: 600, Limit: 1000}},
	}
	of := func(change func(*report.Result)) []float64 {
		r := hours
		change(&r)
		list := projected(&r, now)
		if len(list) == 0 {
			return nil
		}
		return list[0].Values
	}
	same := func(got, want []float64) bool {
		if len(got) != len(want) {
			return false
		}
		for i := range got {
			if got[i] != want[i] && !(math.IsNaN(got[i]) && math.IsNaN(want[i])) {
				return false
			}
		}
		return true
	}
	none := math.NaN()
	for name, c := range map[string]struct {
		change func(*report.Result)
		want   []float64
	}{
		"by hour": {func(*report.Result) {}, []float64{none, 100, 200, 100}},
		"by day": {func(r *report.Result) {
			r.Step, r.Begin, r.End = 24*time.Hour, now.Truncate(24*time.Hour).AddDate(0, 0, -1), now.Truncate(24*time.Hour).AddDate(0, 0, 1)
		}, []float64{none, 400}},
		"not today":        {func(r *report.Result) { r.RunsOut = time.Time{} }, nil},
		"run out just now": {func(r *report.Result) { r.RunsOut = now.Add(-time.Second) }, nil},
		"by minute":        {func(r *report.Result) { r.Step = time.Minute }, nil},
		"one key":          {func(r *report.Result) { r.Query.KeyID = "k" }, nil},
		"days before":      {func(r *report.Result) { r.End = now }, nil},
	} {
		if got := of(c.change); !same(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestForecastInTheChart: the chart of credits, its legend and its table have what is
// projected, also where it is stacked.
func TestForecastInTheChart(t *testing.T) {
	now := time.Now().UTC()
	r := &report.Result{
		Step: time.Hour, Begin: now.Truncate(time.Hour).Add(-23 * time.Hour), End: now.Truncate(time.Hour).Add(time.Hour), RunsOut: now.Add(3 * time.Hour),
		Standing: report.Standing{Credits: report.Share{Used: 1, Limit: 1000}}, Series: make([]report.Point, 24),
	}
	has := func(p plot) bool {
		named := slices.ContainsFunc(p.Legend, func(l legend) bool { return l.Name == "projected" && strings.HasSuffix(l.Class, " ahead") })
		return named && strings.Contains(string(p.Drawing), `<th scope="col">projected</th>`) && strings.Contains(string(p.Drawing), " ahead\">")
	}
	for name, by := range map[string]report.Dimension{"by outcome": nodegate.NoDimension, "by method": nodegate.ByMethod} {
		r.Query.Stack = by
		if plots := usagePlots(r, stacks{}, true); !has(plots[2]) || has(plots[0]) || has(plots[1]) {
			t.Errorf("%s: the credits have it: %v: %s", name, has(plots[2]), plots[2].Drawing)
		}
	}
	r.RunsOut = time.Time{}
	if plots := usagePlots(r, stacks{}, true); has(plots[2]) {
		t.Error("credits that last are projected")
	}
}

// TestFiguresAbovePlots: each plot of Usage has the period in one number.
func TestFiguresAbovePlots(t *testing.T) {
	r := &report.Result{Total: report.Sums{Requests: 1200, Errors: 3, Credits: 96_000, P50: 2 * time.Millisecond, P95: 5 * time.Millisecond, P99: 9 * time.Millisecond}}
	plots := make([]plot, 3)
	figuresOf(r, plots)
	r.Compared = &report.Comparison{Now: report.Counts{Requests: 1200, Credits: 96_000}, Then: report.Sums{Requests: 1000, Credits: 96_000, P50: 4 * time.Millisecond}}
	compared := make([]plot, 3)
	figuresOf(r, compared)
	for i, want := range []struct{ figure, note, compared string }{
		{"1,200", "3 failed", "20 % more"}, {"2.00 ms", "median · p95: 5.00 ms · p99: 9.00 ms", "before: 4.00 ms"}, {"96,000", "in this period", "same as before"},
	} {
		if plots[i].Figure != want.figure || string(plots[i].Note) != want.note || !strings.HasPrefix(string(compared[i].Note), want.note+" · ") || !strings.Contains(string(compared[i].Note), want.compared) {
			t.Errorf("%+v, compared %q, want %+v", plots[i], compared[i].Note, want)
		}
	}
}

// TestFailures: the Overview lists the most frequent reasons, and all lines together are what
// failed.
func TestFailures(t *testing.T) {
	var groups []report.Group
	failed := int64(0)
	for i, name := range []string{"ok", "reverted", "rate limited", "timeout", "no node", "invalid params", "busy", ""} {
		g := report.Group{Name: name, Rest: name == "", Sums: report.Sums{Requests: int64(100 - i)}}
		if name != "ok" {
			g.Errors = g.Requests
		}
		if g.Rest {
			g.Errors = 7 // some of the rest may be answered
		}
		failed += g.Errors
		groups = append(groups, g)
	}
	list, sum := failuresOf(groups), int64(0)
	for _, f := range list {
		sum += f.Requests
	}
	if len(list) != mostFailures+1 || sum != failed || list[0].Name != "reverted" || list[0].Path == "" || list[mostFailures].Name != "all others" || list[mostFailures].Path != "" {
		t.Errorf("%+v add up to %d of %d", list, sum, failed)
	}
	if list := failuresOf(groups[:1]); len(list) != 0 {
		t.Errorf("nothing failed: %+v", list)
	}
}
