package dashboard

import (
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/usage/report"
)

// keyRow is a key with what it has used and may use.
type keyRow struct {
	*nodegate.Key
	Today    report.Share // credits; the limit is the key's, or else the plan's
	Own      bool         // the limit is the key's
	LastUsed time.Time    // zero: not in report.LastUsedFor
	Previous time.Time    // until when the key before a rotation works; zero without one
}

// keyRows are keys with their use, and the credits that all keys of the account used today.
func keyRows(v *visit, keys []*nodegate.Key) (rows []keyRow, all int64, err error) {
	ctx, now, plan := v.req.Context(), time.Now(), v.plan()
	reports, err := reportsOf(v)
	if err != nil {
		return nil, 0, err
	}
	today, err := reports.KeysToday(ctx, v.account.ID, now)
	if err != nil {
		return nil, 0, err
	}
	for _, sums := range today {
		all += sums.Credits
	}
	ids := make([]string, len(keys))
	for i, k := range keys {
		ids[i] = k.ID
	}
	last, err := reports.LastUsed(ctx, v.account.ID, ids, now)
	for _, k := range keys {
		row := keyRow{Key: k, LastUsed: last[k.ID], Previous: previousUntil(k, now)}
		row.Today, row.Own = report.Share{Used: today[k.ID].Credits, Limit: plan.CreditsPerDay}, false
		if own := k.Settings.CreditsPerDay; own > 0 {
			row.Today.Limit, row.Own = own, true
		}
		rows = append(rows, row)
	}
	return rows, all, err
}

// previousUntil is until when the value before a rotation works; zero for none.
func previousUntil(k *nodegate.Key, now time.Time) (until time.Time) {
	for _, value := range k.Values {
		if value.Expires.After(now) && value.Expires.After(until) {
			until = value.Expires
		}
	}
	return until
}
