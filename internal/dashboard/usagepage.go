package dashboard

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"net/url"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/dashboard/chart"
)

func usageRoutes() []route {
	return []route{
		{pattern: "GET /usage", who: members, serve: usagePage},
		{pattern: "GET /usage.csv", who: members, serve: usageCSV},
	}
}

// usageData is the page of figures and plots.
type usageData struct {
	*report.Result
	Ranges   []link
	Groupers []link
	Stackers []link
	Form     map[string]string // what the form of a custom range keeps
	From, To string            // of a custom range: days
	Title    string            // what the page is about
	Filters  []link            // what the page is narrowed to; following one takes it off
	Rows     []usageRow
	Plots    []plot
	CSV      string
}

// plot is a drawing with its title and what its colors mean.
type plot struct {
	Title   string
	Figure  string        // the whole period in one number; "" is none
	Note    template.HTML // what stands below the figure
	Legend  []legend
	Drawing template.HTML
	Empty   string // stands in place of a drawing without a value; "" draws it all the same
}

type legend struct{ Name, Class string }

// link is a choice on a page.
type link struct {
	Name, Path string
	Here       bool
}

// usageRow is one group of the table.
type usageRow struct {
	report.Group
	Shown string // its name for people
	Path  string // the page narrowed to it; "" where that can't be
}

func usagePage(v *visit) error {
	result, err := usageReport(v)
	if err != nil {
		return err
	}
	names, err := keyNames(v, result)
	if err != nil {
		return err
	}
	data := &usageData{Result: result, CSV: usageAddress("/usage.csv", result.Query), Form: usageFields(result.Query)}
	data.Plots = usagePlots(result, stacksOf(result, names), true)
	figuresOf(result, data.Plots)
	if result.Query.Range == report.Custom {
		data.From, data.To = result.Query.From.Format(time.DateOnly), result.Query.To.AddDate(0, 0, -1).Format(time.DateOnly)
	}
	for _, r := range report.Ranges() {
		q := result.Query
		q.Range = r
		data.Ranges = append(data.Ranges, link{Name: string(r), Path: usageAddress("/usage", q), Here: r == result.Query.Range})
	}
	for _, by := range report.Dimensions() {
		q := result.Query
		q.By = by
		data.Groupers = append(data.Groupers, link{Name: string(by), Path: usageAddress("/usage", q), Here: by == result.Query.By})
	}
	for _, by := range []report.Dimension{nodegate.NoDimension, nodegate.ByMethod, nodegate.ByNetwork, nodegate.ByKey} {
		q := result.Query
		q.Stack = by
		data.Stackers = append(data.Stackers, link{Name: cmp.Or(string(by), "outcome"), Path: usageAddress("/usage", q), Here: by == result.Query.Stack})
	}
	data.Filters = filtersOf(result.Query, names)
	data.Title = usageTitle(result.Query, names)
	data.Rows = usageRows(result, names)
	return v.show("usage", data)
}

// usageReport makes the figures that the address asks for. Somebody else's key is not there.
func usageReport(v *visit) (*report.Result, error) {
	form := v.req.URL.Query()
	if id := form.Get("key"); id != "" {
		if _, err := v.cfg.Accounts.Key(v.req.Context(), v.account.ID, id); err != nil {
			return nil, err
		}
	}
	q := report.Query{
		AccountID: v.account.ID, KeyID: form.Get("key"), Network: form.Get("network"), Method: form.Get("method"), Outcome: form.Get("outcome"),
		Range: report.Range(form.Get("range")), By: report.Dimension(form.Get("by")), Stack: report.Dimension(form.Get("stack")), Compare: v.req.URL.Path == "/usage",
	}
	if q.Range == "" {
		q.Range = "24h"
	}
	if q.Range == report.Custom {
		q.From, _ = time.Parse(time.DateOnly, form.Get("from"))
		if to, err := time.Parse(time.DateOnly, form.Get("to")); err == nil {
			q.To = to.AddDate(0, 0, 1)
		}
	}
	if q.By == "" {
		q.By = nodegate.ByMethod
	}
	reports, err := reportsOf(v)
	if err != nil {
		return nil, err
	}
	return reports.Make(v.req.Context(), q, v.plan(), time.Now())
}

