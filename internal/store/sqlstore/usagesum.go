package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nodegate/nodegate"
)

// usagePart is one way in which usage is kept: every row, or sums of them, which
// are fewer by the number of keys or of methods.
type usagePart struct {
	table string // what follows the name of the resolution's table
	fold  func([]nodegate.Usage) []nodegate.Usage
}

// The tables beside those of every row.
const (
	withoutKeys    = "_all"  // key_id is ""
	withoutMethods = "_keys" // method is "", and an outcome that is not ok is failed
)

const failed = "failed"

func usageParts() []usagePart {
	return []usagePart{
		{"", func(rows []nodegate.Usage) []nodegate.Usage { return rows }},
		{withoutKeys, folded(func(k *nodegate.UsageKey) { k.KeyID = "" })},
		{withoutMethods, folded(func(k *nodegate.UsageKey) {
			k.Method = ""
			if nodegate.Failed(k.Outcome) {
				k.Outcome = failed
			}
		})},
	}
}

func folded(fold func(*nodegate.UsageKey)) func([]nodegate.Usage) []nodegate.Usage {
	return func(rows []nodegate.Usage) []nodegate.Usage {
		rows = slices.Clone(rows)
		for i := range rows {
			fold(&rows[i].UsageKey)
		}
		return rows
	}
}

// columnOf is where a dimension's values stand.
func columnOf(d nodegate.Dimension) (string, error) {
	switch d {
	case nodegate.NoDimension:
		return "''", nil
	case nodegate.ByKey:
		return "key_id", nil
	case nodegate.ByNetwork, nodegate.ByMethod, nodegate.ByOutcome:
		return string(d), nil
	}
	return "", &nodegate.Error{Op: "sqlstore.sumUsage", Code: nodegate.InvalidInput, Msg: "usage is grouped by key, network, method or outcome"}
}

// partOf is the table with the fewest rows that can answer.
func partOf(q *nodegate.UsageSums) string {
	if q.KeyID == "" && q.By != nodegate.ByKey {
		return withoutKeys
	}
	if q.Method != "" || q.Outcome != "" && nodegate.Failed(q.Outcome) || q.By == nodegate.ByMethod || q.By == nodegate.ByOutcome {
		return ""
	}
	return withoutMethods
}

