package server

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/accounts/auth"
)

// expiredEvery is how often expired keys are revoked in the store. They are refused from the
// moment when they expire.
const expiredEvery = time.Second

// expiries revoke keys that have expired. Each server does it: the first one's change is all
// that happens.
type expiries struct {
	*common
	ends   *auth.Ends
	expire func(ctx context.Context, actor nodegate.Actor, accountID, id string) error
}

// run looks again and again, until ctx ends.
func (e *expiries) run(ctx context.Context) {
	tick := time.NewTicker(expiredEvery)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := e.clear(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			e.log.Error("can't revoke an expired key; trying again", "retry_in", expiredEvery, "err", err)
		}
		failed = err != nil
	}
}

func (e *expiries) clear(ctx context.Context) error {
	actor := nodegate.Actor{Name: "server", From: "expiry"}
	for _, o := range e.ends.Overdue() {
		err := e.expire(ctx, actor, o.AccountID, o.KeyID)
		if errors.Is(err, nodegate.NotFound) {
			e.ends.Forget(o.KeyID)
		} else if err != nil {
			return err
		}
	}
	return nil
}
