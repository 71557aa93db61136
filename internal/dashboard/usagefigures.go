package dashboard

import (
	"html/template"
	"math"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/dashboard/chart"
)

// figuresOf puts the whole period above each of the three plots of Usage.
func figuresOf(r *report.Result, plots []plot) {
	total, requests, credits, before := &r.Total, template.HTML(""), template.HTML(""), ""
	if c := r.Compared; c != nil {
		requests, credits = change(c.Now.Requests, c.Then.Requests), change(c.Now.Credits, c.Then.Credits)
		if c.Then.P50 > 0 {
			before = " · before: " + millis(c.Then.P50)
		}
	}
	plots[0].Figure, plots[0].Note = number(total.Requests), noted(number(total.Errors)+" failed", requests)
	plots[1].Figure, plots[1].Note = millis(total.P50), noted("median · p95: "+millis(total.P95)+" · p99: "+millis(total.P99)+before, "")
	plots[2].Figure, plots[2].Note = number(total.Credits), noted("in this period", credits)
}

// noted is a text with how it changed.
func noted(text string, changed template.HTML) template.HTML {
	note := template.HTML(template.HTMLEscapeString(text))
	if changed != "" {
		note += " · " + changed
	}
	return note
}

// projected is what is left of today's credits, spread over the steps until they run out at
// the rate of the last hour. A plot of steps shorter than an hour is too short for it, and one
// of a part of the account's usage has no part in the forecast.
func projected(r *report.Result, now time.Time) []chart.Series {
	q, left := &r.Query, float64(r.Standing.Credits.Limit-r.Standing.Credits.Used)
	if r.RunsOut.IsZero() || r.Step < time.Hour || now.Before(r.Begin) || !now.Before(r.End) || q.KeyID+q.Network+q.Method+q.Outcome != "" {
		return nil
	}
	var values []float64
	ahead := r.RunsOut.Sub(now)
	for at := r.Begin; at.Before(r.RunsOut) && ahead > 0; at = at.Add(r.Step) {
		share := earlier(r.RunsOut, at.Add(r.Step)).Sub(later(now, at))
		if share <= 0 {
			values = append(values, math.NaN())
			continue
		}
		values = append(values, left*float64(share)/float64(ahead))
	}
	return []chart.Series{{Name: "projected", Class: "ahead", Values: values}}
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// dayLimit is the limit that a plot of the account's credits by day has; 0 is none.
func dayLimit(r *report.Result) float64 {
	if q := &r.Query; r.Step != nodegate.ByDay.Length() || q.KeyID+q.Network+q.Method+q.Outcome != "" {
		return 0
	}
	return float64(r.Standing.Credits.Limit)
}
