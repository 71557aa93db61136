package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodegate/nodegate"
)

// plainSums adds rows up the plain way: one after the other, in Go.
func plainSums(rows []nodegate.Usage, q *nodegate.UsageSums) []nodegate.UsageSum {
	type place struct {
		at    time.Time
		group string
	}
	sums := map[place]*nodegate.UsageSum{}
	for _, u := range rows {
		if !passes(q.KeyID, u.KeyID) || !passes(q.Network, u.Network) || !passes(q.Method, u.Method) || !passes(q.Outcome, u.Outcome) {
			continue
		}
		at := q.From.UTC()
		if q.Step > 0 {
			at = at.Add(u.At.Sub(at) / q.Step * q.Step)
		}
		group := map[nodegate.Dimension]string{nodegate.ByKey: u.KeyID, nodegate.ByNetwork: u.Network, nodegate.ByMethod: u.Method, nodegate.ByOutcome: u.Outcome}[q.By]
		sum := sums[place{at, group}]
		if sum == nil {
			sum = &nodegate.UsageSum{At: at, Group: group}
			sums[place{at, group}] = sum
		}
		sum.AddRow(&u)
	}
	var list []nodegate.UsageSum
	for _, sum := range sums {
		list = append(list, *sum)
	}
	slices.SortFunc(list, func(a, b nodegate.UsageSum) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Group, b.Group)) })
	return list
}

func passes(filter, value string) bool { return filter == "" || filter == value }

// someUsage has two accounts with three keys each, over two days.
func someUsage(begin time.Time) []nodegate.Usage {
	var rows []nodegate.Usage
	for i := range 600 {
		u := usageRow([]string{"a", "b"}[i%2], fmt.Sprint("k", i%7%3), begin.Add(time.Duration(i*i%2880)*time.Minute), int64(i+1))
		u.Network = []string{"devnet", "rollup"}[i%5%2]
		u.Method = fmt.Sprint("eth_m", i%4)
		u.Outcome = []string{"ok", "timeout", "ok", "reverted"}[i%11%4]
		u.Latency = nodegate.Histogram{}
		u.Latency[i%nodegate.HistogramSize] = u.Requests
		u.BytesIn, u.BytesOut = int64(i), int64(3*i)
		rows = append(rows, u)
	}
	return rows
}

func drawSums(rt *rapid.T, begin time.Time) nodegate.UsageSums {
	pick := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(rt, name) }
	by := nodegate.Resolution(rapid.IntRange(0, 2).Draw(rt, "resolution"))
	q := nodegate.UsageSums{
		AccountID: pick("account", "a", "a", "*"), KeyID: pick("key", "", "", "k1", "k9"), Network: pick("network", "", "", "rollup"),
		Method: pick("method", "", "", "eth_m2"), Outcome: pick("outcome", "", "", "ok", "timeout"),
		Resolution: by, Step: time.Duration(rapid.IntRange(0, 4).Draw(rt, "step")) * by.Length(),
		By: nodegate.Dimension(pick("by", "", "key", "network", "method", "outcome")),
	}
	q.From = begin.Add(time.Duration(rapid.IntRange(-100, 3000).Draw(rt, "from")) * time.Minute)
	if rapid.Bool().Draw(rt, "whole") {
		q.From = by.Start(q.From)
	}
	q.To = q.From.Add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "length")) * time.Minute)
	return q
}

// usageSummed holds the sums against those that are made of the listed rows.
func usageSummed(t *testing.T, s Store) {
	begin := nodegate.ByDay.Start(noon())
	rows := someUsage(begin)
	for i := range 6 { // in parts, so that rows meet rows that are there
		add(t, s, int64(i), rows[i*100:(i+1)*100]...)
	}
	rapid.Check(t, func(rt *rapid.T) {
		q := drawSums(rt, begin)
		listed, err := s.Usage(rt.Context(), nodegate.UsageQuery{AccountID: q.AccountID, From: q.From, To: q.To, By: q.Resolution})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := s.SumUsage(rt.Context(), q)
		if err != nil {
			rt.Fatal(err)
		}
		if want := plainSums(listed, &q); !slices.Equal(got, want) {
			rt.Fatalf("%+v:\n got %+v\nwant %+v", q, got, want)
		}
	})
}

func othersNotSummed(t *testing.T, s Store) {
	begin := nodegate.ByDay.Start(noon())
	add(t, s, 1, usageRow("a", "ka", begin, 1), usageRow("b", "kb", begin, 2))
	q := nodegate.UsageSums{From: begin, To: begin.Add(time.Hour)}
	for _, c := range []struct {
		account, key string
		requests     int64
	}{{"a", "", 1}, {"a", "ka", 1}, {"a", "kb", 0}, {"", "", 0}, {"", "kb", 0}, {"*", "", 3}, {"*", "kb", 2}, {"' OR 1=1 --", "", 0}} {
		q.AccountID, q.KeyID = c.account, c.key
		sum := int64(0)
		for _, u := range must[[]nodegate.UsageSum](t)(s.SumUsage(t.Context(), q)) {
			sum += u.Requests
		}
		same(t, fmt.Sprintf("account %q, key %q", c.account, c.key), sum, c.requests)
	}
	q.By = "key_id, outcome"
	_, err := s.SumUsage(t.Context(), q)
	is(t, "a dimension that is none", err, nodegate.InvalidInput)
}

// oldSumsGo: what is kept as sums goes together with what it is the sum of.
func oldSumsGo(t *testing.T, s Store) {
	begin := nodegate.ByDay.Start(noon())
	add(t, s, 1, usageRow("a", "k", begin, 1))
	sums := func(by nodegate.Resolution) (n int) {
		for _, d := range []nodegate.Dimension{nodegate.NoDimension, nodegate.ByKey, nodegate.ByMethod} {
			n += len(must[[]nodegate.UsageSum](t)(s.SumUsage(t.Context(), nodegate.UsageSums{AccountID: "a", From: begin, To: begin.AddDate(0, 0, 1), Resolution: by, By: d})))
		}
		return n
	}
	for _, c := range []struct {
		age                  time.Duration
		minutes, hours, days int
	}{{48 * time.Hour, 3, 3, 3}, {49 * time.Hour, 0, 3, 3}, {91 * 24 * time.Hour, 0, 0, 3}} {
		must[int64](t)(s.PurgeUsage(t.Context(), begin.Add(c.age)))
		same(t, fmt.Sprint("after ", c.age), []int{sums(nodegate.ByMinute), sums(nodegate.ByHour), sums(nodegate.ByDay)}, []int{c.minutes, c.hours, c.days})
	}
}
