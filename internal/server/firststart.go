package server

import (
	"context"
	"errors"
	"time"

	"github.com/nodegate/nodegate"
	"github.com/nodegate/nodegate/internal/account"
)

// developer is the account that a newcomer begins with.
const developer = "dev@localhost"

// firstStart makes the developer's account, with a test card and a key, in a store
// that has no account yet. It returns nil in any other.
func (c *Control) firstStart(ctx context.Context) (*account.IssuedKey, error) {
	some, err := c.Accounts.List(ctx, "", 1)
	if err != nil || len(some) > 0 {
		return nil, err
	}
	actor := nodegate.Actor{Name: "server", From: "first start"}
	a, err := c.Accounts.Create(ctx, actor, account.NewAccount{Email: developer, Plan: "unlimited", Operator: true})
	if errors.Is(err, nodegate.Conflict) {
		return nil, nil // another server starts at the same time
	}
	if err != nil {
		return nil, err
	}
	if err := c.testCard(ctx, actor, a.ID); err != nil {
		return nil, err
	}
	return c.Accounts.CreateKey(ctx, actor, a.ID, "first key", nodegate.KeySettings{})
}

// testCard puts a card on that only the test processor takes; another processor
// has no such card, and the account goes without.
func (c *Control) testCard(ctx context.Context, actor nodegate.Actor, accountID string) error {
	_, err := c.Accounts.PutCard(ctx, actor, nodegate.CardEntry{
		AccountID: accountID, Number: "4242424242424242", ExpMonth: 12, ExpYear: time.Now().Year() + 10, CVC: "123",
	})
	if errors.Is(err, nodegate.CardDeclined) || errors.Is(err, nodegate.InvalidInput) || errors.Is(err, nodegate.Busy) {
		return nil
	}
	return err
}
