package dashboard

import (
	"math"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/dashboard/chart"
)

// trafficData is the usage of all accounts together.
type trafficData struct {
	Ranges   []link
	Networks *report.Result // by network
	Outcomes []report.Group // of requests that failed
	Plots    []plot
	States   []NetworkState
}

func trafficPage(v *visit) error {
	span := report.Range(v.req.URL.Query().Get("range"))
	if span == "" {
		span = report.Day
	}
	d := trafficData{States: v.cfg.Operator.Networks(v.req.Context())}
	var err error
	if d.Networks, err = serviceUsage(v, span, nodegate.ByNetwork); err != nil {
		return err
	}
	outcomes, err := serviceUsage(v, span, nodegate.ByOutcome)
	if err != nil {
		return err
	}
	for _, g := range outcomes.Groups {
		if g.Rest || nodegate.Failed(g.Name) {
			d.Outcomes = append(d.Outcomes, g)
		}
	}
	for _, r := range report.Ranges() {
		d.Ranges = append(d.Ranges, link{Name: string(r), Path: "/operator/traffic?range=" + string(r), Here: r == span})
	}
	d.Plots = trafficPlots(d.Networks)
	return v.show("operator-traffic", d)
}

// serviceUsage is a report over all accounts. Only operators get here.
func serviceUsage(v *visit, span report.Range, by report.Dimension) (*report.Result, error) {
	reports, err := reportsOf(v)
	if err != nil {
		return nil, err
	}
	return reports.Make(v.req.Context(), report.Query{AccountID: "*", Range: span, By: by}, nodegate.Plan{}, time.Now())
}

func trafficPlots(r *report.Result) []plot {
	requests := chart.Plot{ID: "requests", Title: "Requests", Kind: chart.Bars, Unit: chart.Count, Series: []chart.Series{{Name: "ok"}, {Name: "failed", Class: "bad"}}}
	latency := chart.Plot{ID: "latency", Title: "Latency", Kind: chart.Lines, Unit: chart.Milliseconds, Series: []chart.Series{{Name: "p50"}, {Name: "p95"}, {Name: "p99"}}}
	for i := range r.Series {
		s := &r.Series[i].Sums
		for at, value := range []int64{answered(s.Requests, s.Errors), s.Errors} {
			requests.Series[at].Values = append(requests.Series[at].Values, float64(value))
		}
		for at, took := range []time.Duration{s.P50, s.P95, s.P99} {
			value := float64(took) / float64(time.Millisecond)
			if took == 0 {
				value = math.NaN() // a gap, not no time at all
			}
			latency.Series[at].Values = append(latency.Series[at].Values, value)
		}
	}
	return []plot{drawn(r, requests), drawn(r, latency)}
}

// health is the state of the service in short, for the operator's Overview.
type health struct {
	Networks, Up int // of networks
	Nodes, Used  int // of remote nodes
	Problems     []string
}

// healthOf is nil for whoever is no operator.
func healthOf(v *visit) *health {
	if !v.account.Operator {
		return nil
	}
	return healthIn(v.cfg.Operator.Networks(v.req.Context()))
}

func healthIn(states []NetworkState) *health {
	h := &health{}
	for _, n := range states {
		h.Networks++
		if n.Problem == "" {
			h.Up++
		} else {
			h.Problems = append(h.Problems, n.Name+": "+n.Problem)
		}
		for _, node := range n.Nodes {
			h.Nodes++
			switch {
			case node.Healthy:
				h.Used++
			case !node.Cordoned:
				h.Problems = append(h.Problems, n.Name+", node "+node.Name+": "+node.Why)
			}
		}
	}
	return h
}
