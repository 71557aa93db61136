package server

import (
	"context"
	"time"

	"github.com/nodegate/nodegate"
)

// quotaOf is how many bytes an account may have stored, for work that no request of it
// waits for.
//
// Returns CardRequired for an account that may not use the storage gateway.
func (c *Control) quotaOf(ctx context.Context, accountID string) (int64, error) {
	a, err := c.Store.Account(ctx, accountID)
	if err != nil {
		return 0, err
	}
	if !a.Card.Valid(time.Now()) {
		return 0, &nodegate.Error{Op: "server.storage", Code: nodegate.CardRequired, Msg: "a billing card is required to use the storage gateway"}
	}
	return c.Accounts.PlanOf(a).StoredBytes, nil
}
