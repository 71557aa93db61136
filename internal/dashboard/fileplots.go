package dashboard

import (
	"slices"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/dashboard/chart"
)

// storageFigures fills in what an account uses of its plan, and draws what it kept and moved
// on each of the last days.
func storageFigures(v *visit, data *filesData) error {
	now := time.Now()
	first := nodegate.ByDay.Start(now).AddDate(0, 0, 1-len(data.Days))
	reports, err := reportsOf(v)
	if err != nil {
		return err
	}
	r, err := reports.Make(v.req.Context(), report.Query{
		AccountID: v.account.ID, Network: "storage", Range: report.Custom, From: first, To: first.AddDate(0, 0, len(data.Days)),
	}, v.plan(), now)
	if err != nil {
		return err
	}
	var in, out []float64
	for i := range r.Series {
		in, out = append(in, float64(r.Series[i].BytesIn)), append(out, float64(r.Series[i].BytesOut))
	}
	kept := chart.Plot{ID: "kept", Title: "Stored", Kind: chart.Bars, Unit: chart.Bytes, Series: []chart.Series{{Name: "stored", Values: floats(data.Days[:])}}}
	moved := chart.Plot{ID: "moved", Title: "Transfer", Kind: chart.Bars, Unit: chart.Bytes, Series: []chart.Series{{Name: "uploaded", Values: in}, {Name: "downloaded", Values: out}}}
	data.Standing, data.Plots = r.Standing, []plot{drawn(r, kept), drawn(r, moved)}
	if r.Total.BytesIn+r.Total.BytesOut == 0 {
		data.Plots[1].Empty = "No transfer in these days"
	}
	if slices.Max(data.Days[:]) == 0 {
		data.Plots[0].Empty = "Nothing was stored in these days"
	}
	return nil
}