// keyNames are the names of the keys in a report, revoked ones too, by id.
func keyNames(v *visit, r *report.Result) (map[string]string, error) {
	ids := []string{}
	if r.Query.KeyID != "" {
		ids = append(ids, r.Query.KeyID)
	}
	if r.Query.By == nodegate.ByKey {
		for _, g := range r.Groups {
			ids = append(ids, g.Name)
		}
	}
	if r.Query.Stack == nodegate.ByKey {
		for _, s := range r.Stacks {
			ids = append(ids, s.Name)
		}
	}
	keys, err := v.listKeys(nodegate.KeyQuery{IDs: ids, Limit: len(ids)})
	names := map[string]string{}
	for _, k := range keys {
		names[k.ID] = k.Name
	}
	return names, err
}

// usageAddress is the page of a query.
func usageAddress(path string, q report.Query) string {
	values := url.Values{"range": {string(q.Range)}}
	for name, value := range usageFields(q) {
		values.Set(name, value)
	}
	if q.Range == report.Custom {
		values.Set("from", q.From.Format(time.DateOnly))
		values.Set("to", q.To.AddDate(0, 0, -1).Format(time.DateOnly))
	}
	return path + "?" + values.Encode()
}

// usageFields are the parts of an address beside its time.
func usageFields(q report.Query) map[string]string {
	fields := map[string]string{"by": string(q.By), "stack": string(q.Stack), "key": q.KeyID, "network": q.Network, "method": q.Method, "outcome": q.Outcome}
	maps.DeleteFunc(fields, func(_, value string) bool { return value == "" })
	return fields
}

// usageTitle says what a page is about that shows one key or one network.
func usageTitle(q report.Query, names map[string]string) string {
	switch {
	case q.KeyID != "":
		return "Usage of " + cmp.Or(names[q.KeyID], "a key without a name")
	case q.Network != "":
		return "Usage of " + q.Network
	}
	return "Usage"
}

// filtersOf are the filters that hold, each with the page without it.
func filtersOf(q report.Query, names map[string]string) (list []link) {
	for _, f := range []struct {
		name, shown string
		value       func(*report.Query) *string
	}{
		{"key", names[q.KeyID], func(q *report.Query) *string { return &q.KeyID }},
		{"network", q.Network, func(q *report.Query) *string { return &q.Network }},
		{"method", q.Method, func(q *report.Query) *string { return &q.Method }},
		{"outcome", q.Outcome, func(q *report.Query) *string { return &q.Outcome }},
	} {
		if *f.value(&q) == "" {
			continue
		}
		without := q
		*f.value(&without) = ""
		list = append(list, link{Name: f.name + ": " + f.shown, Path: usageAddress("/usage", without)})
	}
	return list
}

// otherKeys names usage that is counted without a key, because its account used too many
// different ones at once.
const otherKeys = "other keys"

// usageRows are the groups, each with the page that is narrowed to it.
func usageRows(r *report.Result, names map[string]string) (rows []usageRow) {
	for _, g := range r.Groups {
		row := usageRow{Group: g, Shown: g.Name}
		q := r.Query
		switch {
		case g.Rest:
			row.Shown = "all others"
		case q.By == nodegate.ByKey && g.Name == "":
			row.Shown = otherKeys
		case q.By == nodegate.ByKey:
			q.KeyID, q.By, row.Shown = g.Name, nodegate.ByMethod, names[g.Name]
		case q.By == nodegate.ByNetwork:
			q.Network, q.By = g.Name, nodegate.ByMethod
		case q.By == nodegate.ByMethod:
			q.Method, q.By = g.Name, nodegate.ByOutcome
		default:
			q.Outcome, q.By = g.Name, nodegate.ByMethod
		}
		if !g.Rest && g.Name != "" {
			row.Path = usageAddress("/usage", q)
		}
		rows = append(rows, row)
	}
	return rows
}

