package sqlstore

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/test/full"
)

// model is usage as a map: what the tables must say.
type model map[nodegate.UsageKey]map[int64]nodegate.Usage

func (m model) add(u nodegate.Usage, by nodegate.Resolution) {
	at := by.Start(u.At)
	if m[u.UsageKey] == nil {
		m[u.UsageKey] = map[int64]nodegate.Usage{}
	}
	sum := m[u.UsageKey][at.Unix()]
	sum.UsageKey, sum.At = u.UsageKey, at
	addTo(&sum, &u)
	m[u.UsageKey][at.Unix()] = sum
}

// Whatever batches come in whatever order and how often, each counts once in every
// resolution.
func TestUsageAgainstModel(t *testing.T) {
	full.Slow(t)
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			run := 0
			rapid.Check(t, func(rt *rapid.T) {
				run++
				checkUsage(rt, s, fmt.Sprint("run ", run))
			})
		})
	}
}

var epoch = time.Date(2026, 3, 14, 22, 0, 0, 0, time.UTC)

// drawBatches draws batches of one account, enough rows for every statement size.
func drawBatches(rt *rapid.T, account string) []*nodegate.UsageBatch {
	row := rapid.Custom(func(rt *rapid.T) nodegate.Usage {
		u := nodegate.Usage{
			UsageKey: nodegate.UsageKey{AccountID: account, KeyID: rapid.SampledFrom([]string{"k1", "k2"}).Draw(rt, "key"), Network: "devnet",
				Method: fmt.Sprint("m", rapid.IntRange(0, 60).Draw(rt, "method")), Outcome: rapid.SampledFrom([]string{"ok", "timeout"}).Draw(rt, "outcome")},
			At:       epoch.Add(time.Duration(rapid.IntRange(0, 200).Draw(rt, "minute")) * time.Minute),
			Requests: rapid.Int64Range(1, 9).Draw(rt, "requests"), Credits: rapid.Int64Range(0, 1<<40).Draw(rt, "credits"),
		}
		u.Latency[rapid.IntRange(0, nodegate.HistogramSize-1).Draw(rt, "bucket")] = u.Requests
		return u
	})
	batches := make([]*nodegate.UsageBatch, rapid.IntRange(1, 4).Draw(rt, "batches"))
	for i := range batches {
		batches[i] = &nodegate.UsageBatch{Server: account, Number: int64(i), Rows: rapid.SliceOfN(row, 0, 130).Draw(rt, "rows")}
	}
	return batches
}

func checkUsage(rt *rapid.T, s *Store, account string) {
	batches := drawBatches(rt, account)
	models := []model{{}, {}, {}}
	for _, b := range batches {
		for by, m := range models {
			for _, u := range b.Rows {
				m.add(u, nodegate.Resolution(by))
			}
		}
	}
	order := rapid.Permutation(append(batches, batches...)).Draw(rt, "order")
	for _, b := range order {
		if err := s.AddUsage(rt.Context(), b); err != nil {
			rt.Fatal(err)
		}
	}
	for by, m := range models {
		rows, err := s.Usage(rt.Context(), nodegate.UsageQuery{AccountID: account, From: epoch.AddDate(0, 0, -1), To: epoch.AddDate(0, 0, 2), By: nodegate.Resolution(by)})
		if err != nil {
			rt.Fatal(err)
		}
		want := 0
		for _, spans := range m {
			want += len(spans)
		}
		if len(rows) != want {
			rt.Fatalf("resolution %d: %d rows, want %d", by, len(rows), want)
		}
		for i, u := range rows {
			if u != m[u.UsageKey][u.At.Unix()] {
				rt.Fatalf("resolution %d: %+v, want %+v", by, u, m[u.UsageKey][u.At.Unix()])
			}
			if i > 0 && u.At.Before(rows[i-1].At) {
				rt.Fatalf("resolution %d: row %d is older than the one before", by, i)
			}
		}
	}
}

