package sqlstore

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
)

// ClaimAlert lets one caller send an alert. One that was sent is found without a
// write: every server asks again until it knows.
func (s *alertTable) ClaimAlert(ctx context.Context, a nodegate.Alert, now time.Time, lease time.Duration) (nodegate.AlertClaim, error) {
	var leased stamp
	err := s.one(ctx, "claimAlert", "alert", "SELECT leased FROM alerts WHERE account = $1 AND day = $2 AND percent = $3", alertArgs(a), &leased)
	switch {
	case err == nil && leased.IsZero():
		return nodegate.AlertDone, nil
	case err == nil && leased.After(now):
		return nodegate.AlertTaken, nil
	case err != nil && !errors.Is(err, nodegate.NotFound):
		return nodegate.AlertTaken, err
	}
	n, err := s.writeOne(ctx, "claimAlert", "alert", `INSERT INTO alerts (account, day, percent, leased) VALUES ($1, $2, $3, $4)
		ON CONFLICT (account, day, percent) DO UPDATE SET leased = excluded.leased WHERE alerts.leased <= $5`,
		append(alertArgs(a), now.Add(lease).UnixMicro(), now.UnixMicro())...)
	if err != nil || n == 0 {
		return nodegate.AlertTaken, err
	}
	return nodegate.AlertYours, nil
}

// AlertSent ends the claims to an alert for good.
func (s *alertTable) AlertSent(ctx context.Context, a nodegate.Alert) error {
	_, err := s.writeOne(ctx, "alertSent", "alert", `INSERT INTO alerts (account, day, percent, leased) VALUES ($1, $2, $3, NULL)
		ON CONFLICT (account, day, percent) DO UPDATE SET leased = NULL`, alertArgs(a)...)
	return err
}

func alertArgs(a nodegate.Alert) []any {
	return []any{cleaned(a.AccountID), nodegate.ByDay.Start(a.Day).UnixMicro(), a.Percent}
}
