package dashboard

import (
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

func overviewRoutes() []route {
	return []route{{pattern: "GET /{$}", who: members, serve: overviewPage}}
}

// overviewData is the first page: what to do next, and how things are.
type overviewData struct {
	Networks []Network
	Keys     int64 // that are live
	HasCard  bool
	Used     bool // there was a request today
	Today    *report.Result
	Plot     plot
	Failed   int // of the latest requests of all keys
}

func overviewPage(v *visit) error {
	keys, err := v.cfg.Accounts.CountKeys(v.req.Context(), v.account.ID)
	if err != nil {
		return err
	}
	data := &overviewData{Networks: v.cfg.Networks(), Keys: keys.Live, HasCard: v.account.Card.Valid(time.Now())}
	q := report.Query{AccountID: v.account.ID, Range: "24h", By: nodegate.NoDimension}
	if data.Today, err = v.cfg.Reports.Make(v.req.Context(), q, v.plan(), time.Now()); err != nil {
		return err
	}
	data.Used = data.Today.Total.Requests > 0
	data.Plot = usagePlots(data.Today)[0]
	for _, c := range v.cfg.RequestLog.Counts(v.account.ID) {
		data.Failed += c.Failed
		data.Used = true
	}
	return v.show("overview", data)
}
