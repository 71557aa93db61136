package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// maxUsageRows bounds the memory of one answer.
const maxUsageRows = 200_000

// usageKey are the columns of the tables' primary key, in its order.
const usageKey = "account, at, key_id, network, method, outcome"

// counters are the columns that add up. Of each doubling of the histogram, g has the lower
// half and h the upper one.
func counters() []string {
	names := []string{"requests", "credits", "bytes_in", "bytes_out"}
	for i := range nodegate.HistogramSize / 2 {
		names = append(names, fmt.Sprintf("g%02d", i), fmt.Sprintf("h%02d", i))
	}
	return names
}

func usageTable(r nodegate.Resolution) string {
	return [...]string{"usage_minute", "usage_hour", "usage_day"}[r]
}

// AddUsage adds a batch to all resolutions in one transaction, once.
func (s *usageRows) AddUsage(ctx context.Context, b *nodegate.UsageBatch) error {
	return s.write(ctx, "addUsage", "account", func(t *tx) error {
		n, err := t.exec("INSERT INTO usage_writers (server, number, at) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING", b.Server, b.Number, time.Now().UnixMicro())
		if err != nil || n == 0 {
			return err // without one, the batch was counted before
		}
		for _, part := range usageParts() {
			rows := part.fold(b.Rows)
			for _, r := range []nodegate.Resolution{nodegate.ByMinute, nodegate.ByHour, nodegate.ByDay} {
				if err := t.addRows(usageTable(r)+part.table, summed(rows, r), s.dialect.rows); err != nil {
					return err
				}
			}
		}
		return t.addFigures(b.Figures)
	})
}

// summed adds the rows of one span up, and puts them into the order of the primary
// key: two servers that add at once then take their locks in the same order.
func summed(rows []nodegate.Usage, by nodegate.Resolution) []*nodegate.Usage {
	type span struct {
		nodegate.UsageKey
		at int64
	}
	sums := make(map[span]*nodegate.Usage, len(rows))
	list := make([]*nodegate.Usage, 0, len(rows))
	for i := range rows {
		at := by.Start(rows[i].At)
		key := span{rows[i].UsageKey, at.UnixMicro()}
		sum := sums[key]
		if sum == nil {
			sum = &nodegate.Usage{UsageKey: rows[i].UsageKey, At: at}
			sums[key] = sum
			list = append(list, sum)
		}
		addTo(sum, &rows[i])
	}
	slices.SortFunc(list, func(a, b *nodegate.Usage) int {
		return cmp.Or(cmp.Compare(a.AccountID, b.AccountID), a.At.Compare(b.At), cmp.Compare(a.KeyID, b.KeyID),
			cmp.Compare(a.Network, b.Network), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Outcome, b.Outcome))
	})
	return list
}

func addTo(sum, u *nodegate.Usage) {
	sum.Requests += u.Requests
	sum.Credits += u.Credits
	sum.BytesIn += u.BytesIn
	sum.BytesOut += u.BytesOut
	for i, n := range u.Latency {
		sum.Latency[i] += n
	}
}

// addRows writes rows in statements of the given sizes, the largest first; the
// last size is 1.
func (t *tx) addRows(table string, rows []*nodegate.Usage, sizes []int) error {
	for _, size := range sizes {
		if len(rows) < size {
			continue
		}
		statement, err := t.PrepareContext(t.ctx, upsert(table, size))
		if err != nil {
			return err
		}
		for ; len(rows) >= size; rows = rows[size:] {
			t.renew()
			if _, err := statement.ExecContext(t.ctx, usageArgs(rows[:size])...); err != nil {
				return err // the transaction's end closes the statement
			}
		}
		if err := statement.Close(); err != nil {
			return err
		}
	}
	return nil
}

// upsert is the statement that adds rows to a table.
func upsert(table string, rows int) string {
	names := counters()
	columns := strings.Count(usageKey, ",") + 1 + len(names)
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s (%s, %s) VALUES ", table, usageKey, strings.Join(names, ", "))
	for n := range rows * columns {
		switch {
		case n == 0:
			b.WriteString("(")
		case n%columns == 0:
			b.WriteString("), (")
		default:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "$%d", n+1)
	}
	fmt.Fprintf(&b, ") ON CONFLICT (%s) DO UPDATE SET ", usageKey)
	for i, name := range names {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s = %s.%s + excluded.%s", name, table, name, name)
	}
	return b.String()
}

func usageArgs(rows []*nodegate.Usage) []any {
	var args []any
	for _, u := range rows {
		args = append(args, cleaned(u.AccountID), u.At.UnixMicro(), cleaned(u.KeyID), cleaned(u.Network), cleaned(u.Method), cleaned(u.Outcome),
			u.Requests, u.Credits, u.BytesIn, u.BytesOut)
		for _, n := range u.Latency {
			args = append(args, n)
		}
	}
	return args
}

// Usage lists rows in the order of time: the spans that begin at From or later
// and before To.
//
// Returns InvalidInput when there are more than can be answered at once.
func (s *usageRows) Usage(ctx context.Context, q nodegate.UsageQuery) ([]nodegate.Usage, error) {
	where, args := "at >= $1 AND at < $2", []any{q.From.UnixMicro(), q.To.UnixMicro()}
	for _, filter := range []struct{ column, value, all string }{{"account", q.AccountID, "*"}, {"key_id", q.KeyID, ""}} {
		if filter.value != filter.all {
			args = append(args, cleaned(filter.value))
			where += fmt.Sprintf(" AND %s = $%d", filter.column, len(args))
		}
	}
	var (
		list []nodegate.Usage
		at   int64
		u    nodegate.Usage
	)
	into := []any{&u.AccountID, &at, &u.KeyID, &u.Network, &u.Method, &u.Outcome, &u.Requests, &u.Credits, &u.BytesIn, &u.BytesOut}
	for i := range u.Latency {
		into = append(into, &u.Latency[i])
	}
	err := s.report(ctx, "usage", "usage", fmt.Sprintf("SELECT %s, %s FROM %s WHERE %s ORDER BY at, account, key_id, network, method, outcome LIMIT %d",
		usageKey, strings.Join(counters(), ", "), usageTable(q.By), where, s.maxRows+1), args, func(row scan) error {
		err := row(into...)
		u.At = time.UnixMicro(at).UTC()
		list = append(list, u)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(list) > s.maxRows {
		return nil, tooMuch("sqlstore.usage")
	}
	return list, nil
}

func tooMuch(op string) error {
	return &nodegate.Error{Op: op, Code: nodegate.InvalidInput, Msg: "too much usage for one response: request a shorter time, or group it by hour or day"}
}

// Spent sums the credits of a day.
func (s *usageRows) Spent(ctx context.Context, day time.Time) (*nodegate.Spent, error) {
	spent := &nodegate.Spent{Accounts: map[string]int64{}, Keys: map[string]int64{}}
	err := s.each(ctx, "spent", "usage", `SELECT account, key_id, CAST(SUM(credits) AS BIGINT) FROM usage_day_keys
		WHERE at = $1 GROUP BY account, key_id HAVING SUM(credits) > 0`, []any{nodegate.ByDay.Start(day).UnixMicro()}, func(row scan) error {
		var (
			account, key string
			credits      int64
		)
		if err := row(&account, &key, &credits); err != nil {
			return err
		}
		spent.Accounts[account] += credits
		spent.Keys[key] += credits
		return nil
	})
	if err != nil {
		return nil, err
	}
	return spent, nil
}
