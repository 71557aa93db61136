package report

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// runsOut is when today's credits are used up if the account goes on as in the last hour;
// zero if that is not today.
func (r *Reports) runsOut(ctx context.Context, accountID string, s *Standing, now time.Time) (at time.Time, err error) {
	left := s.Credits.Limit - s.Credits.Used
	if !s.Credits.Limited() || left <= 0 {
		return at, nil
	}
	from := nodegate.ByMinute.Start(now.Add(-time.Hour))
	hour, err := r.cfg.Store.SumUsage(ctx, nodegate.UsageSums{AccountID: accountID, From: from, To: now, Resolution: nodegate.ByMinute})
	spent := added(hour).Credits
	if err != nil || spent <= 0 {
		return at, err
	}
	seconds := float64(left) / float64(spent) * now.Sub(from).Seconds()
	if seconds < s.ResetsAt.Sub(now).Seconds() {
		at = now.Add(time.Duration(seconds * float64(time.Second))).UTC()
	}
	return at, nil
}
