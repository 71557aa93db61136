package sqlstore

import (
	"fmt"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
	"github.com/nodegate/nodegate/test/full"
)

// millionNow is the last moment of the month that fillMillion fills.
var millionNow = time.Date(2026, 11, 15, 13, 37, 20, 0, time.UTC)

// fillMillion fills a month of one account with a hundred keys, each with fourteen
// rows in every hour and day: a million in the table of hours. In a minute each key
// has about six. They are there for the last eight hours, which is more than a page shows.
func fillMillion(t testing.TB, s *Store) {
	t.Helper()
	var statements []string
	if s.dialect.name == "postgres" {
		statements = append(statements, "SET statement_timeout = 0")
	}
	columns := usageKey + ", " + strings.Join(counters(), ", ")
	for _, fill := range []struct {
		by    nodegate.Resolution
		spans int
	}{{nodegate.ByMinute, 8 * 60}, {nodegate.ByHour, 30 * 24}, {nodegate.ByDay, 31}} {
		statements = append(statements, fmt.Sprintf("INSERT INTO %s (%s) %s", usageTable(fill.by), columns, fillQuery(fill.by, fill.spans)))
	}
	statements = append(statements, sumStatements(t, s)...)
	if s.dialect.name == "postgres" {
		statements = append(statements, "VACUUM ANALYZE", "RESET statement_timeout")
	}
	conn, err := s.writer.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, statement := range statements {
		if _, err := conn.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
}

// sumStatements are those of the migration that make the sums of the rows, with the columns
// that came after it.
func sumStatements(t testing.TB, s *Store) (list []string) {
	t.Helper()
	texts, err := s.dialect.migrations()
	if err != nil {
		t.Fatal(err)
	}
	for _, statement := range strings.Split(texts[4], ";") {
		if strings.HasPrefix(strings.TrimSpace(statement), "INSERT INTO") {
			list = append(list, withLowerHalves(statement))
		}
	}
	return list
}

// withLowerHalves adds the columns of a later migration to a statement that sums rows up.
func withLowerHalves(statement string) string {
	into, sums := usageKey+", requests, credits, bytes_in, bytes_out", ""
	for _, half := range []string{"h", "g"} {
		for i := range nodegate.HistogramSize / 2 {
			into += fmt.Sprintf(", %s%02d", half, i)
			if half == "g" {
				sums += fmt.Sprintf(", SUM(g%02d)", i)
			}
		}
	}
	statement = strings.Replace(statement, " SELECT ", " ("+into+") SELECT ", 1)
	at := strings.LastIndex(statement, "FROM ")
	return statement[:at] + sums + " " + statement[at:]
}

// TestSumsOfOldUsage: what was recorded before there were sums has the same ones as
// what is recorded now.
func TestSumsOfOldUsage(t *testing.T) {
	full.Slow(t)
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			var rows []nodegate.Usage
			for i := range 200 {
				u := someRows("a", epoch, 1)[0]
				u.KeyID, u.Method, u.Outcome = fmt.Sprint("k", i%3), fmt.Sprint("m", i%5), []string{"ok", "timeout", "reverted"}[i%7%3]
				u.At, u.Requests = epoch.Add(time.Duration(i%90)*time.Minute), int64(i)
				rows = append(rows, u)
			}
			if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "test", Rows: rows}); err != nil {
				t.Fatal(err)
			}
			before := allSums(t, s)
			for _, statement := range sumStatements(t, s) {
				table := strings.Fields(statement)[2]
				for _, do := range []string{"DELETE FROM " + table, statement} {
					if _, err := s.writer.Exec(do); err != nil {
						t.Fatal(err)
					}
				}
			}
			if after := allSums(t, s); !reflect.DeepEqual(before, after) || len(before) < 20 {
				t.Errorf("got %+v, want %+v", after, before)
			}
		})
	}
}

