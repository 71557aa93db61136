package nodegate

import (
	"context"
	"time"
)

// Alert is a warning that an account has used up a part of a day's credits.
type Alert struct {
	AccountID string
	Day       time.Time // its start
	Percent   int       // of the plan's credits for the day
}

// AlertStore notes which alerts were sent, so that all servers together send each
// once. Those of past days are forgotten by PurgeUsage.
type AlertStore interface {
	// ClaimAlert lets one caller send an alert: the first, and after the end of its
	// lease the next one, unless the alert was sent meanwhile.
	ClaimAlert(ctx context.Context, a Alert, now time.Time, lease time.Duration) (AlertClaim, error)
	// AlertSent ends the claims to an alert for good.
	AlertSent(ctx context.Context, a Alert) error
}

// AlertClaim says whose an alert is.
type AlertClaim uint8

// The claims.
const (
	AlertTaken AlertClaim = iota // somebody else is about to send it
	AlertYours
	AlertDone // it was sent
)
