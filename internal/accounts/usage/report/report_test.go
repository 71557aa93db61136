package report_test

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/internal/store/sqlstore"
	"github.com/nodegate/nodegate/test/sqlitetest"
)

var now = time.Date(2026, 11, 15, 13, 37, 20, 0, time.UTC)

func open(t testing.TB) *sqlstore.Store {
	t.Helper()
	s, err := sqlstore.OpenSQLite(t.Context(), sqlitetest.New(t), []byte("key"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t testing.TB, s nodegate.UsageWriter, number int64, rows []nodegate.Usage, figures ...nodegate.Figures) {
	t.Helper()
	if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Number: number, Rows: rows, Figures: figures}); err != nil {
		t.Fatal(err)
	}
}

// row is one minute's usage some time ago.
func row(ago time.Duration, key, method, outcome string, n int64) nodegate.Usage {
	u := nodegate.Usage{
		UsageKey: nodegate.UsageKey{AccountID: "a", KeyID: key, Network: "devnet", Method: method, Outcome: outcome},
		At:       nodegate.ByMinute.Start(now.Add(-ago)), Requests: n, Credits: 80 * n, BytesIn: 100 * n, BytesOut: 1000 * n,
	}
	u.Latency[nodegate.Bucket(3*time.Millisecond)] = n
	return u
}

// month has usage all over the last 40 days, of account a and a little of b.
func month() []nodegate.Usage {
	var rows []nodegate.Usage
	for i := range 1500 {
		ago := time.Duration(i*i%(40*24*60)) * time.Minute
		if i%3 == 0 {
			ago = time.Duration(i%400) * time.Minute
		}
		rows = append(rows, row(ago, fmt.Sprint("k", i%23), fmt.Sprint("eth_m", i%9), []string{"ok", "ok", "timeout"}[i%3], int64(i%50+1)))
	}
	other := row(time.Minute, "kb", "eth_m1", "ok", 1_000_000)
	other.AccountID = "b"
	return append(rows, other)
}

func sumPoints(list []report.Point) (requests, errs, credits int64) {
	for _, p := range list {
		requests, errs, credits = requests+p.Requests, errs+p.Errors, credits+p.Credits
	}
	return requests, errs, credits
}

// TestAddsUp: whatever is asked for, the series, the groups and the totals agree with
// each other and with the rows.
func TestAddsUp(t *testing.T) {
	s := open(t)
	rows := month()
	add(t, s, 1, rows)
	reports := report.New(report.Config{Store: s})
	rapid.Check(t, func(rt *rapid.T) {
		pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, name) }
		q := report.Query{
			AccountID: "a", KeyID: pick("key", "", "", "k3"), Network: pick("network", "", "devnet", "none"), Method: pick("method", "", "", "eth_m4"),
			Outcome: pick("outcome", "", "", "ok", "timeout"), Range: rapid.SampledFrom(report.Ranges()).Draw(rt, "range"),
			By: nodegate.Dimension(pick("by", "", "network", "method", "key", "outcome")),
		}
		r, err := reports.Make(rt.Context(), q, nodegate.Plan{}, now)
		if err != nil {
			rt.Fatal(err)
		}
		var requests, failed, credits int64
		for _, u := range rows {
			if u.AccountID == "a" && !u.At.Before(r.Begin) && u.At.Before(r.End) && (q.KeyID == "" || q.KeyID == u.KeyID) && (q.Network == "" || q.Network == u.Network) &&
				(q.Method == "" || q.Method == u.Method) && (q.Outcome == "" || q.Outcome == u.Outcome) {
				requests, credits = requests+u.Requests, credits+u.Credits
				if u.Outcome != "ok" {
					failed += u.Requests
				}
			}
		}
		if r.Total.Requests != requests || r.Total.Errors != failed || r.Total.Credits != credits {
			rt.Fatalf("the total is %+v, want %d, %d, %d", r.Total, requests, failed, credits)
		}
		if a, b, c := sumPoints(r.Series); a != requests || b != failed || c != credits {
			rt.Fatalf("the series has %d, %d, %d, want %d, %d, %d", a, b, c, requests, failed, credits)
		}
		checkGroups(rt, r)
	})
}

func checkGroups(rt *rapid.T, r *report.Result) {
	sum := int64(0)
	for i, g := range r.Groups {
		sum += g.Requests
		if i > 0 && !g.Rest && g.Requests > r.Groups[i-1].Requests {
			rt.Fatalf("group %d is larger than the one before", i)
		}
		if g.Rest != (i == report.MaxGroups) {
			rt.Fatalf("group %d of %d: rest is %v", i, r.GroupCount, g.Rest)
		}
	}
	if r.Query.By != "" && sum != r.Total.Requests || len(r.Groups) > report.MaxGroups+1 {
		rt.Fatalf("%d groups have %d requests of %d", len(r.Groups), sum, r.Total.Requests)
	}
}