// SumUsage adds usage up, by step and by one dimension.
func (s *usageRows) SumUsage(ctx context.Context, q nodegate.UsageSums) ([]nodegate.UsageSum, error) {
	parts := s.split(q)
	if len(parts) == 1 {
		return s.sumPart(ctx, q, everySpan())
	}
	used, err := s.usedSpans(ctx, q)
	if err != nil {
		return nil, err
	}
	lists, errs := make([][]nodegate.UsageSum, len(parts)), make([]error, len(parts))
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() { lists[i], errs[i] = s.sumPart(ctx, parts[i], used) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	list := merged(q.From, slices.Concat(lists...))
	if len(list) > s.maxRows {
		return nil, tooMuch("sqlstore.sumUsage")
	}
	return list, nil
}

// maxParts is how many parts of one query run at once: there is a connection for each.
const maxParts = sqliteReports

// split divides the time of a query by key, the one that reads much, where the database
// runs in this process: each part then has a connection and a core.
func (s *usageRows) split(q nodegate.UsageSums) []nodegate.UsageSums {
	first := q.Resolution.Start(q.From)
	spans := q.To.Sub(first) / q.Resolution.Length()
	if !s.dialect.inside || q.By != nodegate.ByKey || q.Step != 0 || q.KeyID != "" || spans < maxParts {
		return []nodegate.UsageSums{q}
	}
	var parts []nodegate.UsageSums
	part := q
	for i := range time.Duration(maxParts - 1) {
		part.To = first.Add((i + 1) * spans / maxParts * q.Resolution.Length())
		parts = append(parts, part)
		part.From = part.To
	}
	part.To = q.To
	return append(parts, part)
}

// merged adds the sums of each group up, in the order of groups.
func merged(at time.Time, list []nodegate.UsageSum) []nodegate.UsageSum {
	slices.SortStableFunc(list, func(a, b nodegate.UsageSum) int { return strings.Compare(a.Group, b.Group) })
	var sums []nodegate.UsageSum
	for i := range list {
		if last := len(sums) - 1; last >= 0 && sums[last].Group == list[i].Group {
			sums[last].Add(&list[i])
			continue
		}
		list[i].At = at.UTC()
		sums = append(sums, list[i])
	}
	return sums
}

// usedSpans are the spans of the histogram that a query by key finds requests in. Most are
// empty, and adding up their columns takes longer than reading the rows; which ones they are is
// quickly found in the sums over all keys.
func (s *usageRows) usedSpans(ctx context.Context, q nodegate.UsageSums) (used spans, err error) {
	q.By = nodegate.NoDimension
	list, err := s.sumPart(ctx, q, everySpan())
	for i := range list {
		for at, n := range list[i].Latency {
			used[at] = used[at] || n != 0
		}
	}
	return used, err
}

// spans tells which spans of the histogram are added up.
type spans [nodegate.HistogramSize]bool

// everySpan is for queries that read few rows.
func everySpan() (all spans) {
	for i := range all {
		all[i] = true
	}
	return all
}

func (s *usageRows) sumPart(ctx context.Context, q nodegate.UsageSums, used spans) ([]nodegate.UsageSum, error) {
	query, args, err := s.sumQuery(&q, used)
	if err != nil {
		return nil, err
	}
	var (
		list []nodegate.UsageSum
		step int64
		u    nodegate.UsageSum
	)
	into := []any{&step, &u.Group, &u.Errors, &u.Requests, &u.Credits, &u.BytesIn, &u.BytesOut}
	for i := range u.Latency {
		into = append(into, &u.Latency[i])
	}
	read := s.report
	if isLight(&q) {
		read = s.each
	}
	err = read(ctx, "sumUsage", "usage", query, args, func(row scan) error {
		err := row(into...)
		u.At = q.From.Add(time.Duration(step) * q.Step).UTC()
		list = append(list, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(list) > s.maxRows {
		return nil, tooMuch("sqlstore.sumUsage")
	}
	return list, nil
}

func (s *usageRows) sumQuery(q *nodegate.UsageSums, used spans) (query string, args []any, err error) {
	group, err := columnOf(q.By)
	if err != nil {
		return "", nil, err
	}
	step := "0"
	if q.Step > 0 {
		step = fmt.Sprintf("(at - %d) / %d", q.From.UnixMicro(), q.Step.Microseconds())
	}
	where, args := spansOf(q)
	for _, filter := range []struct{ column, value, all string }{
		{"account", q.AccountID, "*"}, {"key_id", q.KeyID, ""}, {"network", q.Network, ""}, {"method", q.Method, ""}, {"outcome", q.Outcome, ""},
	} {
		if filter.value != filter.all {
			args = append(args, cleaned(filter.value))
			where += fmt.Sprintf(" AND %s = $%d", filter.column, len(args))
		}
	}
	failures := "CASE outcome WHEN '" + nodegate.OutcomeOK + "' THEN 0 ELSE requests END" // nodegate.Failed
	from := usageTable(q.Resolution) + partOf(q) + " WHERE " + where
	if s.streams(q) {
		from, failures = streamed(from, failures, used), "errors"
	}
	return fmt.Sprintf("SELECT %s, %s, %s FROM %s GROUP BY 1, 2 ORDER BY 1, 2 LIMIT %d",
		step, group, strings.Join(added(failures, used), ", "), from, s.maxRows+1), args, nil
}

// added are the sums that a query returns.
func added(failures string, used spans) []string {
	sums := []string{"CAST(SUM(" + failures + ") AS BIGINT)"}
	names := counters()
	for i, name := range names {
		if span := i - (len(names) - len(used)); span >= 0 && !used[span] {
			sums = append(sums, "0")
			continue
		}
		sums = append(sums, "CAST(SUM("+name+") AS BIGINT)")
	}
	return sums
}

// streams tells whether the rows of each span and key are many, and stand together in the
// table's order.
func (s *usageRows) streams(q *nodegate.UsageSums) bool {
	return s.dialect.inside && q.By == nodegate.ByKey && q.Step == 0 && q.AccountID != "*" && q.KeyID+q.Method == "" && partOf(q) == ""
}

// streamed adds up the rows of each span and key first. They stand together, so SQLite does it
// while it reads; grouped by key at once, it would sort them all, and the sorting takes longer
// than the reading.
func streamed(from, failures string, used spans) string {
	sums := []string{"SUM(" + failures + ") AS errors"}
	names := counters()
	for i, name := range names {
		if span := i - (len(names) - len(used)); span < 0 || used[span] {
			sums = append(sums, "SUM("+name+") AS "+name)
		}
	}
	return "(SELECT key_id, " + strings.Join(sums, ", ") + " FROM " + from + " GROUP BY account, at, key_id)"
}

// maxSpans is how many spans a query names one by one.
const maxSpans = 1000

// spansOf selects the time. The rows of one key lie apart from each other, after
// the time in the tables' order, so that its spans are looked up one by one.
func spansOf(q *nodegate.UsageSums) (where string, args []any) {
	first, length := q.Resolution.Start(q.From), q.Resolution.Length()
	if first.Before(q.From) {
		first = first.Add(length)
	}
	if n := q.To.Sub(first) / length; q.KeyID == "" || n > maxSpans || n < 0 {
		return "at >= $1 AND at < $2", []any{q.From.UnixMicro(), q.To.UnixMicro()}
	}
	list := []string{}
	for at := first; at.Before(q.To); at = at.Add(length) {
		list = append(list, strconv.FormatInt(at.UnixMicro(), 10))
	}
	if len(list) == 0 {
		return "1 = 0", nil
	}
	return "at IN (" + strings.Join(list, ", ") + ")", nil
}