// fill adds rows of many accounts over thirty days.
func fill(t testing.TB, s *Store, accounts, perDay int) {
	t.Helper()
	number := int64(0)
	for day := range 30 {
		for account := range accounts {
			number++
			if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Server: "fill", Number: number, Rows: someRows(fmt.Sprint("account", account), epoch.AddDate(0, 0, day), perDay)}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// someRows are n rows of one account within a day, ten methods in each span.
func someRows(account string, day time.Time, n int) []nodegate.Usage {
	rows := make([]nodegate.Usage, n)
	for i := range rows {
		rows[i] = nodegate.Usage{UsageKey: nodegate.UsageKey{AccountID: account, KeyID: "key", Network: "devnet", Method: fmt.Sprint("eth_method", i%10), Outcome: "ok"},
			At: day.Add(time.Duration(i/10) * time.Minute), Requests: 1, Credits: 80}
		rows[i].Latency[5] = 1
	}
	return rows
}

// The memory of one answer is bounded.
func TestTooMuchUsage(t *testing.T) {
	s := databases()["sqlite"](t)
	s.maxRows = 2 * purgePart
	if err := s.AddUsage(t.Context(), &nodegate.UsageBatch{Rows: someRows("a", epoch, s.maxRows+1)}); err != nil {
		t.Fatal(err)
	}
	q := nodegate.UsageQuery{AccountID: "a", From: epoch, To: epoch.AddDate(1, 0, 0)}
	if _, err := s.Usage(t.Context(), q); !errors.Is(err, nodegate.InvalidInput) {
		t.Errorf("%v, want InvalidInput", err)
	}
	q.By = nodegate.ByDay
	if _, err := s.Usage(t.Context(), q); err != nil {
		t.Error(err)
	}
	// Purging them takes several parts.
	if n, err := s.PurgeUsage(t.Context(), epoch.AddDate(2, 0, 0)); err != nil || n < int64(s.maxRows+1) {
		t.Errorf("purged %d, %v", n, err)
	}
}

func BenchmarkAddUsage(b *testing.B) {
	for name, open := range databases() {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			number := int64(0)
			for b.Loop() {
				number++
				if err := s.AddUsage(b.Context(), &nodegate.UsageBatch{Server: "bench", Number: number, Rows: someRows("a", epoch.AddDate(0, 0, int(number)), 10_000)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkUsage asks for a month of one account among a million rows.
func BenchmarkUsage(b *testing.B) {
	for name, open := range databases() {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			fill(b, s, 100, 340)
			for b.Loop() {
				rows, err := s.Usage(b.Context(), nodegate.UsageQuery{AccountID: "account7", From: epoch, To: epoch.AddDate(0, 1, 0)})
				if err != nil || len(rows) != 30*340 {
					b.Fatal(len(rows), err)
				}
			}
		})
	}
}

func BenchmarkSave(b *testing.B) {
	for name, open := range databases() {
		b.Run(name, func(b *testing.B) {
			s := open(b)
			n := 0
			for b.Loop() {
				n++
				if err := saveOne(s, fmt.Sprint("a", n)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Usage by key has each key's latencies, whichever spans others have: the query leaves out
// the empty ones.
func TestLatenciesByKey(t *testing.T) {
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			s := open(t)
			want, batch := map[string]nodegate.Histogram{}, &nodegate.UsageBatch{Server: "test"}
			for i := range 3 * nodegate.HistogramSize {
				u := someRows("a", epoch.AddDate(0, 0, -i%8), 1)[0]
				u.KeyID, u.Outcome = fmt.Sprint("k", i%3), []string{"ok", "timeout"}[i%2]
				u.Latency = nodegate.Histogram{}
				if span := i % nodegate.HistogramSize; span%4 != 1 { // some stay empty
					u.Latency[span] = int64(i + 1)
				}
				batch.Rows = append(batch.Rows, u)
				if sum := want[u.KeyID]; nodegate.Failed(u.Outcome) {
					for at, n := range u.Latency {
						sum[at] += n
					}
					want[u.KeyID] = sum
				}
			}
			if err := s.AddUsage(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			list, err := s.SumUsage(t.Context(), nodegate.UsageSums{
				AccountID: "a", Outcome: "timeout", From: nodegate.ByDay.Start(epoch).AddDate(0, 0, -10), To: epoch.AddDate(0, 0, 1), Resolution: nodegate.ByDay, By: nodegate.ByKey,
			})
			if err != nil || len(list) != len(want) {
				t.Fatalf("%d keys, %v", len(list), err)
			}
			for i := range list {
				if list[i].Latency != want[list[i].Group] {
					t.Errorf("%s: %v, want %v", list[i].Group, list[i].Latency, want[list[i].Group])
				}
			}
		})
	}
}

// Usage by key of one kind of failure has many rows for each day and key, which stand together
// in the table: SQLite adds them up as it reads, without sorting them first.
func TestUsageByKeyStreams(t *testing.T) {
	s := databases()["sqlite"](t)
	q := nodegate.UsageSums{AccountID: "a", Outcome: "timeout", From: epoch.AddDate(0, 0, -30), To: epoch, Resolution: nodegate.ByDay, By: nodegate.ByKey}
	query, args, err := s.sumQuery(&q, everySpan())
	if err != nil {
		t.Fatal(err)
	}
	_, inner, found := strings.Cut(query, "FROM (")
	inner, _, whole := strings.Cut(inner, ") GROUP BY")
	if !found || !whole {
		t.Fatalf("the rows are sorted: %s", query)
	}
	rows, err := s.reader.Query("EXPLAIN QUERY PLAN "+inner, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var line string
		if err := rows.Scan(&a, &b, &c, &line); err != nil || strings.Contains(line, "TEMP B-TREE") {
			t.Errorf("%s, %v", line, err)
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
}
