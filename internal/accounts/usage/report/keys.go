package report

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// KeysOfHour are the figures of each key of an account in the last hour, by its id.
func (r *Reports) KeysOfHour(ctx context.Context, accountID string, now time.Time) (map[string]Sums, error) {
	row := Hour.row()
	begin, end := row.window(now)
	return r.keys(ctx, accountID, begin, end, row.groups)
}

// keys adds up what each key of an account did in a time.
func (r *Reports) keys(ctx context.Context, accountID string, from, to time.Time, by nodegate.Resolution) (map[string]Sums, error) {
	list, err := r.cfg.Store.SumUsage(ctx, nodegate.UsageSums{AccountID: accountID, From: from, To: to, Resolution: by, By: nodegate.ByKey})
	sums := make(map[string]Sums, len(list))
	for i := range list {
		sums[list[i].Group] = sumsOf(&list[i])
	}
	return sums, err
}

// KeysToday are the figures of each key of an account today, by its id.
func (r *Reports) KeysToday(ctx context.Context, accountID string, now time.Time) (map[string]Sums, error) {
	today := nodegate.ByDay.Start(now)
	return r.keys(ctx, accountID, today, today.Add(day), nodegate.ByDay)
}

// LastUsedFor is how far back LastUsed looks.
const LastUsedFor = 30 * day

// LastUsed is when keys of an account were used last, those that were in LastUsedFor.
func (r *Reports) LastUsed(ctx context.Context, accountID string, ids []string, now time.Time) (map[string]time.Time, error) {
	return r.cfg.Store.LastUsed(ctx, accountID, ids, now.Add(-LastUsedFor), now)
}