// allSums are those of every table.
func allSums(t *testing.T, s *Store) (all []nodegate.UsageSum) {
	t.Helper()
	for _, r := range []nodegate.Resolution{nodegate.ByMinute, nodegate.ByHour, nodegate.ByDay} {
		for _, by := range []nodegate.Dimension{nodegate.ByKey, nodegate.ByNetwork, nodegate.ByMethod, nodegate.ByOutcome} {
			list, err := s.SumUsage(t.Context(), nodegate.UsageSums{AccountID: "a", From: epoch.AddDate(0, 0, -1), To: epoch.AddDate(0, 0, 1), Resolution: r, By: by})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, list...)
		}
	}
	return all
}

// fillQuery makes the rows in the database: a loop here would take minutes.
func fillQuery(by nodegate.Resolution, spans int) string {
	last := by.Start(millionNow).UnixMicro()
	numbers := func(name string, n int) string {
		return fmt.Sprintf("%s(%s) AS (SELECT 0 UNION ALL SELECT %s + 1 FROM %s WHERE %s < %d)", name, name[:1], name[:1], name, name[:1], n-1)
	}
	which := "true"
	if by == nodegate.ByMinute {
		which = "c < 5 OR (s + c) % 9 = 0"
	}
	histogram := make([]string, nodegate.HistogramSize)
	for i := range histogram {
		histogram[i] = "0"
		if i >= 3 && i < 8 {
			histogram[i] = fmt.Sprintf("(k + c + %d) %% 9", i)
		}
	}
	return fmt.Sprintf(`WITH RECURSIVE %s, %s, %s
		SELECT '%s', %d - CAST(s AS BIGINT) * %d, 'KEY' || (1000000000 + k) || 'BP5ZKPDGTCGZA',
			CASE WHEN c %% 7 = 6 THEN 'rollup' ELSE 'mainnet' END, 'eth_getTransaction' || (c %% 10), CASE WHEN c < 10 THEN 'ok' ELSE 'reverted' END,
			k + c + 1, 80 * (k + c + 1), 300, 9000, %s
		FROM spans, keys, combinations WHERE %s`,
		numbers("spans", spans), numbers("keys", 100), numbers("combinations", 14), millionAccount, last, by.Length().Microseconds(), strings.Join(histogram, ", "), which)
}

const (
	millionAccount = "YR3AYN7QPGXNBP5ZKPDGTCGZAC"
	millionKey     = "KEY1000000050BP5ZKPDGTCGZA" // one of a hundred
)

func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // zero where it fails, and so is the figure
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkReport makes the reports of usage pages over a million rows of one account:
// every range, grouped by each dimension, with and without filters.
func BenchmarkReport(b *testing.B) {
	for name, open := range databases() {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			fillMillion(b, s)
			reports := report.New(report.Config{Store: s})
			for _, within := range report.Ranges() {
				for _, q := range []report.Query{
					{}, {By: nodegate.ByNetwork}, {By: nodegate.ByMethod}, {By: nodegate.ByOutcome}, {By: nodegate.ByKey},
					{By: nodegate.ByKey, Network: "mainnet"}, {By: nodegate.ByKey, Method: "eth_getTransaction4"}, {By: nodegate.ByKey, Outcome: "ok"}, {By: nodegate.ByKey, Outcome: "reverted"},
					{By: nodegate.ByMethod, KeyID: millionKey}, {By: nodegate.ByOutcome, KeyID: millionKey, Network: "mainnet"},
				} {
					q.AccountID, q.Range = millionAccount, within
					b.Run(fmt.Sprintf("%s/by=%s,key=%.3s,network=%s,method=%s,outcome=%s", q.Range, q.By, q.KeyID, q.Network, q.Method, q.Outcome), func(b *testing.B) {
						before := processorTime()
						for b.Loop() {
							if r, err := reports.Make(b.Context(), q, nodegate.Plan{}, millionNow); err != nil || r.Total.Requests == 0 {
								b.Fatal(r, err)
							}
						}
						// What this process computed: on a busy machine it says more than the clock.
						b.ReportMetric((processorTime()-before).Seconds()*1000/float64(b.N), "cpu-ms/op")
					})
				}
			}
		})
	}
}
