package sqlstore

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/nodegate/nodegate"
)

// LastUsed is when keys of an account were used last. The finest rows are read for a short
// time only: the older a use is, the less anybody wants to know its minute.
func (s *usageRows) LastUsed(ctx context.Context, accountID string, keyIDs []string, since, now time.Time) (map[string]time.Time, error) {
	last := map[string]time.Time{}
	if len(keyIDs) == 0 {
		return last, nil
	}
	args := []any{cleaned(accountID)}
	var names []string
	for _, id := range keyIDs {
		args = append(args, cleaned(id))
		names = append(names, fmt.Sprintf("$%d", len(args)))
	}
	var parts []string
	for by, from := range []time.Time{nodegate.ByMinute: now.Add(-time.Hour), nodegate.ByHour: now.Add(-2 * nodegate.ByDay.Length()), nodegate.ByDay: since} {
		by := nodegate.Resolution(by)
		args = append(args, by.Start(from).UnixMicro())
		parts = append(parts, fmt.Sprintf("SELECT key_id, MAX(at) AS at FROM %s%s WHERE account = $1 AND at >= $%d AND key_id IN (%s) GROUP BY key_id",
			usageTable(by), withoutMethods, len(args), strings.Join(names, ", ")))
	}
	err := s.report(ctx, "lastUsed", "usage", "SELECT key_id, MAX(at) FROM ("+strings.Join(parts, " UNION ALL ")+") AS used GROUP BY key_id", args, func(row scan) error {
		var (
			id string
			at stamp
		)
		err := row(&id, &at)
		last[id] = at.Time
		return err
	})
	return last, err
}
