package dashboard

import (
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/dashboard/chart"
	"github.com/nodegate/nodegate/internal/dashboard/snippet"
)

func overviewRoutes() []route {
	return []route{
		{pattern: "GET /{$}", who: members, serve: overviewPage},
		{pattern: "GET /first-request", who: members, serve: firstRequest},
		{pattern: "GET /status", who: everybody, serve: statusPage},
	}
}

// overviewData is the first page: what to do next, and how things are.
type overviewData struct {
	Networks []networkRow
	Status   bool // there is a public status page
	HasCard  bool
	Ranges   []link
	Users    []keyCredits
	Start    *startData // nil once there was a request
	Today    *report.Result
	Plot     plot
	Failures []failure
	Health   *health // nil for members

	// Sparklines of the figures above the plot.
	Requests, Answered, Latency template.HTML
	MoreRequests                template.HTML // than the day before; "" where nothing is known
}

// startData is the checklist of a new account.
type startData struct {
	KeyID, KeyName string // "" before there is a key
	Choices        []navItem
	Curl           string
	Secret         bool // the command reads SECRET
	Files          bool
}

func overviewPage(v *visit) error {
	data := &overviewData{Networks: networkRows(v), Status: v.cfg.Status != nil, HasCard: v.account.Card.Valid(time.Now()), Health: healthOf(v)}
	day := report.Query{AccountID: v.account.ID, Range: report.Day, By: nodegate.ByOutcome, Compare: true}
	reports, err := reportsOf(v)
	if err != nil {
		return err
	}
	if data.Today, err = reports.Make(v.req.Context(), day, v.plan(), time.Now()); err != nil {
		return err
	}
	if data.Users, err = keysByCredits(v); err != nil {
		return err
	}
	for _, span := range report.Ranges() {
		data.Ranges = append(data.Ranges, link{Name: string(span), Path: usageAddress("/usage", report.Query{Range: span, By: nodegate.ByMethod}), Here: span == report.Day})
	}
	if c := data.Today.Compared; c != nil {
		data.MoreRequests = change(c.Now.Requests, c.Then.Requests)
	}
	data.Plot = usagePlots(data.Today, stacks{}, false)[0]
	data.Failures = failuresOf(data.Today.Groups)
	data.sparks()
	used, err := hasRequests(v, data.Today)
	if err == nil && !used {
		data.Start, err = startOf(v)
	}
	if err != nil {
		return err
	}
	return v.show("overview", data)
}

// sparks draws the day behind the figures.
func (d *overviewData) sparks() {
	var requests, rates, latency []float64
	for i := range d.Today.Series {
		sums := &d.Today.Series[i].Sums
		requests = append(requests, float64(sums.Requests))
		latency = append(latency, float64(sums.P50)/float64(time.Millisecond))
		rate := 100.0 // an hour without requests has no failures
		if sums.Requests > 0 {
			rate = 100 * float64(answered(sums.Requests, sums.Errors)) / float64(sums.Requests)
		}
		rates = append(rates, rate)
	}
	d.Requests, d.Latency = chart.Spark(requests, 0, ""), chart.Spark(latency, 0, "neutral")
	d.Answered = chart.Spark(rates, 0, "")
}

// usageOf is the account's report of a range.
func usageOf(v *visit, span report.Range, by report.Dimension) (*report.Result, error) {
	reports, err := reportsOf(v)
	if err != nil {
		return nil, err
	}
	return reports.Make(v.req.Context(), report.Query{AccountID: v.account.ID, Range: span, By: by}, v.plan(), time.Now())
}

// failure is one reason why requests failed.
type failure struct {
	Name, Tone, Path string // no path for those together that are not listed
	Requests         int64
}

// mostFailures is how many reasons the Overview lists. The others are one line.
const mostFailures = 5

// failuresOf are the reasons, the most frequent first; they add up to what failed.
func failuresOf(groups []report.Group) (list []failure) {
	rest := failure{Name: "all others", Tone: "bad"}
	for _, g := range groups {
		switch {
		case g.Rest:
			rest.Requests += g.Errors
		case !nodegate.Failed(g.Name):
		case len(list) == mostFailures:
			rest.Requests += g.Requests
		default:
			q := report.Query{Range: report.Day, By: nodegate.ByMethod, Outcome: g.Name}
			list = append(list, failure{Name: g.Name, Tone: tone(g.Name), Path: usageAddress("/usage", q), Requests: g.Requests})
		}
	}
	if rest.Requests > 0 {
		list = append(list, rest)
	}
	return list
}

// hasRequests tells whether the account has ever sent a request, as far as the store
// remembers. The request log knows of it at once, the store after the next flush.
func hasRequests(v *visit, today *report.Result) (bool, error) {
	if len(v.cfg.RequestLog.Counts(v.account.ID)) > 0 || today != nil && today.Total.Requests > 0 {
		return true, nil
	}
	month, err := usageOf(v, "30d", nodegate.NoDimension)
	return err == nil && month.Total.Requests > 0, err
}

// startOf fills the checklist for the account's latest key.
func startOf(v *visit) (*startData, error) {
	d := &startData{Files: v.cfg.Files != nil}
	keys, err := v.listKeys(nodegate.KeyQuery{Live: true, Limit: 1})
	networks := v.cfg.Networks()
	if err != nil || len(keys) == 0 || len(networks) == 0 {
		return d, err
	}
	k := keys[0]
	d.KeyID, d.KeyName, d.Secret = k.ID, k.Name, k.Settings.SecretRequired
	value, err := v.cfg.Accounts.Reveal(v.req.Context(), v.account.ID, k.ID)
	if err != nil {
		return nil, err
	}
	at := max(0, slices.IndexFunc(networks, func(n Network) bool { return n.Name == v.req.URL.Query().Get("network") }))
	for i, n := range networks {
		d.Choices = append(d.Choices, navItem{Path: "/?network=" + n.Name, Name: n.Name, Here: i == at})
	}
	base, _ := v.base()
	list, err := v.snippets.RPC(snippet.Endpoint{Network: networks[at].Name, HTTP: base + "/" + networks[at].Name + "/v3/" + value, Secret: d.Secret})
	if err != nil {
		return nil, err
	}
	d.Curl = list[0].Text // curl is the first
	return d, nil
}

// firstRequest tells a page that waits for it whether the first request has arrived.
func firstRequest(v *visit) error {
	arrived, err := hasRequests(v, nil)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]bool{"arrived": arrived})
	if err != nil {
		return err
	}
	v.send(http.StatusOK, "application/json", body)
	return nil
}
