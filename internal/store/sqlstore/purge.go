package sqlstore

import (
	"context"
	"fmt"
	"time"

	"github.com/nodegate/nodegate"
)

const (
	purgePart   = 2000           // rows of one transaction, so that no writer waits long
	writersKept = 48 * time.Hour // how long a batch may be offered again
	alertsKept  = 24 * time.Hour // servers whose clocks differ may still be in the day before
)

// old are the rows of a table that are kept no longer.
type old struct {
	table, key, column string
	before             time.Time
	sums               bool // of other rows: they are deleted and not counted
}

func outdated(now time.Time) []old {
	list := []old{
		{"usage_writers", "server, number", "at", now.Add(-writersKept), false},
		{"sessions", "digest", "expires", now, false},
		{"links", "digest", "expires", now, false},
		{"alerts", "account, day, percent", "day", nodegate.ByDay.Start(now.Add(-alertsKept)), false},
	}
	for _, r := range []nodegate.Resolution{nodegate.ByMinute, nodegate.ByHour} {
		for _, part := range usageParts() {
			list = append(list, old{usageTable(r) + part.table, usageKey, "at", r.Start(now.Add(-r.Kept())), part.table != ""})
		}
	}
	return list
}

// PurgeUsage deletes usage that is kept no longer, and with it expired sessions and links, the
// numbers of old batches and the alerts of past days. Each part is a transaction of its own: what is done
// stays done when the context ends.
func (s *usageRows) PurgeUsage(ctx context.Context, now time.Time) (int64, error) {
	var total int64
	for _, old := range outdated(now) {
		part := fmt.Sprintf("DELETE FROM %s WHERE (%s) IN (SELECT %s FROM %s WHERE %s < $1 LIMIT %d)", old.table, old.key, old.key, old.table, old.column, purgePart)
		for {
			n, err := s.writeOne(ctx, "purgeUsage", "usage", part, old.before.UnixMicro())
			if !old.sums {
				total += n
			}
			if err != nil {
				return total, err
			}
			if n < purgePart {
				break
			}
		}
	}
	return total, nil
}
