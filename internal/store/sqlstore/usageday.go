package sqlstore

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// UsageByDay sums an account's usage over all its keys, by day.
func (s *usageRows) UsageByDay(ctx context.Context, accountID string, from, to time.Time) ([]nodegate.DayUsage, error) {
	var list []nodegate.DayUsage
	err := s.report(ctx, "usageByDay", "usage", `SELECT at, CAST(SUM(requests) AS BIGINT), CAST(SUM(credits) AS BIGINT) FROM usage_day_all
		WHERE account = $1 AND at >= $2 AND at < $3 GROUP BY at ORDER BY at`,
		[]any{cleaned(accountID), from.UnixMicro(), to.UnixMicro()}, func(row scan) error {
			var (
				u  nodegate.DayUsage
				at stamp
			)
			err := row(&at, &u.Requests, &u.Credits)
			u.Day = at.Time
			list = append(list, u)
			return err
		})
	if err != nil {
		return nil, err
	}
	return list, nil
}