// stacks are the series of the two plots that can be stacked.
type stacks struct{ requests, credits []chart.Series }

// stacksOf divides the plots by the dimension of the query; none is by outcome.
func stacksOf(r *report.Result, names map[string]string) (s stacks) {
	for _, part := range r.Stacks {
		name := part.Name
		switch {
		case part.Rest:
			name = "all others"
		case r.Query.Stack == nodegate.ByKey && part.Name == "":
			name = otherKeys
		case r.Query.Stack == nodegate.ByKey:
			name = cmp.Or(names[part.Name], "no name")
		}
		s.requests = append(s.requests, chart.Series{Name: name, Values: floats(part.Requests)})
		s.credits = append(s.credits, chart.Series{Name: name, Values: floats(part.Credits)})
	}
	return s
}

func floats(list []int64) []float64 {
	values := make([]float64, len(list))
	for i, n := range list {
		values[i] = float64(n)
	}
	return values
}

// usagePlots draws requests, latency and credits.
func usagePlots(r *report.Result, by stacks, narrow bool) []plot {
	values := func(of func(*report.Sums) float64) []float64 {
		list := make([]float64, len(r.Series))
		for i := range r.Series {
			list[i] = of(&r.Series[i].Sums)
		}
		return list
	}
	times := func(of func(*report.Sums) time.Duration) []float64 {
		return values(func(s *report.Sums) float64 {
			took := of(s)
			if took == 0 {
				return math.NaN() // a gap, not no time at all
			}
			return float64(took) / float64(time.Millisecond)
		})
	}
	if r.Query.Stack == nodegate.NoDimension {
		by.requests = []chart.Series{
			{Name: "ok", Values: values(func(s *report.Sums) float64 { return float64(answered(s.Requests, s.Errors)) })},
			{Name: "failed", Class: "bad", Values: values(func(s *report.Sums) float64 { return float64(s.Errors) })},
		}
		by.credits = []chart.Series{{Name: "credits", Values: values(func(s *report.Sums) float64 { return float64(s.Credits) })}}
	}
	by.credits = append(by.credits, projected(r, time.Now())...)
	return []plot{
		drawn(r, chart.Plot{Narrow: narrow, ID: "requests", Title: "Requests", Kind: chart.Bars, Unit: chart.Count, Series: by.requests}),
		drawn(r, chart.Plot{Narrow: narrow, ID: "latency", Title: "Latency", Kind: chart.Lines, Unit: chart.Milliseconds, Series: []chart.Series{
			{Name: "p50", Values: times(func(s *report.Sums) time.Duration { return s.P50 })},
			{Name: "p95", Values: times(func(s *report.Sums) time.Duration { return s.P95 })},
			{Name: "p99", Values: times(func(s *report.Sums) time.Duration { return s.P99 })},
		}}),
		drawn(r, chart.Plot{Narrow: narrow, ID: "credits", Title: "Credits", Kind: chart.Bars, Unit: chart.Count, Limit: dayLimit(r), Series: by.credits}),
	}
}

// drawn is a plot over the time of a report.
func drawn(r *report.Result, c chart.Plot) plot {
	c.Begin, c.Step = r.Begin, r.Step
	p := plot{Title: c.Title, Drawing: c.SVG()}
	for i, s := range c.Series {
		p.Legend = append(p.Legend, legend{Name: s.Name, Class: fmt.Sprintf("key-s%d %s", i, s.Class)})
	}
	return p
}

// usageCSV is the same figures as a file.
func usageCSV(v *visit) error {
	result, err := usageReport(v)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := report.WriteCSV(&b, result); err != nil {
		return err
	}
	v.w.Header().Set("Content-Disposition", `attachment; filename="usage.csv"`)
	v.send(200, "text/csv; charset=utf-8", b.Bytes())
	return nil
}
