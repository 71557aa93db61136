package report_test

import (
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// TestRunsOut: the rate of the last hour says when today's credits are used up, and nothing
// is said where they last until the reset, are used up already or have no limit.
func TestRunsOut(t *testing.T) {
	s := open(t)
	add(t, s, 1, []nodegate.Usage{row(30*time.Minute, "k", "eth_call", "ok", 100), row(3*time.Hour, "k", "eth_call", "ok", 100)}) // 8,000 credits each
	reports := report.New(report.Config{Store: s})
	for _, c := range []struct {
		limit int64
		want  string
	}{{0, ""}, {16_000, ""}, {24_000, "14:37"}, {32_000, "15:38"}, {1_000_000, ""}} {
		r, err := reports.Make(t.Context(), report.Query{AccountID: "a", Range: report.Day}, nodegate.Plan{CreditsPerDay: c.limit}, now)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if !r.RunsOut.IsZero() {
			got = r.RunsOut.Format("15:04")
		}
		if got != c.want {
			t.Errorf("with a limit of %d: %q, want %q", c.limit, got, c.want)
		}
	}
}