// TestSteps: the points are whole steps without gaps, they reach back at least as far
// as the range says, and the last one holds now.
func TestSteps(t *testing.T) {
	reports := report.New(report.Config{Store: open(t)})
	back := map[report.Range]time.Duration{"15m": 15 * time.Minute, "1h": time.Hour, "6h": 6 * time.Hour, "24h": 24 * time.Hour, "7d": 7 * 24 * time.Hour, "30d": 30 * 24 * time.Hour}
	for _, name := range report.Ranges() {
		for _, now := range []time.Time{now, now.Truncate(24 * time.Hour), now.Truncate(24 * time.Hour).Add(-time.Nanosecond), now.In(time.FixedZone("far", 19800))} {
			r, err := reports.Make(t.Context(), report.Query{AccountID: "a", Range: name}, nodegate.Plan{}, now)
			if err != nil {
				t.Fatal(err)
			}
			first, last := r.Series[0].At, r.Series[len(r.Series)-1].At
			if first != r.Begin || first.After(now.Add(-back[name])) || last.After(now) || !last.Add(r.Step).After(now) || last.Add(r.Step) != r.End {
				t.Errorf("%s at %v: from %v to %v by %v", name, now, first, last, r.Step)
			}
			for i, p := range r.Series {
				if p.At != first.Add(time.Duration(i)*r.Step) || p.Sums != (report.Sums{}) {
					t.Errorf("%s: point %d is %+v", name, i, p)
				}
			}
			if n := len(r.Series); n < 16 || n > 64 {
				t.Errorf("%s at %v has %d points", name, now, n)
			}
		}
	}
}

func TestFigures(t *testing.T) {
	s := open(t)
	add(t, s, 1, []nodegate.Usage{row(0, "k", "eth_call", "ok", 90), row(0, "k", "eth_call", "timeout", 10), row(26*time.Hour, "k", "eth_call", "ok", 1000)},
		nodegate.Figures{AccountID: "a", Month: now, Moved: 50, Stored: 300}, nodegate.Figures{AccountID: "a", Month: now.AddDate(0, -1, 0), Moved: 999})
	plan := nodegate.Plan{CreditsPerDay: 16_000, StoredBytes: 200, MovedBytes: 200}
	r, err := report.New(report.Config{Store: s}).Make(t.Context(), report.Query{AccountID: "a", Range: report.Hour, By: nodegate.ByOutcome}, plan, now)
	if err != nil {
		t.Fatal(err)
	}
	if want := (report.Sums{Requests: 100, Errors: 10, Credits: 8000, BytesIn: 10_000, BytesOut: 100_000, P50: r.Total.P50, P95: r.Total.P95, P99: r.Total.P99}); r.Total != want {
		t.Errorf("got %+v, want %+v", r.Total, want)
	}
	if p := r.Total; p.P50 < 2*time.Millisecond || p.P50 > p.P95 || p.P95 > p.P99 || p.P99 > 4100*time.Microsecond {
		t.Errorf("p50 %v, p95 %v, p99 %v, want within the span of 3 ms", p.P50, p.P95, p.P99)
	}
	if len(r.Groups) != 2 || r.Groups[0].Name != "ok" || r.Groups[0].Requests != 90 || r.Groups[1].Errors != 10 {
		t.Errorf("got %+v", r.Groups)
	}
	got := []float64{r.Standing.Credits.Percent(), r.Standing.Stored.Percent(), r.Standing.Moved.Percent()}
	if !reflect.DeepEqual(got, []float64{50, 150, 25}) || !r.Standing.ResetsAt.Equal(time.Date(2026, 11, 16, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("got %v, %+v", got, r.Standing)
	}
	newer := report.New(report.Config{Store: s, SpentToday: func(string) int64 { return 12_000 }})
	if st, err := newer.Standing(t.Context(), "a", nodegate.Plan{}, now); err != nil || st.Credits.Used != 12_000 || st.Credits.Limited() || st.Credits.Percent() != 0 {
		t.Errorf("got %+v, %v", st, err)
	}
}

func TestBadQueries(t *testing.T) {
	reports := report.New(report.Config{Store: open(t)})
	good := report.Query{AccountID: "a", Range: report.Hour}
	for name, change := range map[string]func(*report.Query){
		"no account":     func(q *report.Query) { q.AccountID = "" },
		"no range":       func(q *report.Query) { q.Range = "" },
		"another range":  func(q *report.Query) { q.Range = "1y" },
		"a wrong by":     func(q *report.Query) { q.By = "account" },
		"a long filter":  func(q *report.Query) { q.Method = strings.Repeat("m", 257) },
		"SQL as a group": func(q *report.Query) { q.By = "key_id; DROP TABLE usage_day" },
	} {
		q := good
		change(&q)
		if _, err := reports.Make(t.Context(), q, nodegate.Plan{}, now); !errors.Is(err, nodegate.InvalidInput) || nodegate.AsError(err).Msg == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCSV: the file has the figures of the page, and no name is a formula.
func TestCSV(t *testing.T) {
	s := open(t)
	names := []string{`=HYPERLINK("http://x")`, "+1", "-1", "@x", "a,\"b\"\r\nc", "eth_call", "\tx"}
	var rows []nodegate.Usage
	for i, name := range names {
		rows = append(rows, row(time.Minute, "k", name, "ok", int64(i+1)))
	}
	add(t, s, 1, rows)
	r, err := report.New(report.Config{Store: s}).Make(t.Context(), report.Query{AccountID: "a", Range: report.Minutes15, By: nodegate.ByMethod}, nodegate.Plan{}, now)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := report.WriteCSV(&b, r); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(b.String())).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 1+1+len(r.Series)+len(names) || lines[1][0] != "total" || lines[1][4] != "28" || lines[1][6] != "2240" {
		t.Errorf("%d lines, the second is %q", len(lines), lines[1])
	}
	kinds := map[string]int{}
	for _, line := range lines[1:] {
		kinds[line[0]]++
		for _, field := range line {
			if strings.ContainsAny(field[:min(1, len(field))], "=+-@\t\r") {
				t.Errorf("a spreadsheet takes %q for a formula", field)
			}
		}
	}
	if kinds["step"] != 16 || kinds["group"] != len(names) || !strings.HasPrefix(b.String(), "kind,begin,end,name,requests,") || strings.Count(b.String(), "\r\n") != len(lines)+1 {
		t.Errorf("got %v:\n%s", kinds, b.String())
	}
}
